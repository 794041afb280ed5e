"""confluent-kafka consumes by assignment: where to begin, moving about, pausing, lag."""

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from tests.compat.confluent.clients import (
    admin,
    consumer,
    create,
    event,
    producer,
    read,
    read_from,
    send,
    values,
)

OFFSET_TAIL_5 = -2000 - 5  # librdkafka's way to say "the last five"
FIRST_MS = 1_700_000_000_000


@pytest.fixture
def filled(bootstrap: str, name: str) -> str:
    """A topic of two partitions: twenty records a second apart, in two batches, and an empty one."""
    create(bootstrap, name, 2)
    one = producer(bootstrap)
    for batch in (range(10), range(10, 20)):
        records = [
            {"value": str(i), "key": "k", "partition": 0, "timestamp": FIRST_MS + 1000 * i} for i in batch
        ]
        send(one, name, records)
    return name


def offsets(consumer: Consumer, count: int) -> list[int]:
    return [each.offset() for each in read(consumer, count)]


def test_from_the_beginning(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap) as reader:
        got = read_from(reader, filled, OFFSET_BEGINNING, 20)
    assert [each.value() for each in got] == [b"%d" % i for i in range(20)]


def test_from_within_a_batch(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap) as reader:
        assert read_from(reader, filled, 13, 1)[0].value() == b"13"


def test_the_last_few(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(filled, 0, OFFSET_TAIL_5)])
        assert offsets(reader, 5) == [15, 16, 17, 18, 19]


def test_the_end_is_told_and_what_comes_after_is_read(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap, enable_partition_eof=True) as reader:
        reader.assign([TopicPartition(filled, 0, OFFSET_END)])
        at_end = event(reader)
        assert at_end.error().code() == KafkaError._PARTITION_EOF
        assert at_end.offset() == 20
        send(producer(bootstrap), filled, values("new"))
        assert read(reader, 1)[0].value() == b"new"


def test_finds_offsets_by_time_and_goes_there(bootstrap: str, filled: str) -> None:
    times = [FIRST_MS - 5, FIRST_MS + 7000, FIRST_MS + 7001, FIRST_MS + 19_000, FIRST_MS + 19_001]
    with consumer(bootstrap) as reader:
        found = [reader.offsets_for_times([TopicPartition(filled, 0, time)])[0] for time in times]
        assert [each.offset for each in found] == [0, 7, 8, 19, OFFSET_END]
        (empty,) = reader.offsets_for_times([TopicPartition(filled, 1, FIRST_MS)])
        assert empty.offset == OFFSET_END

        reader.assign([found[1]])
        assert offsets(reader, 1) == [7]


def test_watermarks(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap) as reader:
        assert reader.get_watermark_offsets(TopicPartition(filled, 0)) == (0, 20)
        assert reader.get_watermark_offsets(TopicPartition(filled, 1)) == (0, 0)
        read_from(reader, filled, 0, 1)
        assert reader.get_watermark_offsets(TopicPartition(filled, 0), cached=True) == (0, 20)


@pytest.mark.parametrize(("reset", "begins"), [("earliest", 0), ("latest", 20)])
def test_auto_offset_reset(bootstrap: str, filled: str, reset: str, begins: int) -> None:
    """Without a committed offset, and with one that does not exist."""
    for offset in (OFFSET_STORED, 1_000):
        with consumer(bootstrap, auto_offset_reset=reset, enable_partition_eof=True) as reader:
            reader.assign([TopicPartition(filled, 0, offset)])
            first = event(reader)
            assert first.offset() == begins


def test_an_offset_that_is_not_there_is_told_if_one_asks(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap, auto_offset_reset="error") as reader:
        reader.assign([TopicPartition(filled, 0, 1_000)])
        error = event(reader).error()
    assert error.code() == KafkaError._AUTO_OFFSET_RESET
    assert "out of range" in error.str()


def test_what_was_deleted_is_skipped(bootstrap: str, filled: str) -> None:
    client = admin(bootstrap)
    place = TopicPartition(filled, 0, 12)
    assert client.delete_records([place])[place].result(20).low_watermark == 12
    with consumer(bootstrap) as reader:
        assert reader.get_watermark_offsets(TopicPartition(filled, 0)) == (12, 20)
        assert [each.offset() for each in read_from(reader, filled, 0, 8)] == list(range(12, 20))


def test_commits_and_goes_on_there(bootstrap: str, filled: str) -> None:
    place = TopicPartition(filled, 0)
    with consumer(bootstrap, group_id=filled) as reader:
        assert reader.committed([place])[0].offset == OFFSET_INVALID
        last = read_from(reader, filled, 0, 6)[-1]
        reader.commit(message=last, asynchronous=False)
        assert reader.committed([place])[0].offset == 6
        assert reader.position([place])[0].offset == 6
    with consumer(bootstrap, group_id=filled) as reader:
        assert read_from(reader, filled, OFFSET_STORED, 1)[0].offset() == 6
        lag = reader.get_watermark_offsets(place)[1] - reader.committed([place])[0].offset
        assert lag == 14


def test_commits_with_a_note(bootstrap: str, filled: str) -> None:
    noted = TopicPartition(filled, 0, 3, "ünder way ☂")
    with consumer(bootstrap, group_id=filled) as reader:
        reader.commit(offsets=[noted], asynchronous=False)
        (found,) = reader.committed([TopicPartition(filled, 0)])
    assert (found.offset, found.metadata) == (3, noted.metadata)


def test_commits_of_an_unknown_partition_are_refused(bootstrap: str, filled: str) -> None:
    with consumer(bootstrap, group_id=filled) as reader, pytest.raises(KafkaException) as refused:
        reader.commit(offsets=[TopicPartition(filled, 9, 3)], asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_reads_only_what_is_committed_if_asked(bootstrap: str, filled: str) -> None:
    for level in ("read_committed", "read_uncommitted"):
        with consumer(bootstrap, isolation_level=level) as reader:
            assert len(read_from(reader, filled, 0, 20)) == 20
