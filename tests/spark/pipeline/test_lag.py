"""The lag of a pipeline that runs on, as Kafka's tools see it, beside what its sinks hold."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, final

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from tests.spark.pipeline.conftest import Bench
from tests.spark.test_send_once import committed

from millstream.pipeline import Pipeline, table, topic

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

BATCH: Final = 20
PATIENCE: Final = 300
OFFSETS: Any = OffsetSpec  # whose ways to make one have no types

Lags = Counter[str]  # by topic


@final
class Tool:
    """A Kafka tool that is not ours: lag is where topics end, less what *group* has committed."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._group = ConsumerGroupTopicPartitions(group)

    def lags(self) -> Lags:
        (answer,) = self._admin.list_consumer_group_offsets([self._group]).values()
        read = {
            (each.topic, each.partition): each.offset for each in answer.result(PATIENCE).topic_partitions
        }
        asked = {TopicPartition(*each): OFFSETS.latest() for each in read}
        found: Lags = Counter()
        for at, end in (self._admin.list_offsets(asked) if asked else {}).items():
            found[at.topic] += end.result(PATIENCE).offset - read[at.topic, at.partition]
        return found


def described(bootstrap: str, group: str) -> Lags:
    """What `millstream group describe` prints."""
    command = [sys.executable, "-m", "millstream", "group", "describe", group, "-b", bootstrap, "-o", "json"]
    (said,) = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE).stdout)
    found: Lags = Counter()
    for each in said["offsets"]:
        found[each["topic"]] += each["lag"]
    assert said["lag"] == found.total()
    return found


@final
class Comparison:
    """Lag beside the truth: *held* tells how many records of each topic have come through."""

    def __init__(self, bench: Bench, held: Callable[[], Mapping[str, int]], lags: Callable[[], Lags]) -> None:
        self._bench = bench
        self._held = held
        self._lags = lags
        self._sent: Counter[str] = Counter()
        self.moments: set[tuple[str, int]] = set()

    def send(self, topic: str, count: int) -> None:
        first = self._sent[topic]
        self._bench.send(topic, [b"%d" % n for n in range(first, first + count)])
        self._sent[topic] += count

    def make(self, lags: Callable[[], Lags]) -> Mapping[str, int]:
        """Ask for *lags*, while records may come through: what is shown lies between before and after."""
        before = self._held()
        shown = lags()
        after = self._held()
        for name, sent in self._sent.items():
            read = sent - shown[name] if name in shown else 0
            # It may be late by a batch. It is never early: retention may be held back for what is not read.
            assert before[name] - BATCH <= read <= after[name], (name, before, sent, shown, after)
            self.moments.add((name, after[name]))
        return after

    def until(self, run: threading.Thread, **counts: int) -> None:
        """Compare over and over, until so many records of each topic have come through."""
        deadline = time.monotonic() + PATIENCE
        while any(now < counts[name] for name, now in self.make(self._lags).items() if name in counts):
            run.join(0.03)  # and leave the processor to it
            assert run.is_alive(), "the pipeline has ended"
            assert time.monotonic() < deadline, (counts, self._held())


@contextmanager
def running(bench: Bench, pipeline: Pipeline) -> Iterator[threading.Thread]:
    """*pipeline*, which runs on until the end of the block."""
    from millstream.pipeline.context import settle
    from millstream.pipeline.run import Run

    run = Run(settle(pipeline), bench.spark, once=False)
    thread = threading.Thread(target=run.run)
    thread.start()
    try:
        yield thread
    finally:
        run.stop()
        thread.join(PATIENCE)


def test_lag_is_within_a_batch_of_the_truth_all_the_while(bench: Bench) -> None:
    for name in ("waves", "ripples", "stones"):
        bench.topics.create(name, partitions=2)
    go_on = threading.Event()

    def keep(stones: Any) -> Any:
        assert go_on.wait(PATIENCE)
        return stones

    pipeline = bench.pipeline("shore", batch=BATCH)
    waves, stones = (topic(name, plain="string") for name in ("waves", "stones"))
    pipeline.add("pass", waves, topic("ripples", plain="string"), lambda frame: frame, every="0 seconds")
    pipeline.add("keep", stones, table("lake.stones"), keep, every="0 seconds")

    def held() -> Mapping[str, int]:
        return {
            "waves": committed(bench.topics, "ripples").total(),
            "stones": len(bench.table(pipeline, "lake.stones")),
        }

    bootstrap = bench.topics.bootstrap
    tool = Tool(bootstrap, "shore")
    comparison = Comparison(bench, held, tool.lags)
    comparison.send("waves", 80)
    comparison.send("stones", 30)
    with running(bench, pipeline) as run:
        try:
            comparison.until(run, waves=50)  # while the other flow has not even been planned
        finally:
            go_on.set()
        comparison.send("waves", 40)
        comparison.until(run, waves=90, stones=20)
        comparison.make(lambda: described(bootstrap, "shore"))
        comparison.send("waves", 60)
        comparison.send("stones", 30)
        comparison.until(run, waves=180, stones=60)

        deadline = time.monotonic() + PATIENCE
        while tool.lags().total():  # though no batch is to come that could tell of the last
            run.join(0.03)
            assert time.monotonic() < deadline, tool.lags()
    assert tool.lags() == {"waves": 0, "stones": 0}
    assert len(comparison.moments) >= 8, "or it was not compared often enough to tell"
