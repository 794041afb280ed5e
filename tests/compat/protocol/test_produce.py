"""Produce: kafka-compat §5.2, by its numbers."""

import struct
import time

import pytest
from tests.compat.protocol.asking import (
    NOW_MS,
    batch,
    create,
    fetch,
    fetching,
    part,
    produce,
    producing,
    records,
)
from tests.compat.protocol.line import Line

from millstream.errors import ErrorCode
from millstream.records.batch import CHECKED_FROM, CONTROL, LOG_APPEND_TIME, Batch
from millstream.records.compression import Codec
from millstream.records.crc import crc32c
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.produce import ProduceResponse

ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
MAGIC_AT = 16


def changed(batch: bytes, at: int, format: str, value: int) -> bytes:
    """*batch* with one field changed, and a checksum that fits."""
    data = bytearray(batch)
    struct.pack_into(format, data, at, value)
    struct.pack_into(">I", data, 17, crc32c(data[CHECKED_FROM:]))
    return bytes(data)


def stored(wire: Line, topic: str, offset: int = 0) -> Batch:
    (found,) = fetch(wire, fetching(topic, part(offset)))
    return Batch(records(found))


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_5_2_1_acks_that_mean_nothing(wire: Line, name: str, acks: int) -> None:
    create(wire, name)
    assert produce(wire, name, batch(b"x"), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_5_2_1_more_replicas_than_there_are(wire: Line, name: str) -> None:
    create(wire, name, configs={"min.insync.replicas": "2"})
    assert produce(wire, name, batch(b"x"), acks=-1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce(wire, name, batch(b"x"), acks=1).base_offset == 0


ONE = batch(b"a", b"b", b"c")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(None, ErrorCode.INVALID_RECORD, id="null"),
        pytest.param(b"", ErrorCode.INVALID_RECORD, id="empty"),
        pytest.param(ONE + ONE, ErrorCode.INVALID_RECORD, id="two batches"),
        pytest.param(ONE[:MAGIC_AT] + b"\x01" + ONE[MAGIC_AT + 1 :], ErrorCode.INVALID_RECORD, id="magic 1"),
        pytest.param(ONE[:-1] + b"\xff", ErrorCode.CORRUPT_MESSAGE, id="checksum"),
        pytest.param(
            changed(ONE, LAST_OFFSET_DELTA_AT, ">i", 5), ErrorCode.INVALID_RECORD, id="last offset delta"
        ),
        pytest.param(changed(ONE, ATTRIBUTES_AT, ">h", CONTROL), ErrorCode.INVALID_RECORD, id="control"),
        pytest.param(
            changed(ONE, ATTRIBUTES_AT, ">h", LOG_APPEND_TIME), ErrorCode.INVALID_TIMESTAMP, id="append time"
        ),
    ],
)
def test_5_2_2_what_is_not_one_good_batch(wire: Line, name: str, data: bytes | None, code: ErrorCode) -> None:
    create(wire, name)
    for version in (3, 9):
        assert produce(wire, name, data, version=version).error_code == code
    assert produce(wire, name, ONE).base_offset == 0


def test_5_2_3_offset_and_epoch_are_the_brokers(wire: Line, name: str) -> None:
    create(wire, name)
    produce(wire, name, ONE)
    answer = produce(wire, name, changed(ONE, 0, ">q", 12345))
    assert (answer.base_offset, answer.log_append_time_ms) == (3, -1)
    found = stored(wire, name, 3)
    assert (found.base_offset, found.leader_epoch) == (3, 0)
    assert bytes(found.data[CHECKED_FROM:]) == ONE[CHECKED_FROM:]


def test_5_2_3_append_time_is_stamped(wire: Line, name: str) -> None:
    create(wire, name, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    answer = produce(wire, name, ONE)
    found = stored(wire, name)
    found.check()
    assert before - 1000 <= answer.log_append_time_ms <= int(time.time() * 1000)
    assert found.log_append_time
    assert found.max_timestamp_ms == answer.log_append_time_ms


def test_5_2_4_limits_of_topic_and_segment(wire: Line, name: str) -> None:
    create(wire, f"{name}-a", configs={"max.message.bytes": "1000"})
    assert produce(wire, f"{name}-a", batch(b"x" * 1000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    squeezed = batch(b"x" * 5000, codec=Codec.GZIP)  # what counts is what was sent
    assert produce(wire, f"{name}-a", squeezed).error_code == 0
    create(wire, f"{name}-b", configs={"segment.bytes": "2000"})
    assert produce(wire, f"{name}-b", batch(b"x" * 2000)).error_code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_5_2_5_records_without_keys_are_named(wire: Line, name: str) -> None:
    create(wire, name, configs={"cleanup.policy": "compact"})
    answer = produce(wire, name, batch(b"a", b"b", key=None))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in answer.record_errors] == [0, 1]
    assert answer.base_offset == -1
    assert produce(wire, name, batch(b"a")).base_offset == 0


def test_5_2_5_records_of_another_time_are_named(wire: Line, name: str) -> None:
    create(wire, name)
    tomorrow = int(time.time() * 1000) + 86_400_000
    answer = produce(wire, name, batch(b"a", b"b", times=[NOW_MS, tomorrow]))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [each.batch_index for each in answer.record_errors] == [1]
    old = produce(wire, name, batch(b"a", b"b", times=[NOW_MS, tomorrow]), version=7)
    assert (old.error_code, old.record_errors) == (ErrorCode.INVALID_TIMESTAMP, [])


def test_5_2_6_zstd_is_for_later_versions(wire: Line, name: str) -> None:
    create(wire, name)
    squeezed = batch(b"x", codec=Codec.ZSTD)
    for version in (3, 6):
        answer = produce(wire, name, squeezed, version=version)
        assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(wire, name, squeezed, version=7).error_code == 0


@pytest.mark.parametrize("wanted", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_5_2_6_a_topics_own_codec(wire: Line, name: str, wanted: str) -> None:
    create(wire, name, configs={"compression.type": wanted})
    for codec in (Codec.NONE, Codec.LZ4):
        answer = produce(wire, name, batch(b"a" * 100, b"b", codec=codec))
        found = stored(wire, name, answer.base_offset)
        found.check()
        assert found.codec == (Codec.NONE if wanted == "uncompressed" else Codec[wanted.upper()])
        assert found.base_offset == answer.base_offset


def test_5_2_7_the_answer_tells_where_the_log_starts(wire: Line, name: str) -> None:
    create(wire, name)
    for version in range(3, 13):
        answer = produce(wire, name, batch(b"x"), version=version)
        assert answer.base_offset == version - 3
        assert answer.log_start_offset == (0 if version >= 5 else -1)


def test_5_2_8_one_bad_partition_does_not_spoil_the_others(wire: Line, name: str) -> None:
    create(wire, name, 3)
    asked = producing(name, {0: batch(b"a"), 1: b"nonsense", 2: batch(b"c"), 7: batch(b"nowhere")})
    (topic,) = wire.ask(asked, ProduceResponse, 9).responses
    assert [(each.index, each.error_code == 0) for each in topic.partition_responses] == [
        (0, True),
        (1, False),
        (2, True),
        (7, False),
    ]
    assert topic.partition_responses[3].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_5_2_9_what_is_acknowledged_can_be_fetched(wire: Line, name: str) -> None:
    create(wire, name)
    for i in range(20):
        assert produce(wire, name, batch(b"x"), acks=1 if i % 2 else -1).base_offset == i
        (found,) = fetch(wire, fetching(name, part(i)))
        assert found.high_watermark == i + 1
        assert found.records


def test_nobody_but_the_broker_writes_what_groups_keep(wire: Line) -> None:
    wire.ask(FindCoordinatorRequest("g"), FindCoordinatorResponse, 2)
    answer = produce(wire, "__consumer_offsets", batch(b"x"))
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
