"""Drivers, executors and their Python workers killed at random: tables and topic hold each record once."""

import contextlib
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final, final

import psutil
import pytest
from tests.spark.conftest import Topics
from tests.spark.test_send_once import committed
from tests.support.spark_cluster import SparkCluster, command_of

pytestmark = pytest.mark.spark

ROOT: Final = Path(__file__).parent.parent.parent
BATCH: Final = 100
PATIENCE: Final = 600
VICTIMS: Final = ("python", "executor", "driver")


@final
class Driver:
    """`crashing_driver`, started anew whenever it has ended."""

    def __init__(self, cluster: SparkCluster, topics: Topics, folder: Path) -> None:
        self._command = [sys.executable, "-m", "tests.spark.crashing_driver", cluster.url, topics.bootstrap]
        self._folder = folder
        self.batch = 0
        self.starts = 0
        self._start()

    def begins_a_batch(self) -> None:
        """Wait until it begins one, from now on."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._heard(self._lines.get_nowait())
        while not self._heard(self._lines.get(timeout=PATIENCE)):
            pass

    def finish(self) -> None:
        """Have it work off everything."""
        for _ in range(3):  # what was killed last may still bring it down
            assert self.process.stdin is not None
            self.process.stdin.close()
            while (line := self._lines.get(timeout=PATIENCE)) is not None:
                if line == "done":
                    assert self.process.wait(PATIENCE) == 0
                    return
            self._heard(None)
        raise AssertionError(f"it does not come to an end:\n{self.log()}")

    def processes(self) -> list[psutil.Process]:
        """The driver, its JVM, and what they have started; not the executors."""
        driver = psutil.Process(self.process.pid)
        return [driver, *driver.children(recursive=True)]

    def log(self) -> str:
        return (self._folder / "driver.log").read_text()[-20_000:]

    def stop(self) -> None:
        if self.process.poll() is None:
            kill(self.processes())
            self.process.wait(PATIENCE)

    def _heard(self, line: str | None) -> bool:
        """Take in what it says, None if it is no more; whether it begins a batch."""
        if line is None:
            self.process.wait(PATIENCE)
            self._start()
            return False
        self.batch = int(line.removeprefix("batch "))
        return True

    def _start(self) -> None:
        self.starts += 1
        with open(self._folder / "driver.log", "a") as log:
            self.process = subprocess.Popen(
                [*self._command, str(self._folder)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_listen, args=(self.process.stdout, self._lines), daemon=True).start()


def _listen(lines: Any, heard: "queue.Queue[str | None]") -> None:
    with lines:
        for line in lines:
            heard.put(line.strip())
    heard.put(None)


def kill(processes: list[psutil.Process]) -> None:
    for each in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


def choose(victim: str, driver: Driver, cluster: SparkCluster, chance: random.Random) -> list[psutil.Process]:
    """Whom to kill; nobody if there is no such process at the moment."""
    if victim == "driver":
        return driver.processes()
    executors = cluster.executors()
    if victim == "executor":
        return chance.sample(executors, min(1, len(executors)))
    workers = [
        python
        for each in executors
        for python in each.children(recursive=True)
        if "pyspark.daemon" in command_of(python)
    ]
    return chance.sample(workers, min(1, len(workers)))


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(3, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
def test_each_record_once_whoever_is_killed(
    spark_cluster: SparkCluster, topics: Topics, tmp_path: Path, kills: int
) -> None:
    for name in ("crash-in", "crash-out"):
        topics.recreate(name, partitions=2)
    chance = random.Random(kills)
    victims = (list(VICTIMS) * kills)[:kills]
    chance.shuffle(victims)
    sent, killed = 0, Counter[str]()
    driver = Driver(spark_cluster, topics, tmp_path)
    try:
        while victims:
            more = max(0, (driver.batch + 4) * BATCH - sent)  # it must never be idle when it is hit
            topics.fill("crash-in", more, first=sent, partitions=2)
            sent += more
            driver.begins_a_batch()
            time.sleep(chance.uniform(0, 2))
            found = choose(victims[-1], driver, spark_cluster, chance)
            if found:
                kill(found)
                killed[victims.pop()] += 1
        driver.finish()
    finally:
        driver.stop()

    assert killed.total() == kills
    everything = Counter(range(sent))
    assert committed(topics, "crash-out") == everything, driver.log()
    assert in_iceberg(tmp_path / "warehouse") == everything, driver.log()
    assert in_delta(tmp_path / "warehouse") == everything, driver.log()


def in_iceberg(warehouse: Path) -> Counter[int]:
    from millstream.spark.lake import open_catalog

    table: Any = open_catalog(warehouse).load_table("lake.iceberg")
    return Counter(table.scan().to_arrow().column("n").to_pylist())


def in_delta(warehouse: Path) -> Counter[int]:
    from deltalake import DeltaTable

    return Counter(DeltaTable(warehouse / "lake/delta").to_pyarrow_table().column("n").to_pylist())
