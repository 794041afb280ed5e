"""Following a topic: every record once, from wherever it comes, and nothing ahead of the listener."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest
from tests.broker.support import SESSION, running

from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.errors import ErrorCode, Refused
from millstream.records.build import NewRecord
from millstream.sim.disk import SimDisk
from millstream.sim.loop import SimLoop


def run(story: Coroutine[Any, Any, None]) -> None:
    SimLoop(0).run_until_complete(story)


async def put(broker: Broker, partition: int, *values: bytes) -> None:
    await broker.write(SESSION, "orders", [NewRecord(None, value) for value in values], partition)


def test_every_partition_is_heard_from_though_one_never_stops_talking() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 3)])
            await put(broker, 0, *[bytes(100)] * 5000)
            await put(broker, 2, b"quiet")
            seen: Counter[int] = Counter()
            async for found in broker.follow(SESSION, "orders", {0: 0, 1: 0, 2: 0}):
                seen[found.partition] += len(found.records)
                if seen[2]:
                    break
            assert seen[0] < 5000
            assert seen[2] == 1

    run(story())


def test_from_now_on_means_from_now_on_in_partitions_to_come_too() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            await put(broker, 0, b"old")
            heard: list[tuple[int, bytes | None]] = []

            async def listen() -> None:
                async for found in broker.follow(SESSION, "orders"):
                    heard.extend((found.partition, record.value) for record in found.records)

            listener = asyncio.ensure_future(listen())
            await asyncio.sleep(0.1)
            await put(broker, 0, b"new")
            await broker.grow_topic(SESSION, "orders", 2)
            await put(broker, 1, b"newer")
            await asyncio.sleep(10)
            listener.cancel()
            assert heard == [(0, b"new"), (1, b"newer")]

    run(story())


def test_what_retention_takes_is_stepped_over_and_the_end_of_the_topic_is_the_end() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            await put(broker, 0, b"0", b"1", b"2")
            await broker.delete_records(SESSION, "orders", 0, 2)
            following = broker.follow(SESSION, "orders", {0: 0})
            found = await anext(following)
            assert [record.offset for record in found.records] == [2]

            waiting = asyncio.ensure_future(anext(following))
            await asyncio.sleep(1)
            await broker.delete_topic(SESSION, "orders")
            with pytest.raises(Refused) as refused:
                await waiting
            assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(story())


def test_nothing_is_read_ahead_of_the_listener() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            await put(broker, 0, *[bytes(1000)] * 5000)
            following = broker.follow(SESSION, "orders", {0: 0})
            await anext(following)
            read = broker._fetch.bytes
            await asyncio.sleep(60)
            assert broker._fetch.bytes == read < 3 << 20

    run(story())
