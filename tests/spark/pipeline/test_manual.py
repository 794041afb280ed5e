"""Every example of the guide is planned by a real Spark, and every command line in it exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from tests.spark.pipeline.conftest import Bench

from millstream.cli.main import cli
from millstream.pipeline.load import load

GUIDE = Path(__file__).parent.parent.parent.parent / "docs/pipelines.md"


def examples(language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_pipelines_of_the_guide_can_be_run(bench: Bench) -> None:
    from millstream.pipeline.context import settle
    from millstream.pipeline.flows import Starter
    from millstream.pipeline.home import Begun
    from millstream.pipeline.order import in_turn

    for name in ("customers", "orders", "payments", "products", "sales"):
        bench.topics.create(name)
    found = [
        (text, suffix) for suffix, kind in ((".yaml", "yaml"), (".py", "python")) for text in examples(kind)
    ]
    assert len(found) >= 8
    for number, (text, suffix) in enumerate(found):
        file = bench.folder / f"example{number}{suffix}"
        file.write_text(text)
        context = settle(load(file), bench.topics.bootstrap)
        starter = Starter(context, bench.spark, once=True)
        for flow in in_turn(context.pipeline.flows.values()):
            _, _, made = starter.plan(flow, Begun("x", _beginning(flow)))
            assert made.isStreaming, (text, flow.name)


def _beginning(flow: Any) -> dict[Any, int]:
    from millstream.client.topics import TopicPartition

    return {TopicPartition(each.name, 0): 0 for each in flow.topics.values()}


def test_the_command_lines_of_the_guide_exist() -> None:
    lines = [
        line
        for text in examples("sh")
        for line in text.splitlines()
        if line.strip().startswith("millstream ")
    ]
    assert len(lines) >= 8
    for line in lines:
        command: Any = cli
        words = shlex.split(line)[1:]
        while isinstance(command, click.Group):
            command, words = command.get_command(click.Context(command), words[0]), words[1:]
            assert command is not None, line
        command.make_context("x", words)


def test_what_new_writes_is_what_the_guide_shows(tmp_path: Path) -> None:
    from click.testing import CliRunner

    for suffix, language in ((".yaml", "yaml"), (".py", "python")):
        CliRunner().invoke(cli, ["pipeline", "new", str(tmp_path / f"orders{suffix}")])
        written = (tmp_path / f"orders{suffix}").read_text()
        assert written.endswith(examples(language)[0])
