"""`millstream pipeline run` as a person sees it: on a terminal, with progress, until Ctrl-C."""

import os
import re
import signal
import sys
from typing import Any

import pytest
from tests.spark.pipeline.conftest import Bench
from tests.support.terminal import Terminal

from millstream.pipeline.load import load

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

RECORDS = 1500
BATCH = 25  # so that it has long to go when it is stopped
PATIENCE = 400.0

DEFINITION = """\
pipeline: {name}
brokers: {brokers}
batch: {batch}
flows:
  keep:
    from: {{topic: {name}, json: "n bigint not null"}}
    into: {{table: lake.{name}}}
    every: 0 seconds
"""


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["n"] for row in rows)


@pytest.mark.parametrize(
    "how",
    ["ctrl_c", pytest.param("sigterm", marks=pytest.mark.long), pytest.param("once", marks=pytest.mark.long)],
)
def test_it_shows_how_far_it_is_stops_when_told_and_goes_on_later(bench: Bench, how: str) -> None:
    name = f"typed_{how}"
    bench.topics.create(name, partitions=2)
    bench.send(name, [*({"n": n} for n in range(RECORDS)), b"nope"])
    file = bench.folder / f"{name}.yaml"
    definition = DEFINITION.format(name=name, brokers=bench.topics.bootstrap, batch=BATCH)
    file.write_text(definition)
    command = [sys.executable, "-m", "millstream", "pipeline", "run", str(file), "--master", "local[2]"]

    with Terminal([*command, "--once"] if how == "once" else command, cwd=bench.folder) as terminal:
        shown = terminal.wait_for(r"keep .*?[1-9][\d,]* rows  [\d,]+/s  lag ([1-9][\d,]*)", PATIENCE)
        if how == "sigterm":
            os.kill(terminal.process.pid, signal.SIGTERM)
        else:
            terminal.press_ctrl_c()
        code = terminal.wait(PATIENCE)
        text = terminal.text

    assert code == (130 if how == "once" else 0), text  # a run until Ctrl-C has done what it should
    assert "Traceback" not in text
    assert "Exception" not in text
    assert "Stopped. The next run goes on from here." in text
    (left,) = re.findall(r"keep +stopped +\d+ +[\d,]+ +[\d,]+ +([\d,]+)", text)
    assert 0 < int(left.replace(",", "")) <= int(shown[1].replace(",", ""))
    assert bench.lag(name) == int(left.replace(",", "")), "what it said last is what it has told the cluster"
    file.write_text(definition.replace(f"batch: {BATCH}", "batch: 1000000"))  # and the rest quickly
    pipeline = load(file)
    got = numbers(bench.table(pipeline, f"lake.{name}"))
    assert len(got) == len(set(got)) < RECORDS

    done = bench.run(pipeline)["keep"]

    assert (done.state, done.lag) == ("done", 0)
    assert numbers(bench.table(pipeline, f"lake.{name}")) == list(range(RECORDS))
    assert [row["value"] for row in bench.table(pipeline, f"lake.{name}_bad")] == [b"nope"]
    assert bench.lag(name) == 0
