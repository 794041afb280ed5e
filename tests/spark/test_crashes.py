"""Drivers, executors and their Python workers killed: tables and topic hold each record once.

At random; and drivers also where it matters most, when a batch is in every sink and Spark does not know yet.
"""

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

pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "millstream[spark]"')

from tests.spark.conftest import Topics
from tests.spark.crashing_driver import Gate
from tests.spark.test_send_once import committed
from tests.support.spark_cluster import SparkCluster, command_of

pytestmark = pytest.mark.spark

ROOT: Final = Path(__file__).parent.parent.parent
BATCH: Final = 100
PATIENCE: Final = 600
VICTIMS: Final = ("python", "executor", "driver that has committed", "driver")


@final
class Driver:
    """`crashing_driver`, started anew whenever it has ended."""

    def __init__(self, master: str, topics: Topics, folder: Path, *how: str) -> None:
        program = [sys.executable, "-m", "tests.spark.crashing_driver"]
        self._command = [*program, master, topics.bootstrap, str(folder), *how]
        self._folder = folder
        self.batches: list[int] = []
        self._start()

    def begins_a_batch(self) -> None:
        """Wait until it begins one, from now on."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._heard(self._lines.get_nowait())
        self.waits_at("batch")

    def waits_at(self, place: str) -> int:
        """Wait until it is there; with which batch."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            self._heard(line)
            if line is not None and line.startswith(f"{place} "):
                return int(line.partition(" ")[2])

    def finish(self) -> None:
        """Have it work off everything."""
        for _ in range(3):  # what was killed last may still bring it down
            assert self.process.stdin is not None
            self.process.stdin.close()
            while (line := self._lines.get(timeout=PATIENCE)) is not None:
                if line == "done":
                    assert self.process.wait(PATIENCE) == 0
                    return
                self._heard(line)
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

    def _heard(self, line: str | None) -> None:
        """Take in what it says; None if it is no more."""
        if line is None:
            self.process.wait(PATIENCE)
            self._start()
        elif line.startswith("batch "):
            self.batches.append(int(line.removeprefix("batch ")))

    def _start(self) -> None:
        with open(self._folder / "driver.log", "a") as log:
            self.process = subprocess.Popen(
                self._command,
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
    if victim.startswith("driver"):
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
    sent, killed, again = 0, Counter[str](), []
    gate = Gate(tmp_path, "after")
    driver = Driver(spark_cluster.url, topics, tmp_path)
    try:
        while victims:
            sent = feed(topics, driver.batches, sent)
            if victims[-1] == "driver that has committed":
                with gate:
                    again.append(driver.waits_at("after"))
                    kill(driver.processes())
                killed[victims.pop()] += 1
                continue
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
    assert again, "or no batch was certain to be done twice"
    assert all(driver.batches.count(batch) > 1 for batch in again)
    check_each_once(topics, tmp_path, sent, driver)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("races", [1, pytest.param(5, marks=pytest.mark.long)])
def test_two_drivers_on_one_pipeline_never_both_commit_a_batch(
    spark_is_there: None, topics: Topics, tmp_path: Path, races: int
) -> None:
    """Both are let go with the same batch at the same moment; one of them begins with the last sink."""
    for name in ("crash-in", "crash-out"):
        topics.recreate(name, partitions=2)
    gate, closed = Gate(tmp_path, "before"), contextlib.ExitStack()
    closed.enter_context(gate)
    sent = feed(topics, [], 0)
    drivers = [Driver("local[1]", topics, tmp_path)]
    try:
        places = [drivers[0].waits_at("before")]  # it has planned the first batch, so that both have the same
        drivers.append(Driver("local[1]", topics, tmp_path, "backwards"))
        places.append(drivers[1].waits_at("before"))
        while True:
            races -= places[0] == places[1]
            closed.close()
            for each in drivers:
                each.waits_at("through")
            if not races:
                break
            closed.enter_context(gate)
            sent = feed(topics, drivers[0].batches + drivers[1].batches, sent)
            places = [each.waits_at("before") for each in drivers]
        drivers[1].stop()
        drivers[0].finish()
    finally:
        closed.close()
        for each in drivers:
            each.stop()

    check_each_once(topics, tmp_path, sent, drivers[0])


def feed(topics: Topics, batches: list[int], sent: int) -> int:
    """Send enough for some batches more, so that no driver is ever idle; how many have been sent then."""
    more = max(0, (max(batches, default=0) + 4) * BATCH - sent)
    topics.fill("crash-in", more, first=sent, partitions=2)
    return sent + more


def check_each_once(topics: Topics, folder: Path, sent: int, driver: Driver) -> None:
    everything = Counter(range(sent))
    assert committed(topics, "crash-out") == everything, driver.log()
    assert in_iceberg(folder / "warehouse") == everything, driver.log()
    assert in_delta(folder / "warehouse") == everything, driver.log()


def in_iceberg(warehouse: Path) -> Counter[int]:
    from millstream.spark.lake import open_catalog

    table: Any = open_catalog(warehouse).load_table("lake.iceberg")
    return Counter(table.scan().to_arrow().column("n").to_pylist())


def in_delta(warehouse: Path) -> Counter[int]:
    from deltalake import DeltaTable

    return Counter(DeltaTable(warehouse / "lake/delta").to_pyarrow_table().column("n").to_pylist())
