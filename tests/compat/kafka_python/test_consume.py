"""kafka-python consumes by assignment: where to begin, moving about, pausing, lag."""

import pytest
from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError
from tests.compat.kafka_python.clients import (
    SECONDS,
    admin,
    consumer,
    create,
    producer,
    read,
    read_from,
    send,
)

FIRST_MS = 1_700_000_000_000


@pytest.fixture
def place(bootstrap: str, name: str) -> TopicPartition:
    """Of two partitions the first: twenty records a second apart. The other is empty."""
    create(bootstrap, name, 2)
    with producer(bootstrap) as one:
        for i in range(20):
            one.send(name, b"%d" % i, partition=0, timestamp_ms=FIRST_MS + 1000 * i)
        one.flush(SECONDS)
    return TopicPartition(name, 0)


def test_from_any_offset(bootstrap: str, place: TopicPartition) -> None:
    with consumer(bootstrap) as reader:
        reader.assign([place])
        for offset in (0, 13, 10, 9, 19):
            reader.seek(place, offset)
            assert read(reader, 1)[0].value == b"%d" % offset
        reader.seek_to_beginning(place)
        assert read(reader, 20)[-1].offset == 19
        assert reader.position(place) == 20
        reader.seek_to_end(place)
        assert reader.position(place) == 20
        with producer(bootstrap) as one:
            send(one, place.topic, b"new")
        assert read(reader, 1)[0].value == b"new"


def test_finds_offsets(bootstrap: str, place: TopicPartition) -> None:
    """By time, and the first and the last."""
    empty = TopicPartition(place.topic, 1)
    with consumer(bootstrap) as reader:
        for time, offset in ((-5, 0), (7000, 7), (7001, 8), (19_000, 19)):
            assert reader.offsets_for_times({place: FIRST_MS + time})[place].offset == offset
        assert reader.offsets_for_times({place: FIRST_MS + 19_001, empty: 0}) == {place: None, empty: None}
        assert reader.beginning_offsets([place, empty]) == {place: 0, empty: 0}
        assert reader.end_offsets([place, empty]) == {place: 20, empty: 0}


@pytest.mark.parametrize("sessions", [True, False])
def test_incremental_fetch_sessions(bootstrap: str, place: TopicPartition, sessions: bool) -> None:
    """With and without, through many fetches, and with partitions added and taken away."""
    other = TopicPartition(place.topic, 1)
    with (
        producer(bootstrap) as one,
        consumer(
            bootstrap, enable_incremental_fetch_sessions=sessions, max_partition_fetch_bytes=200
        ) as reader,
    ):
        reader.assign([place])
        assert [each.offset for each in read(reader, 20)] == list(range(20))
        reader.assign([place, other])
        reader.seek(place, 20)
        for i in range(5):
            send(one, place.topic, b"%d" % i, partition=1)
            send(one, place.topic, b"%d" % i, partition=0)
            assert {each.partition for each in read(reader, 2)} == {0, 1}
        reader.assign([other])
        reader.seek(other, 5)
        send(one, place.topic, b"last", partition=1)
        assert read(reader, 1)[0].value == b"last"


@pytest.mark.parametrize(("reset", "begins"), [("earliest", 0), ("latest", 20)])
def test_auto_offset_reset(bootstrap: str, place: TopicPartition, reset: str, begins: int) -> None:
    with consumer(bootstrap, auto_offset_reset=reset) as reader:
        reader.assign([place])
        assert reader.position(place) == begins
        reader.seek(place, 1_000)
        while reader.position(place) == 1_000:
            reader.poll(timeout_ms=50, max_records=1)
        assert reader.position(place) - begins in (0, 1)


def test_an_offset_that_is_not_there_is_told_if_one_asks(bootstrap: str, place: TopicPartition) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        read_from(bootstrap, place.topic, 1_000, 1, auto_offset_reset="none")


def test_what_was_deleted_is_skipped(bootstrap: str, place: TopicPartition) -> None:
    with admin(bootstrap) as client:
        assert client.delete_records({place: 12})[place]["low_watermark"] == 12
    assert [each.offset for each in read_from(bootstrap, place.topic, 0, 8)] == list(range(12, 20))
