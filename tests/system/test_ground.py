"""Segments that have blocks before they need them, when the disk is full and when the power goes."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.support.server import Server
from tests.system.filesystem import FileSystem
from tests.system.load import connected, create_topic
from tests.system.mortal import Mortal
from tests.system.reading import read_all

from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.errors import Refused

pytestmark = pytest.mark.system

LARGE = TopicPartition("large", 0)  # left to the system, so that it has ground
SAFE = TopicPartition("safe", 0)
SETTINGS = {"log.dir.ballast.bytes": 1 << 20}
SEGMENT = f"{LARGE.topic}-0/{0:020d}.log"
SPARE_BYTES = 512 << 10
PATIENCE = 60.0


def value(number: int) -> bytes:
    return b"%08d" % number * 12_500


async def put(producer: Producer, where: TopicPartition, what: bytes) -> None:
    """Return when it is acknowledged."""
    await (await producer.send(where.topic, what, partition=where.partition))


async def write(bootstrap: str, first: int, segment: Path) -> int:
    """To both topics in turns, large ones where nothing is synced, until there is ground; how many."""
    async with asyncio.timeout(PATIENCE), connected(bootstrap) as client, Producer(client) as producer:
        number = first
        while spare_bytes(segment) < SPARE_BYTES:
            await put(producer, LARGE, value(number))
            await put(producer, SAFE, b"%08d" % number)
            number += 1
        return number


def spare_bytes(path: Path) -> int:
    """What the file holds of the disk beyond its end; nothing if there is none yet."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return 0
    return status.st_blocks * 512 - status.st_size


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_after_a_power_cut_what_is_left_is_whole_and_goes_on(tmp_path: Path, rounds: int) -> None:
    """Nothing was promised of what was not synced, but that no record is another's, or half of one."""

    async def create(bootstrap: str) -> None:
        async with connected(bootstrap) as client:
            await create_topic(client, LARGE.topic, 1, {"flush.policy": "os"})
            await create_topic(client, SAFE.topic, 1, {})

    with FileSystem("ext4", tmp_path) as fs, Mortal(fs.root / "data", SETTINGS) as broker:
        asyncio.run(create(broker.bootstrap))
        segment = fs.root / "data" / SEGMENT
        count = 0
        for _ in range(rounds):
            count = asyncio.run(write(broker.bootstrap, count, segment))
            broker.freeze()
            fs.cut()
            broker.end(signal.SIGKILL, fs.remount)

            found, starts = read_all(broker.bootstrap, [LARGE, SAFE])
            assert [int(each) for _, each in found[SAFE]] == list(range(count)), "what was synced is there"
            assert starts[LARGE] == 0
            assert [offset for offset, _ in found[LARGE]] == list(range(len(found[LARGE])))
            numbers = [int(each[:8]) for _, each in found[LARGE]]
            assert [each for _, each in found[LARGE]] == [value(number) for number in numbers]
            assert numbers == sorted(set(numbers))
        assert broker.stop() == 0


def test_a_disk_that_has_nothing_to_spare_is_filled_to_the_last_byte(tmp_path: Path) -> None:
    """What was set aside is used; and what is acknowledged is there, however near to the end it was."""
    settings = {**SETTINGS, "log.dir.min.free.percent": 0}

    async def fill(bootstrap: str, segment: Path) -> int:
        number = most = 0
        async with connected(bootstrap) as client, Producer(client, delivery_timeout=0.5) as producer:
            await create_topic(client, LARGE.topic, 1, {"flush.policy": "os"})
            with pytest.raises(Refused):
                while True:
                    await put(producer, LARGE, value(number))
                    number += 1
                    most = max(most, spare_bytes(segment))
        assert most > SPARE_BYTES, "it had ground on the way"
        return number

    with FileSystem("ext4", tmp_path, size_mb=64) as fs:
        with Server(fs.root / "data", settings) as server:
            segment = fs.root / "data" / SEGMENT
            count = asyncio.run(fill(server.bootstrap, segment))
            assert count * len(value(0)) > 30 << 20
            found, _ = read_all(server.bootstrap, [LARGE])
            assert [each for _, each in found[LARGE]] == [value(number) for number in range(count)]
            assert server.stop() == 0
        with Server(fs.root / "data", settings) as server:
            found, _ = read_all(server.bootstrap, [LARGE])
            assert len(found[LARGE]) == count
