"""The power goes while a broker is under load, on real file systems, and nothing it acknowledged is lost."""

import asyncio
import signal
from pathlib import Path
from random import Random

import pytest
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
from tests.system.mortal import Mortal
from tests.system.reading import read_all

from millstream.client.admin import Admin
from millstream.client.topics import TopicPartition

pytestmark = pytest.mark.system

PARTITIONS = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("trimmed", 0)]
KEYED = TopicPartition("keyed", 0)
GROUPS = ["readers", "others"]
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


async def cut_again_and_again(fs: FileSystem, rounds: int) -> None:
    """Cut the power of *fs* under a broker *rounds* times; AssertionError if that cost something."""
    random = Random(rounds)
    ledger = Ledger()
    with Mortal(fs.root / "data", SETTINGS) as broker:
        async with connected(broker.bootstrap) as client:
            for topic in ("orders", "trimmed"):
                await create_topic(client, topic, 2, SMALL)
            await create_topic(client, KEYED.topic, 1, {**SMALL, "cleanup.policy": "compact"})
        ledger.topics |= {"orders", "trimmed", KEYED.topic}
        async with Load(broker.bootstrap, ledger, PARTITIONS, seed=rounds) as load:
            load.start(write(load, "a"), write_with_librdkafka(load, "b"))
            load.start(trim(load, PARTITIONS[-1]), found(load, "short-lived"), replace(load, "replaced"))
            load.start(set_keys(load, KEYED.topic), *[commit(load, group) for group in GROUPS])
            for _ in range(rounds):
                await load.more(random.randint(100, 600))
                await asyncio.to_thread(_cut, fs, broker)
            await load.more(1)
            await load.stop()
        await check(broker.bootstrap, ledger)
        assert broker.stop() == 0


def _cut(fs: FileSystem, broker: Mortal) -> None:
    # The power goes for both at once. A broker that lived on might be told that a sync has ended well because
    # the file system has nothing left to wait for, and acknowledge it.
    broker.freeze()
    fs.cut()
    broker.end(signal.SIGKILL, fs.remount)


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
