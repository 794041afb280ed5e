"""Offsets and epochs: kafka-compat §5.4, by its numbers, and what §4 says of ListOffsets."""

import pytest
from tests.compat.protocol.asking import NOW_MS, batch, create, produce
from tests.compat.protocol.line import Line
from tests.compat.protocol.writer import NEWER, Writer

from millstream.errors import ErrorCode
from millstream.records.compression import Codec
from millstream.wire.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsRequestPartition,
    DeleteRecordsRequestTopic,
    DeleteRecordsResponse,
)
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
)
from millstream.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochRequestPartition,
    OffsetForLeaderEpochRequestTopic,
    OffsetForLeaderEpochResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)


def look(
    wire: Line, topic: str, timestamp: int, version: int = 11, epoch: int = -1, isolation: int = 0
) -> ListOffsetsResponsePartition:
    asked = ListOffsetsRequestPartition(0, current_leader_epoch=epoch, timestamp=timestamp)
    request = ListOffsetsRequest(isolation_level=isolation, topics=[ListOffsetsRequestTopic(topic, [asked])])
    (answer,) = wire.ask(request, ListOffsetsResponse, version).topics
    return answer.partitions[0]


def found(answer: ListOffsetsResponsePartition) -> tuple[int, int, int]:
    return answer.error_code, answer.offset, answer.timestamp


def delete_before(wire: Line, topic: str, offset: int) -> int:
    asked = DeleteRecordsRequestTopic(topic, [DeleteRecordsRequestPartition(0, offset)])
    (answer,) = wire.ask(DeleteRecordsRequest([asked], 1000), DeleteRecordsResponse, 2).topics
    assert answer.partitions[0].error_code == 0
    return answer.partitions[0].low_watermark


@pytest.fixture
def filled(wire: Line, name: str) -> str:
    """Times that go up and down, within batches and between them; the second batch is compressed."""
    create(wire, name)
    produce(wire, name, batch(b"0", b"1", b"2", times=[100, 300, 200]))
    produce(wire, name, batch(b"3", b"4", b"5", times=[150, 500, 400], codec=Codec.GZIP))
    produce(wire, name, batch(b"6", b"7", times=[250, 450]))
    return name


def test_5_4_1_what_stands_for_start_and_end(wire: Line, filled: str) -> None:
    delete_before(wire, filled, 2)
    for version in range(1, 12):
        for isolation in (0, 1):
            assert found(look(wire, filled, LATEST, version, isolation=isolation)) == (0, 8, -1)
            assert found(look(wire, filled, EARLIEST, version, isolation=isolation)) == (0, 2, -1)


def test_5_4_1_the_newer_kinds_and_since_when_there_are_any(wire: Line, filled: str) -> None:
    kinds = {
        MAX_TIMESTAMP: (7, (0, 4, 500)),
        EARLIEST_LOCAL: (8, (0, 0, -1)),
        LATEST_TIERED: (9, (0, -1, -1)),
        EARLIEST_PENDING: (11, (0, -1, -1)),
    }
    for timestamp, (since, expected) in kinds.items():
        for version in range(1, 12):
            answer = look(wire, filled, timestamp, version)
            if version >= since:
                assert found(answer) == expected
            else:
                assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert look(wire, filled, -7).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_5_4_2_the_first_record_of_a_time_or_later(wire: Line, filled: str) -> None:
    """By offset the first, wherever in its batch, though times go up and down."""
    times = {0: (0, 100), 100: (0, 100), 101: (1, 300), 300: (1, 300), 301: (4, 500), 500: (4, 500)}
    for time, expected in times.items():
        for version in (1, 3, 4, 11):
            assert found(look(wire, filled, time, version))[1:] == expected
    assert found(look(wire, filled, 501)) == (0, -1, -1)


def test_5_4_2_deleted_records_are_not_found(wire: Line, filled: str) -> None:
    assert delete_before(wire, filled, 5) == 5
    assert found(look(wire, filled, 101)) == (0, 5, 400)
    assert found(look(wire, filled, MAX_TIMESTAMP))[0] == 0


def test_5_4_2_nor_is_what_is_not_decided(wire: Line, filled: str) -> None:
    writer = Writer(wire, filled, NEWER)
    writer.begin_at_last()
    writer.write(filled, b"undecided")  # at NOW_MS, later than all the others
    assert found(look(wire, filled, NOW_MS)) == (0, 8, NOW_MS)
    assert found(look(wire, filled, NOW_MS, isolation=1)) == (0, -1, -1)
    assert found(look(wire, filled, LATEST, isolation=1)) == (0, 8, -1)
    assert found(look(wire, filled, LATEST)) == (0, 9, -1)
    assert writer.commit() is ErrorCode.NONE
    assert found(look(wire, filled, NOW_MS, isolation=1)) == (0, 8, NOW_MS)
    assert found(look(wire, filled, LATEST, isolation=1)) == (0, 10, -1)


def test_4_9_an_empty_log_has_no_times(wire: Line, name: str) -> None:
    create(wire, name)
    for timestamp in (0, MAX_TIMESTAMP):
        assert found(look(wire, name, timestamp)) == (0, -1, -1)
    assert found(look(wire, name, LATEST)) == (0, 0, -1)


def test_5_3_7_topics_and_epochs_that_are_not_there(wire: Line, filled: str) -> None:
    assert look(wire, "no-such-topic", LATEST).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert look(wire, filled, LATEST, epoch=3).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert look(wire, filled, LATEST, epoch=0).leader_epoch == 0


def test_5_4_4_where_an_epoch_ended(wire: Line, filled: str) -> None:
    def ended(epoch: int, version: int, current: int = -1) -> tuple[int, int, int]:
        asked = OffsetForLeaderEpochRequestPartition(0, current, epoch)
        topic = OffsetForLeaderEpochRequestTopic(filled, [asked])
        request = OffsetForLeaderEpochRequest(topics=[topic])
        (answer,) = wire.ask(request, OffsetForLeaderEpochResponse, version).topics
        (each,) = answer.partitions
        return each.error_code, each.leader_epoch, each.end_offset

    for version in (2, 3, 4):
        assert ended(0, version) == (0, 0, 8)
        assert ended(7, version) == (0, -1, -1)
        assert ended(0, version, current=4)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_5_10_2_deleting_records(wire: Line, filled: str) -> None:
    def code(offset: int, topic: str = filled) -> int:
        asked = DeleteRecordsRequestTopic(topic, [DeleteRecordsRequestPartition(0, offset)])
        (answer,) = wire.ask(DeleteRecordsRequest([asked], 1000), DeleteRecordsResponse, 1).topics
        return answer.partitions[0].error_code

    assert delete_before(wire, filled, 4) == 4
    assert delete_before(wire, filled, 2) == 4
    assert code(9) == code(-2) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert code(0, "no-such-topic") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete_before(wire, filled, -1) == 8
    create(wire, f"{filled}-c", configs={"cleanup.policy": "compact"})
    assert code(0, f"{filled}-c") == ErrorCode.POLICY_VIOLATION
