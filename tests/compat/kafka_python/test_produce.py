"""kafka-python produces: acknowledgements, codecs, whatever a record may hold, refusals."""

from typing import Any

import pytest
from kafka.errors import MessageSizeTooLargeError
from tests.compat.kafka_python.clients import SECONDS, create, producer, read_from, send
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
    create(bootstrap, name)
    with producer(bootstrap) as one:
        for each in sent:
            one.send(name, partition=0, **each).get(SECONDS)
    got = read_from(bootstrap, name, 0, len(sent))
    assert [(each.key, each.value, list(each.headers)) for each in got] == [
        (each["key"], each["value"], each.get("headers", [])) for each in sent
    ]


def test_a_megabyte_and_more_than_is_taken(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    with producer(bootstrap, max_request_size=10 * MEGABYTE, enable_idempotence=False) as one:
        send(one, name, b"x" * MEGABYTE)
        with pytest.raises(MessageSizeTooLargeError):
            send(one, name, b"x" * 2 * MEGABYTE)
        assert send(one, name, b"fits")[0].offset == 1
    assert [len(each.value) for each in read_from(bootstrap, name, 0, 2)] == [MEGABYTE, 4]


def test_an_idempotent_producer_counts_its_batches(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    with producer(node.bootstrap, enable_idempotence=True) as one:
        for round in range(3):
            send(one, name, *(b"%d-%d" % (round, i) for i in range(10)))
    batches = node.batches(name)
    assert len({batch.producer_id for batch in batches}) == 1
    assert batches[0].producer_id >= 0
    assert [batch.base_sequence for batch in batches] == [batch.base_offset for batch in batches]


def test_timestamps(bootstrap: str, name: str) -> None:
    """The producer's, or the broker's if the topic says so."""
    create(bootstrap, name)
    create(bootstrap, f"{name}-broker", message_timestamp_type="LogAppendTime")
    with producer(bootstrap) as one:
        for topic in (name, f"{name}-broker"):
            one.send(topic, b"x", partition=0, timestamp_ms=1_000).get(SECONDS)
    (own,) = read_from(bootstrap, name, 0, 1)
    assert (own.timestamp_type, own.timestamp) == (0, 1_000)
    (brokers,) = read_from(bootstrap, f"{name}-broker", 0, 1)
    assert brokers.timestamp_type == 1
    assert brokers.timestamp > 1_600_000_000_000


def test_an_unknown_topic_is_created(bootstrap: str, name: str) -> None:
    with producer(bootstrap) as one:
        assert one.send(name, b"first").get(SECONDS).offset == 0
