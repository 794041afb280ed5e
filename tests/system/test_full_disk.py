"""A full disk: writes are refused, all else goes on, and so do writes when there is room again."""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.support.server import Server
from tests.system.filesystem import FileSystem
from tests.system.ledger import Ledger
from tests.system.load import (
    Load,
    commit,
    commit_offset,
    committed,
    connected,
    create_topic,
    delete_topic,
    write,
    write_with_librdkafka,
)
from tests.system.reading import read_all
from tests.system.short_life import CALLS, Life

from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused

pytestmark = pytest.mark.system

BIG = TopicPartition("big", 0)
SMALL = TopicPartition("small", 0)
ALL = pytest.param(range(1, CALLS + 1), marks=[pytest.mark.long, pytest.mark.timeout(1800)], id="all")
SOME = pytest.param(sorted(Random().sample(range(35, 180), 4)), id="some")


@pytest.mark.parametrize("floor", [10, 0], ids=["almost-full", "to-the-last-byte"])
def test_writes_are_refused_until_there_is_room_again(tmp_path: Path, floor: int) -> None:
    settings = {"log.dir.min.free.percent": floor, "log.dir.ballast.bytes": 4 << 20}
    with FileSystem("ext4", tmp_path, size_mb=48) as fs:
        data, ledger = fs.root / "data", Ledger()
        with Server(data, settings) as server:
            asyncio.run(_fill_and_free(server.bootstrap, ledger))
            assert server.stop() == 0
        with Server(data, settings) as server:
            ledger.check_records(*read_all(server.bootstrap, [SMALL]))


def test_a_full_disk_can_be_stopped_and_started_on(tmp_path: Path) -> None:
    with FileSystem("ext4", tmp_path, size_mb=48) as fs:
        data, ledger = fs.root / "data", Ledger()
        with Server(data) as server:
            asyncio.run(_write_until_refused(server.bootstrap, ledger, fs))
            assert server.stop() == 0
        with Server(data) as server:
            ledger.check_kept(*read_all(server.bootstrap, [SMALL]))
            assert server.kill() != 0
        with Server(data) as server:
            ledger.check_kept(*read_all(server.bootstrap, [SMALL]))
            (fs.root / "filler").unlink()
            asyncio.run(_write_again(server.bootstrap, ledger))
            ledger.check_kept(*read_all(server.bootstrap, [SMALL]))


def test_space_that_comes_and_goes_under_load(tmp_path: Path) -> None:
    settings = {
        "log.dir.min.free.percent": 0,
        "log.dir.ballast.bytes": 0,
        "log.flush.offset.checkpoint.interval.ms": 20,
        "offsets.topic.num.partitions": 1,
    }
    with FileSystem("ext4", tmp_path, size_mb=64) as fs:
        data, ledger = fs.root / "data", Ledger()
        with Server(data, settings) as server:
            asyncio.run(_come_and_go(server.bootstrap, ledger, fs))
            assert server.kill() != 0
        with Server(data, settings) as server:
            ledger.check_records(*read_all(server.bootstrap, list(ledger.records)))
            assert server.stop() == 0


@pytest.mark.parametrize("numbers", [SOME, ALL])
def test_any_call_may_find_no_space(tmp_path: Path, numbers: Sequence[int]) -> None:
    for number in numbers:
        life = Life(tmp_path / str(number), tmp_path / f"report-{number}")
        life.live("full", number)
        assert life.exit_code in (0, None), f"call {number}, {life.end[:1]}"
        life.check()


async def _fill_and_free(bootstrap: str, ledger: Ledger) -> None:
    async with connected(bootstrap) as client, Producer(client, delivery_timeout=0.0) as producer:
        await create_topic(client, BIG.topic, 1)
        await create_topic(client, SMALL.topic, 1)
        await _deliver(producer, SMALL, 0, ledger)
        refusal = await _fill(producer)
        assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR

        records, _ = await asyncio.to_thread(read_all, bootstrap, [BIG, SMALL])
        assert len(records[BIG]) > 10
        assert len(records[SMALL]) == 1
        await commit_offset(client, "readers", SMALL, 1)
        assert await committed(client, "readers") == {SMALL: 1}

        await delete_topic(client, BIG.topic)
        async with Producer(client, delivery_timeout=30.0) as patient:
            for number in range(1, 20):
                await _deliver(patient, SMALL, number, ledger)


async def _fill(producer: Producer) -> Refused:
    """Write to BIG until that is refused."""
    value = os.urandom(200_000)
    for _ in range(1000):
        try:
            await producer.deliver(BIG.topic, value, partition=BIG.partition)
        except Refused as refusal:
            return refusal
    raise AssertionError("the disk takes more than it holds")


async def _write_until_refused(bootstrap: str, ledger: Ledger, fs: FileSystem) -> None:
    async with connected(bootstrap) as client, Producer(client, delivery_timeout=0.0) as producer:
        await create_topic(client, SMALL.topic, 1, {"segment.bytes": "20000"})
        for number in range(20):
            await _deliver(producer, SMALL, number, ledger)
        fill(fs)
        for number in range(20, 1000):
            try:
                await _deliver(producer, SMALL, number, ledger)
            except Refused as refusal:
                if refusal.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                    raise
                return


async def _write_again(bootstrap: str, ledger: Ledger) -> None:
    async with connected(bootstrap) as client, Producer(client, delivery_timeout=30.0) as producer:
        for number in range(2000, 2020):
            await _deliver(producer, SMALL, number, ledger)


async def _come_and_go(bootstrap: str, ledger: Ledger, fs: FileSystem) -> None:
    partitions = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
    async with connected(bootstrap) as client:
        await create_topic(client, "orders", 2, {"segment.bytes": "60000"})
        async with Load(bootstrap, ledger, partitions) as load:
            load.start(write(load, "a"), write_with_librdkafka(load, "b"), commit(load, "readers"))
            for _ in range(3):
                await load.more(300)
                await _stalled(ledger, fs)
                (fs.root / "filler").unlink()
            await load.more(300)
            await load.stop()
        found = {("readers", place): at for place, at in (await committed(client, "readers")).items()}
        ledger.check_commits(found)


async def _stalled(ledger: Ledger, fs: FileSystem) -> None:
    """Fill the disk; return when nobody is acknowledged anything any more."""
    with contextlib.suppress(TimeoutError):
        while True:
            fill(fs)
            async with asyncio.timeout(0.3):
                await ledger.more(1, [])


async def _deliver(producer: Producer, partition: TopicPartition, number: int, ledger: Ledger) -> None:
    value = f"a:{number}:".encode() + os.urandom(2000).replace(b":", b";")
    place = await producer.deliver(partition.topic, value, partition=partition.partition)
    ledger.delivered(partition, place.offset, value)


def fill(fs: FileSystem) -> None:
    """Let somebody else take all the space there is."""
    with (fs.root / "filler").open("ab", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
