"""aiokafka produces: acknowledgements, codecs, whatever a record may hold, refusals."""

from typing import Any

import pytest
from aiokafka.errors import MessageSizeTooLargeError
from tests.compat.aio.clients import create, producer, read_from, run, send
from tests.compat.node import Node

MEGABYTE = 1_000_000


def test_whatever_a_record_may_hold(bootstrap: str, name: str) -> None:
    sent: list[dict[str, Any]] = [
        {"key": b"k", "value": b"v"},
        {"key": None, "value": b"no key"},
        {"key": b"a tombstone", "value": None},
        {"key": b"", "value": b""},
        {"key": b"h", "value": b"h", "headers": [("a", b"1"), ("a", b"2"), ("", b"")]},
        {"key": bytes(range(256)), "value": "Ünïcode ☂".encode()},
    ]

    async def story() -> None:
        await create(bootstrap, name)
        async with producer(bootstrap) as one:
            for each in sent:
                await one.send_and_wait(name, partition=0, **each)
        got = await read_from(bootstrap, name, 0, len(sent))
        assert [(each.key, each.value, list(each.headers)) for each in got] == [
            (each["key"], each["value"], each.get("headers", [])) for each in sent
        ]

    run(story())


def test_a_megabyte_and_more_than_is_taken(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name)
        async with producer(bootstrap, max_request_size=10 * MEGABYTE) as one:
            await send(one, name, b"x" * MEGABYTE)
            with pytest.raises(MessageSizeTooLargeError):
                await send(one, name, b"x" * 2 * MEGABYTE)
            assert (await send(one, name, b"fits"))[0].offset == 1
        got = await read_from(bootstrap, name, 0, 2)
        assert [len(each.value) for each in got] == [MEGABYTE, 4]

    run(story())


def test_an_idempotent_producer_counts_its_batches(node: Node, name: str) -> None:
    async def story() -> None:
        await create(node.bootstrap, name)
        async with producer(node.bootstrap, enable_idempotence=True) as one:
            for round in range(3):
                await send(one, name, *(b"%d-%d" % (round, i) for i in range(10)))

    run(story())
    batches = node.batches(name)
    assert len({batch.producer_id for batch in batches}) == 1
    assert batches[0].producer_id >= 0
    assert [batch.base_sequence for batch in batches] == [batch.base_offset for batch in batches]


def test_timestamps(bootstrap: str, name: str) -> None:
    """The producer's, or the broker's if the topic says so."""

    async def story() -> None:
        await create(bootstrap, name)
        await create(bootstrap, f"{name}-broker", message_timestamp_type="LogAppendTime")
        async with producer(bootstrap) as one:
            for topic in (name, f"{name}-broker"):
                await one.send_and_wait(topic, b"x", partition=0, timestamp_ms=1_000)
        (own,) = await read_from(bootstrap, name, 0, 1)
        assert (own.timestamp_type, own.timestamp) == (0, 1_000)
        (brokers,) = await read_from(bootstrap, f"{name}-broker", 0, 1)
        assert brokers.timestamp_type == 1
        assert brokers.timestamp > 1_600_000_000_000

    run(story())


def test_an_unknown_topic_is_created(bootstrap: str, name: str) -> None:
    async def story() -> None:
        async with producer(bootstrap) as one:
            assert (await one.send_and_wait(name, b"first")).offset == 0

    run(story())
