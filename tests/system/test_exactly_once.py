"""Records are read, worked on and written while broker and workers are killed: each comes out once."""

import asyncio
import contextlib
import itertools
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from tests.compat.java.build import java
from tests.system.copier import worked_on
from tests.system.load import connected, create_topic
from tests.system.mortal import Mortal

from millstream.client.producer import Producer

pytestmark = [pytest.mark.system, pytest.mark.timeout(1800)]

PARTITIONS = 2
WORKERS = 2
ROUNDS = [10, pytest.param(100, marks=pytest.mark.long)]
PATIENCE = 90.0
SETTINGS = {
    "log.flush.offset.checkpoint.interval.ms": 100,
    "group.initial.rebalance.delay.ms": 0,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}


@pytest.mark.parametrize("rounds", ROUNDS)
def test_confluent_kafka_copies_each_record_once(tmp_path: Path, rounds: int) -> None:
    asyncio.run(_story(tmp_path / "data", rounds, (sys.executable, "-m", "tests.system.copier")))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_java_copies_each_record_once(tmp_path: Path, rounds: int) -> None:
    asyncio.run(_story(tmp_path / "data", rounds, java("Copier")))


async def _story(data: Path, rounds: int, command: tuple[str, ...]) -> None:
    random = Random(rounds)
    with Mortal(data, SETTINGS) as broker:
        async with connected(broker.bootstrap) as client:
            await create_topic(client, "in", PARTITIONS, {})
            await create_topic(client, "out", PARTITIONS, {})
        with Workers(command, broker.bootstrap) as workers:
            written: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
            for _ in range(rounds):
                before = workers.commits
                await _write(broker.bootstrap, written, random.randint(20, 200))
                await asyncio.to_thread(workers.more_than, before)
                if random.random() < 0.5:
                    await asyncio.to_thread(broker.end, signal.SIGKILL)
                else:
                    workers.kill(random.randrange(WORKERS))
            await _write(broker.bootstrap, written, 20)
            expected = [[worked_on(value) for value in each] for each in written]
            found = await asyncio.to_thread(_read, broker.bootstrap, sum(map(len, expected)))
            assert found == expected
        found = await asyncio.to_thread(_read, broker.bootstrap, sum(map(len, expected)))
        assert found == expected
        assert broker.stop() == 0


class Workers:
    """Programs that copy from `in` to `out`; one that ends is started again."""

    def __init__(self, command: tuple[str, ...], bootstrap: str) -> None:
        self._command = (*command, bootstrap, "in", "out", "copiers")
        self._lives: list[subprocess.Popen[str]] = []
        self._over = threading.Event()
        self._progress = threading.Condition()
        self.commits = 0
        self._said: deque[str] = deque(maxlen=200)
        self._threads = [threading.Thread(target=self._live, args=(number,)) for number in range(WORKERS)]

    def __enter__(self) -> "Workers":
        for number in range(WORKERS):
            self._lives.append(self._start(number))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for number in range(WORKERS):
            self.kill(number)
        for thread in self._threads:
            thread.join()

    def kill(self, number: int) -> None:
        self._lives[number].kill()

    def more_than(self, commits: int) -> None:
        """Return when more than so many transactions were committed."""
        with self._progress:
            assert self._progress.wait_for(lambda: self.commits > commits, PATIENCE), self._told()

    def _told(self) -> str:
        return "no progress; the workers said:\n" + "\n".join(self._said)

    def _start(self, number: int) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            (*self._command, f"copier-{number}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _live(self, number: int) -> None:
        while True:
            life = self._lives[number]
            assert life.stdout is not None
            for line in life.stdout:
                self._said.append(f"{number}: {line.rstrip()}")
                if line.startswith("committed"):
                    with self._progress:
                        self.commits += 1
                        self._progress.notify_all()
            life.wait()
            if self._over.is_set():
                return
            self._lives[number] = self._start(number)
            if self._over.is_set():
                self._lives[number].kill()


async def _write(bootstrap: str, written: list[list[bytes]], count: int) -> None:
    async with connected(bootstrap) as client, Producer(client) as producer:
        turns = itertools.cycle(range(PARTITIONS))
        sent = []
        for index in itertools.islice(turns, count):
            value = b"%d-%d" % (index, len(written[index]))
            sent.append(await producer.send("in", value, partition=index))
            written[index].append(value)
        await asyncio.gather(*sent)


def _read(bootstrap: str, count: int) -> list[list[bytes]]:
    """What there is to read in `out`, once *count* records are, and nothing more comes after them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "judge",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    with contextlib.closing(consumer):
        consumer.assign([TopicPartition("out", index, 0) for index in range(PARTITIONS)])
        found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        at_end: set[int] = set()
        while sum(map(len, found)) < count or len(at_end) < PARTITIONS:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{sum(map(len, found))} of {count} came"
            index = message.partition()
            assert index is not None
            error = message.error()
            if error is None:
                value = message.value()
                assert isinstance(value, bytes)
                found[index].append(value)
                at_end.discard(index)
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end.add(index)
        return found
