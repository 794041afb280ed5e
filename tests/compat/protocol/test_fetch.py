"""Fetch: kafka-compat §5.3, by its numbers."""

import struct
import time

import pytest
from tests.compat.node import Node
from tests.compat.protocol.asking import batch, create, fetch, fetching, part, produce, records
from tests.compat.protocol.line import Line, line
from tests.compat.protocol.writer import NEWER, Writer

from millstream.errors import ErrorCode
from millstream.records.batch import split
from millstream.records.compression import Codec
from millstream.wire.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsRequestPartition,
    DeleteRecordsRequestTopic,
    DeleteRecordsResponse,
)
from millstream.wire.messages.fetch import FetchRequest, FetchRequestForgottenTopic, FetchResponse

VERSIONS = range(4, 13)  # by name; from 13 on topics are asked for by id


@pytest.fixture
def filled(wire: Line, name: str) -> str:
    """Three batches of five records each in partition 0, one in partition 1, none in 2."""
    create(wire, name, 3)
    for i in range(3):
        produce(wire, name, batch(*[b"%d" % i] * 5))
    produce(wire, name, batch(b"other"), partition=1)
    return name


def offsets(found_records: memoryview) -> list[int]:
    return [each.base_offset for each in split(found_records)]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_5_3_1_an_offset_within_a_batch_gives_the_whole_batch(wire: Line, name: str, codec: Codec) -> None:
    create(wire, name)
    for _ in range(2):
        produce(wire, name, batch(*[b"x"] * 5, codec=codec))
    for version in VERSIONS:
        (found,) = fetch(wire, fetching(name, part(7)), version)
        assert offsets(records(found)) == [5]


def test_5_3_2_outside_of_the_log(wire: Line, filled: str) -> None:
    delete = DeleteRecordsRequestPartition(0, 5)
    asked = DeleteRecordsRequest([DeleteRecordsRequestTopic(filled, [delete])])
    wire.ask(asked, DeleteRecordsResponse, 2)
    for offset in (0, 4, 16, 1 << 40, -5):
        for version in VERSIONS:
            (found,) = fetch(wire, fetching(filled, part(offset), wait_ms=5000), version)
            assert found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert found.high_watermark == 15
            assert found.log_start_offset == (5 if version >= 5 else -1)
    (found,) = fetch(wire, fetching(filled, part(15)))
    assert (found.error_code, bytes(records(found))) == (0, b"")


def test_5_3_3_readers_of_what_is_decided_see_no_further(wire: Line, name: str) -> None:
    create(wire, name)
    writer = Writer(wire, name, NEWER)
    produce(wire, name, batch(b"plain"))
    writer.begin_at_last()
    writer.write(name, b"undecided")
    produce(wire, name, batch(b"plain"))
    for version in VERSIONS:
        (all,) = fetch(wire, fetching(name, part()), version)
        (decided,) = fetch(wire, fetching(name, part(), isolation=1), version)
        assert offsets(records(all)) == [0, 1, 2]
        assert offsets(records(decided)) == [0]
        assert (decided.high_watermark, decided.last_stable_offset) == (3, 1)
        (beyond,) = fetch(wire, fetching(name, part(2), isolation=1), version)
        assert (beyond.error_code, bytes(records(beyond))) == (0, b"")
    assert writer.commit() is ErrorCode.NONE
    (decided,) = fetch(wire, fetching(name, part(), isolation=1))
    assert offsets(records(decided)) == [0, 1, 2, 3]


def test_5_3_4_the_first_batch_comes_however_large(wire: Line, filled: str) -> None:
    tiny = [part(0, 2, 1), part(0, 0, 1), part(0, 1, 1)]
    nothing, first, other = fetch(wire, fetching(filled, *tiny, max_bytes=1))
    assert bytes(records(nothing)) == b""
    assert offsets(records(first)) == [0]
    assert bytes(records(other)) == b""


def test_5_3_4_later_ones_obey_what_remains(wire: Line, filled: str) -> None:
    (one,) = fetch(wire, fetching(filled, part(0, max_bytes=1)))
    size = len(records(one))
    (two,) = fetch(wire, fetching(filled, part(0, max_bytes=2 * size)))
    assert offsets(records(two)) == [0, 5]
    first, other = fetch(wire, fetching(filled, part(), part(0, 1), max_bytes=3 * size + 10))
    assert offsets(records(first)) == [0, 5, 10]
    assert bytes(records(other)) == b""
    first, other = fetch(wire, fetching(filled, part(), part(0, 1), max_bytes=4 * size))
    assert offsets(records(other)) == [0]


def test_5_3_5_waits_for_as_much_as_was_asked_for(node: Node, wire: Line, filled: str) -> None:
    asked = wire.send(fetching(filled, part(15), wait_ms=15_000, min_bytes=200), 12)
    with line(node) as other:
        produce(other, filled, batch(b"x"))
        produce(other, filled, batch(b"y" * 200))
    (topic,) = wire.answer(FetchResponse, 12, asked).responses
    assert offsets(records(topic.partitions[0])) == [15, 16]


def test_5_3_5_gives_what_there_is_when_the_wait_is_over(wire: Line, filled: str) -> None:
    began = time.monotonic()
    (found,) = fetch(wire, fetching(filled, part(10), wait_ms=300, min_bytes=100_000))
    assert offsets(records(found)) == [10]
    assert 0.25 < time.monotonic() - began < 10


def test_5_3_5_errors_and_nothing_to_wait_for_are_answered_at_once(wire: Line, filled: str) -> None:
    began = time.monotonic()
    fetch(wire, fetching(filled, part(15), part(0, 9), wait_ms=20_000))
    fetch(wire, fetching(filled, part(15), wait_ms=20_000, min_bytes=0))
    fetch(wire, fetching(filled, part(15), wait_ms=0))
    fetch(wire, fetching(filled, part(15), part(99), wait_ms=20_000))
    assert time.monotonic() - began < 10


def test_5_3_5_only_what_is_decided_counts_and_the_decision_wakes(node: Node, wire: Line, name: str) -> None:
    create(wire, name)
    with line(node) as other:
        writer = Writer(other, name, NEWER)
        writer.begin_at_last()
        writer.write(name, b"undecided" * 100)
        asked = wire.send(fetching(name, part(), wait_ms=30_000, min_bytes=500, isolation=1), 12)
        produce(other, name, batch(b"plain" * 100))
        assert writer.commit() is ErrorCode.NONE
    (topic,) = wire.answer(FetchResponse, 12, asked).responses
    assert offsets(records(topic.partitions[0])) == [0, 1, 2]


def test_5_3_5_who_reads_an_older_segment_does_not_wait(wire: Line, name: str) -> None:
    """Nor who asks for more than an answer may hold: the next one will have the rest. Else this times out."""
    create(wire, name, configs={"segment.bytes": "1024"})
    for _ in range(20):
        produce(wire, name, batch(b"x" * 200))
    (found,) = fetch(wire, fetching(name, part(), wait_ms=60_000, min_bytes=1 << 19))
    assert offsets(records(found)) == [0, 1, 2]
    (short,) = fetch(wire, fetching(name, part(18), wait_ms=60_000, min_bytes=500, max_bytes=500))
    assert offsets(records(short)) == [18]


def test_5_3_6_a_session_tells_only_what_is_new(wire: Line, filled: str) -> None:
    begun = wire.ask(fetching(filled, part(), part(0, 1), part(0, 2), session=(0, 0)), FetchResponse, 12)
    id = begun.session_id
    assert id > 0
    assert [len(topic.partitions) for topic in begun.responses] == [3]

    moved = wire.ask(fetching(filled, part(15), part(1, 1), session=(id, 1)), FetchResponse, 12)
    assert (moved.session_id, moved.responses) == (id, [])
    produce(wire, filled, batch(b"new"), partition=2)
    told = wire.ask(fetching(filled, session=(id, 2)), FetchResponse, 12)
    ((only,),) = [topic.partitions for topic in told.responses]
    assert (only.partition_index, offsets(records(only))) == (2, [0])

    forget = fetching(filled, session=(id, 3))
    forget.forgotten_topics_data = [FetchRequestForgottenTopic(filled, partitions=[2])]
    assert wire.ask(forget, FetchResponse, 12).responses == []
    closed = wire.ask(fetching(filled, part(), part(0, 1), session=(id, -1)), FetchResponse, 12)
    assert closed.session_id == 0
    assert [len(topic.partitions) for topic in closed.responses] == [2]
    gone = wire.ask(fetching(filled, session=(id, 4)), FetchResponse, 12)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_5_3_6_an_error_is_told_and_so_is_its_end(wire: Line, filled: str) -> None:
    begun = wire.ask(fetching(filled, part(99), session=(0, 0)), FetchResponse, 12)
    again = wire.ask(fetching(filled, session=(begun.session_id, 1)), FetchResponse, 12)
    healed = wire.ask(fetching(filled, part(15), session=(begun.session_id, 2)), FetchResponse, 12)
    codes = [answer.responses[0].partitions[0].error_code for answer in (begun, again, healed)]
    assert codes == [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_OUT_OF_RANGE, 0]


def test_5_3_6_sessions_that_cannot_go_on(wire: Line, filled: str) -> None:
    def code(request: FetchRequest, version: int = 12) -> int:
        return wire.ask(request, FetchResponse, version).error_code

    id = wire.ask(fetching(filled, part(), session=(0, 0)), FetchResponse, 12).session_id
    assert code(fetching(filled, session=(id, 5))) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert code(fetching(filled, session=(id + 1, 1))) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert code(fetching(bytes(16), session=(id, 1)), 13) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert code(fetching(filled, session=(id, 1))) == 0


def test_5_3_7_a_leader_of_another_epoch(wire: Line, filled: str) -> None:
    for version in range(9, 13):
        known, unknown = fetch(wire, fetching(filled, part(epoch=0), part(index=1, epoch=5)), version)
        assert known.error_code == 0
        assert unknown.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_5_3_8_a_log_that_went_another_way(wire: Line, filled: str) -> None:
    same, other = fetch(wire, fetching(filled, part(15, last_epoch=0), part(5, 1, last_epoch=0)))
    assert same.diverging_epoch is None or same.diverging_epoch.epoch == -1
    assert other.diverging_epoch is not None
    assert (other.diverging_epoch.epoch, other.diverging_epoch.end_offset) == (0, 1)
    assert bytes(records(other)) == b""


def test_5_3_9_by_id(wire: Line, name: str) -> None:
    id = create(wire, name)
    produce(wire, name, batch(b"x"))
    for version in range(13, 19):
        (found,) = fetch(wire, fetching(id, part()), version)
        assert offsets(records(found)) == [0]
        (unknown,) = fetch(wire, fetching(b"\x07" * 16, part()), version)
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_5_3_10_no_other_replica_is_preferred(wire: Line, filled: str) -> None:
    request = fetching(filled, part())
    request.rack_id = "somewhere"
    (found,) = fetch(wire, request)
    assert found.preferred_read_replica == -1
    assert offsets(records(found)) == [0, 5, 10]


def test_5_3_11_bytes_go_out_as_they_came(wire: Line, name: str) -> None:
    create(wire, name)
    sent = [batch(b"x" * i, codec=codec) for i, codec in enumerate(Codec, 1)]
    for each in sent:
        produce(wire, name, each)
    (found,) = fetch(wire, fetching(name, part()))
    expected = b"".join(
        struct.pack(">q", i) + each[8:12] + bytes(4) + each[16:] for i, each in enumerate(sent)
    )
    assert bytes(records(found)) == expected


def test_4_6_aborted_transactions_are_null_or_a_list(wire: Line, filled: str) -> None:
    (uncommitted,) = fetch(wire, fetching(filled, part(), isolation=0))
    (committed,) = fetch(wire, fetching(filled, part(), isolation=1))
    assert (uncommitted.aborted_transactions or []) == []
    assert committed.aborted_transactions == []
    assert committed.last_stable_offset == committed.high_watermark == 15
