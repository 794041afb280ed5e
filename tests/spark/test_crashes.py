"""Drivers and executors killed at random: table and topic hold each record once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

import pytest
from tests.spark.conftest import Topics
from tests.spark.test_send_once import committed

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parent.parent.parent
RECORDS = 1200  # a dozen batches


def started(topics: Topics, folder: Path) -> tuple["subprocess.Popen[str]", IO[str]]:
    """The driver, with its JVM and workers in a group of processes of their own."""
    command = [sys.executable, "-m", "tests.spark.crashing_driver", topics.bootstrap, str(folder)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, process.stdout


def killed(topics: Topics, folder: Path, chance: random.Random) -> None:
    """Run until some batches have begun, and a moment more."""
    process, lines = started(topics, folder)
    try:
        for _ in range(chance.randint(1, 3)):
            if not lines.readline().startswith("batch"):
                break
        time.sleep(chance.uniform(0, 2))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        lines.close()


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(3, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
def test_each_record_once_whoever_is_killed(
    spark_is_there: None, topics: Topics, tmp_path: Path, kills: int
) -> None:
    from millstream.spark.lake import open_catalog

    topics.create("crash-in", partitions=2)
    topics.create("crash-out", partitions=2)
    topics.fill("crash-in", RECORDS, partitions=2)
    chance = random.Random(kills)
    for _ in range(kills):
        killed(topics, tmp_path, chance)

    process, lines = started(topics, tmp_path)
    said = lines.read().splitlines()
    assert process.wait() == 0
    assert said[-1] == "done"

    everything = Counter(range(RECORDS))
    assert committed(topics, "crash-out") == everything
    table: Any = open_catalog(tmp_path / "warehouse").load_table("lake.crash")
    assert Counter(int(n) for n in table.scan().to_arrow().column("n").to_pylist()) == everything
