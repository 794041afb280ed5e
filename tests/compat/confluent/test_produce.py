"""confluent-kafka (librdkafka) produces: acknowledgements, codecs, whatever a record may hold, refusals."""

from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException
from tests.compat.confluent.clients import consumer, create, producer, read_from, send, values
from tests.compat.node import CODECS, Node

MEGABYTE = 1_000_000


def test_whatever_a_record_may_hold(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    sent: list[dict[str, Any]] = [
        {"key": b"k", "value": b"v"},
        {"key": None, "value": b"no key"},
        {"key": b"a tombstone", "value": None},
        {"key": None, "value": None},
        {"key": b"", "value": b""},
        {"key": b"h", "value": b"h", "headers": [("a", b"1"), ("a", b"2"), ("", b""), ("null", None)]},
        {"key": bytes(range(256)), "value": "Ünïcode ☂".encode()},
    ]
    send(producer(bootstrap), name, [{**each, "partition": 0} for each in sent])

    with consumer(bootstrap) as reader:
        got = read_from(reader, name, 0, len(sent))
    assert [(each.key(), each.value(), each.headers()) for each in got] == [
        (each["key"], each["value"], each.get("headers")) for each in sent
    ]


def test_too_large_is_refused_and_the_next_is_not(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    one = producer(bootstrap, message_max_bytes=10 * MEGABYTE)
    with pytest.raises(KafkaException) as refused:
        send(one, name, [{"value": b"x" * 2 * MEGABYTE, "partition": 0}])

    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert [report.offset() for report in send(one, name, values("fits"))] == [0]


def test_a_topic_may_take_larger_ones(bootstrap: str, name: str) -> None:
    create(bootstrap, name, max_message_bytes=str(4 * MEGABYTE))
    send(
        producer(bootstrap, message_max_bytes=10 * MEGABYTE),
        name,
        [{"value": b"x" * 3 * MEGABYTE, "partition": 0}],
    )

    with consumer(bootstrap) as reader:  # more than a fetch asks for: it comes all the same
        assert len(read_from(reader, name, 0, 1)[0].value()) == 3 * MEGABYTE


def test_an_idempotent_producer_counts_its_batches(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    one = producer(node.bootstrap, enable_idempotence=True)
    for round in range(3):
        send(one, name, values(*(f"{round}-{i}" for i in range(10))))

    batches = node.batches(name)
    assert len({batch.producer_id for batch in batches}) == 1
    assert batches[0].producer_id >= 0
    assert [batch.base_sequence for batch in batches] == [batch.base_offset for batch in batches]
    assert sum(batch.record_count for batch in batches) == 30


def test_each_idempotent_producer_has_an_id_of_its_own(node: Node, name: str) -> None:
    create(node.bootstrap, name)
    for _ in range(3):
        send(producer(node.bootstrap, enable_idempotence=True), name, values("x"))

    assert len({batch.producer_id for batch in node.batches(name)}) == 3


def test_an_unknown_topic_is_created(bootstrap: str, name: str) -> None:
    assert [report.offset() for report in send(producer(bootstrap), name, [{"value": "first"}])] == [0]


def test_an_unknown_partition_is_refused(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    with pytest.raises(KafkaException) as refused:
        send(producer(bootstrap), name, values("x", partition=7))
    assert refused.value.args[0].code() == KafkaError._UNKNOWN_PARTITION


def test_timestamps_are_the_producers(bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    send(producer(bootstrap), name, [{"value": "x", "partition": 0, "timestamp": 1_234_567_890_123}])
    with consumer(bootstrap) as reader:
        assert read_from(reader, name, 0, 1)[0].timestamp() == (TIMESTAMP_CREATE_TIME, 1_234_567_890_123)


def test_timestamps_are_the_brokers_if_the_topic_says_so(bootstrap: str, name: str) -> None:
    create(bootstrap, name, message_timestamp_type="LogAppendTime")
    (report,) = send(producer(bootstrap), name, [{"value": "x", "partition": 0, "timestamp": 1_000}])
    with consumer(bootstrap) as reader:
        kind, at = read_from(reader, name, 0, 1)[0].timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert at > 1_600_000_000_000
    assert report.timestamp() == (TIMESTAMP_LOG_APPEND_TIME, at)


def test_a_topic_may_have_a_codec_of_its_own(node: Node, name: str) -> None:
    create(node.bootstrap, name, compression_type="zstd")
    send(producer(node.bootstrap, compression_type="gzip"), name, values(*("x" * 100 for _ in range(20))))

    assert node.codecs(name) == {CODECS["zstd"]}
    with consumer(node.bootstrap) as reader:
        assert {each.value() for each in read_from(reader, name, 0, 20)} == {b"x" * 100}


def test_a_compacted_topic_wants_keys(bootstrap: str, name: str) -> None:
    create(bootstrap, name, cleanup_policy="compact")
    one = producer(bootstrap)
    with pytest.raises(KafkaException) as refused:
        send(one, name, values("no key"))
    assert refused.value.args[0].code() == KafkaError.INVALID_RECORD
    send(one, name, [{"key": "k", "value": "v", "partition": 0}])
