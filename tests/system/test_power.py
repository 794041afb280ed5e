"""The power goes while a broker is under load, on real file systems, and nothing it acknowledged is lost."""

import asyncio
import sys
from pathlib import Path
from random import Random

import pytest
from tests.support.server import Server
from tests.system.filesystem import FileSystem
from tests.system.ledger import Ledger
from tests.system.load import (
    Load,
    commit,
    committed,
    connected,
    create_topic,
    found,
    replace,
    set_keys,
    trim,
    write,
    write_with_librdkafka,
)
from tests.system.ports import free_port
from tests.system.reading import read_all

from millstream.client.admin import Admin
from millstream.client.topics import TopicPartition

pytestmark = pytest.mark.system

PARTITIONS = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("trimmed", 0)]
KEYED = TopicPartition("keyed", 0)
GROUPS = ["readers", "others"]
MILLSTREAM = (sys.executable, "-m", "millstream")
SETTINGS = {
    "log.flush.offset.checkpoint.interval.ms": 100,
    "log.retention.check.interval.ms": 200,
    "log.cleaner.backoff.ms": 50,
    "log.dir.ballast.bytes": 1 << 20,
    "offsets.topic.num.partitions": 3,
    "offsets.topic.segment.bytes": 16384,
}
SMALL = {"segment.bytes": "60000", "file.delete.delay.ms": "0"}


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_a_power_cut_loses_nothing(tmp_path: Path, kind: str, rounds: int) -> None:
    with FileSystem(kind, tmp_path) as fs:
        asyncio.run(cut_again_and_again(fs, rounds))


async def cut_again_and_again(fs: FileSystem, rounds: int, command: tuple[str, ...] = MILLSTREAM) -> None:
    """Cut the power of *fs* under a broker *rounds* times; AssertionError if that cost something."""
    random = Random(rounds)
    ledger = Ledger()
    cluster = Cluster(fs, command)
    try:
        async with connected(cluster.server.bootstrap) as client:
            for topic in ("orders", "trimmed"):
                await create_topic(client, topic, 2, SMALL)
                ledger.topics.add(topic)
            await create_topic(client, KEYED.topic, 1, {**SMALL, "cleanup.policy": "compact"})
            ledger.topics.add(KEYED.topic)
        async with Load(cluster.server.bootstrap, ledger, PARTITIONS, seed=rounds) as load:
            load.start(write(load, "a"), write_with_librdkafka(load, "b"))
            load.start(trim(load, PARTITIONS[-1]), found(load, "short-lived"), replace(load, "replaced"))
            load.start(set_keys(load, KEYED.topic))
            load.start(*[commit(load, group) for group in GROUPS])
            for _ in range(rounds):
                await load.more(random.randint(100, 600))
                await asyncio.to_thread(cluster.cut)
            await load.more(1)
            await load.stop()
        await check(cluster.server.bootstrap, ledger)
        assert cluster.server.stop() == 0
    finally:
        cluster.server.__exit__()


async def check(bootstrap: str, ledger: Ledger) -> None:
    """Hold all that was acknowledged against what is there."""
    partitions = list(ledger.records)
    records, starts = await asyncio.to_thread(read_all, bootstrap, partitions)
    ledger.check_records(records, starts)
    ledger.check_starts(starts)
    records, _ = await asyncio.to_thread(read_all, bootstrap, [KEYED])
    ledger.check_keys(records[KEYED])
    async with connected(bootstrap) as client:
        ledger.check_topics(set((await Admin(client).cluster()).topics))
        ledger.check_commits(
            {
                (group, partition): offset
                for group in GROUPS
                for partition, offset in (await committed(client, group)).items()
            }
        )


class Cluster:
    """One broker on a file system whose power can be cut."""

    def __init__(self, fs: FileSystem, command: tuple[str, ...] = MILLSTREAM) -> None:
        self._fs = fs
        self._command = command
        self.server = self._start(free_port())

    def cut(self) -> None:
        """The power goes and comes back."""
        self._fs.cut()
        self.server.kill()
        self._fs.remount()
        self.server = self._start(self.server.port)

    def _start(self, port: int) -> Server:
        return Server(self._fs.root / "data", SETTINGS, port=port, command=self._command)
