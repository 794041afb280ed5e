"""Definitions found in files."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.main import cli
from millstream.pipeline import InvalidPipeline
from millstream.pipeline.load import load


@pytest.mark.parametrize("name", ["orders.py", "orders.yaml"])
def test_what_new_writes_can_be_loaded(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyspark" if name.endswith("py") else "yaml")
    file = tmp_path / name

    result = CliRunner().invoke(cli, ["pipeline", "new", str(file)])
    assert result.exit_code == 0, result.output
    pipeline = load(file)
    assert (pipeline.name, list(pipeline.flows), pipeline.folder) == ("orders", ["clean", "totals"], tmp_path)

    again = CliRunner().invoke(cli, ["pipeline", "new", str(file)])
    assert "is there already" in str(again.exception)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.py", "x = 1", "it defines 0 pipelines"),
        ("a.py", "from millstream.pipeline import Pipeline\np = Pipeline('a')", "has no flows"),
        ("a.py", "from millstream.pipeline import Pipeline\np = Pipeline('a b')", "a.py: pipeline 'a b'"),
        ("a.txt", "", "in a .py or a .yaml file"),
    ],
)
def test_what_is_no_definition_is_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(InvalidPipeline, match=words):
        load(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidPipeline, match="pipeline new"):
        load(tmp_path / "nope.py")
