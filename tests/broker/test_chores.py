"""Upkeep in a running broker: what is old goes, what is overwritten goes, what is promised stays."""

import asyncio
from collections.abc import Callable
from random import Random

from tests.broker.support import NOW_MS, SESSION, FixedClock, running

from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.read import read
from millstream.sim.disk import SimDisk

EVERY_MOMENT = {"log.retention.check.interval.ms": 5, "log.cleaner.backoff.ms": 5}


async def write(broker: Broker, topic: str, key: bytes, value: bytes | None, now_ms: int = NOW_MS) -> None:
    batch = build([NewRecord(key, value)], now_ms=now_ms)
    accepted = broker.produce(SESSION, topic, 0, memoryview(batch), -1)
    if accepted.safe is not None:
        await accepted.safe


def contents(broker: Broker, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    log = broker.topics.hosted(topic, 0).partition.log
    found = []
    offset = log.start_offset
    while (part := log.read(offset, 1 << 20, log.end_offset)) is not None:
        for batch in split(part.read()):
            found += [(each.offset, each.key, each.value) for each in read(batch, max_bytes=1 << 20)]
            offset = batch.last_offset + 1
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # upkeep tells nobody when it is done
            await asyncio.sleep(0.005)


def test_a_compacted_topic_keeps_the_last_value_of_each_key_and_their_offsets() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        configs = {"cleanup.policy": "compact", "segment.bytes": "1024", "min.cleanable.dirty.ratio": "0.01"}
        async with running(disk, EVERY_MOMENT) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs=configs)])
            for number in range(60):
                await write(broker, "t", b"k%d" % (number % 3), b"%d" % number)
            await until(lambda: len(contents(broker, "t")) < 25)
            last = {key: (offset, value) for offset, key, value in contents(broker, "t")}
            assert last == {b"k0": (57, b"57"), b"k1": (58, b"58"), b"k2": (59, b"59")}
            before = contents(broker, "t")
            end = broker.topics.hosted("t", 0).partition.log.end_offset
        async with running(disk) as broker:
            kept = contents(broker, "t")
            assert set(kept) <= set(before), "upkeep went on until the stop: less, never other"
            assert {key: (offset, value) for offset, key, value in kept} == last
            assert broker.topics.hosted("t", 0).partition.log.end_offset == end == 60

    asyncio.run(story())


def test_compaction_can_be_switched_off() -> None:
    async def story() -> None:
        configs = {"cleanup.policy": "compact", "segment.bytes": "1024", "min.cleanable.dirty.ratio": "0.01"}
        async with running(SimDisk(Random(1)), {**EVERY_MOMENT, "log.cleaner.enable": "false"}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs=configs)])
            for number in range(40):
                await write(broker, "t", b"k", b"%d" % number)
            await asyncio.sleep(0.1)  # twenty times as long as it would take to begin
            assert len(contents(broker, "t")) == 40

    asyncio.run(story())


def test_what_is_too_old_or_too_much_goes_and_a_jump_of_the_clock_deletes_nothing() -> None:
    async def story() -> None:
        clock = FixedClock()
        configs = {"segment.bytes": "1024", "retention.ms": "1000000", "file.delete.delay.ms": "0"}
        async with running(SimDisk(Random(1)), EVERY_MOMENT, clock) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs=configs)])
            for number in range(40):
                await write(broker, "t", b"k", b"%d" % number)
            log = broker.topics.hosted("t", 0).partition.log
            clock.time_ms += 365 * 86_400_000
            await asyncio.sleep(0.1)
            assert log.start_offset == 0, "a year passed in a moment, and it was believed"
            clock.time_ms -= 365 * 86_400_000
            await broker.replace_topic_configs(SESSION, "t", {**configs, "retention.bytes": "1000"}, False)
            await until(lambda: log.start_offset > 0)
            assert 1000 <= log.size_bytes <= 2100
            assert log.end_offset == 40

    asyncio.run(story())
