import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.helpers import NOW, make_batch

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import Batch
from millstream.records.runs import Run, Sender
from millstream.storage.producers import REMEMBERED, Producers


def send(offset: int, sequence: int, records: int = 1, *, id: int = 7, epoch: int = 0) -> Batch:
    return make_batch(offset, [b"v"] * records, producer=(id, epoch, sequence))


def written(*batches: Batch) -> Producers:
    producers = Producers()
    for batch in batches:
        assert producers.check(batch) is None
        producers.apply(batch, NOW)
    return producers


def refusal(producers: Producers, batch: Batch) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        producers.check(batch)
    return caught.value.code


def test_a_batch_sent_again_went_where_it_went() -> None:
    producers = written(send(0, 0, 3), send(3, 3, 2), send(5, 5))

    for sequence, records, offset in ((0, 3, 0), (3, 2, 3), (5, 1, 5)):
        earlier = producers.check(send(99, sequence, records))
        assert earlier is not None
        assert earlier.base_offset == offset


def test_remembers_five_batches() -> None:
    producers = written(*[send(n, n) for n in range(8)])

    assert [producers.check(send(99, n)) is not None for n in range(8 - REMEMBERED, 8)] == [True] * 5
    assert refusal(producers, send(99, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("sequence", [0, 1, 3, 5, 6])
def test_only_the_next_sequence_will_do(sequence: int) -> None:
    producers = written(send(0, 0, 4))  # 0 to 3, so 4 is next

    assert refusal(producers, send(4, sequence)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(send(4, 4)) is None


def test_the_same_start_with_another_end_is_not_the_same_batch() -> None:
    producers = written(send(0, 0, 4))

    assert refusal(producers, send(4, 0, 3)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.sampled_from([0, 1000, (1 << 31) - 20]),
)
def test_a_run_is_noted_as_its_batches_would_be(before: list[int], counts: list[int], sequence: int) -> None:
    one_by_one, together = Producers(), Producers()
    offset, bases = 50, []
    for count in before:
        for each in (one_by_one, together):
            each.apply(send(offset, sequence, count), NOW)
        sequence, offset = sequence + count & 0x7FFFFFFF, offset + count
    sender = together.sender(7, 0)
    assert sender == Sender(7, 0, sequence)
    first = offset
    for count in counts:
        bases.append(offset)
        batch = send(offset, sequence, count)
        assert one_by_one.check(batch) is None
        one_by_one.apply(batch, NOW + 5)
        sequence, offset = sequence + count & 0x7FFFFFFF, offset + count

    together.note_run(
        Run(0, (), 0, len(counts), first, offset, (0, 0), (), b"", sender, bases[-REMEMBERED:]), NOW + 5
    )

    assert together.to_bytes() == one_by_one.to_bytes()


def test_who_must_be_asked_more_than_its_sequence_is_no_sender() -> None:
    producers = written(send(0, 0, epoch=3), make_batch(1, producer=(8, 0, 0), transactional=True))

    assert producers.sender(7, 3) == Sender(7, 3, 1)
    assert [producers.sender(7, 2), producers.sender(7, 4)] == [None, None]
    assert producers.sender(8, 0) is None  # in a transaction
    assert producers.sender(9, 0) is None


def test_an_older_epoch_is_fenced() -> None:
    producers = written(send(0, 0, epoch=3))

    assert refusal(producers, send(1, 1, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_newer_epoch_begins_at_zero() -> None:
    producers = written(send(0, 0), send(1, 1))

    assert refusal(producers, send(2, 2, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(send(2, 0, epoch=1)) is None
    producers.apply(send(2, 0, epoch=1), NOW)
    assert refusal(producers, send(3, 2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producers.check(send(3, 1, epoch=1)) is None


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert Producers().check(send(0, 4711)) is None


def test_sequences_begin_again_after_the_last() -> None:
    last = (1 << 31) - 1
    producers = written(send(0, last - 1, 4))  # last - 1, last, 0, 1

    assert producers.check(send(4, 2)) is None
    assert refusal(producers, send(4, last)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(send(9, last - 1, 4)) is not None


def test_those_who_do_not_count_are_not_remembered() -> None:
    producers = written(make_batch(0), make_batch(1))

    assert len(producers) == 0


def test_idle_producers_are_forgotten() -> None:
    producers = written(send(0, 0, id=1))
    producers.apply(send(1, 0, id=2), NOW + 50)

    assert producers.expire(NOW + 100, idle_ms=100) == 1
    assert list(producers.known()) == [2]


def test_a_broker_given_time_is_given_again() -> None:
    batch = send(0, 0)
    batch.stamp_append_time(NOW + 5)
    producers = written(batch)

    earlier = producers.check(send(9, 0))
    assert earlier is not None
    assert earlier.append_time_ms == NOW + 5


def test_a_control_batch_tells_only_an_epoch() -> None:
    producers = written(send(0, 0))
    producers.apply(make_batch(1, producer=(7, 1, -1), control=True), NOW)

    assert producers.known() == {7: (1, [])}
    assert producers.check(make_batch(2, producer=(7, 0, -1), control=True)) is None
    assert producers.check(send(2, 0, epoch=1)) is None


SENT = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=30)


@given(SENT)
def test_comes_back_from_a_snapshot(sent: list[tuple[int, int]]) -> None:
    producers, next_sequence, offset = Producers(), [0] * 4, 0
    for id, records in sent:
        producers.apply(send(offset, next_sequence[id], records, id=id), NOW)
        next_sequence[id] += records
        offset += records
    again = Producers.from_bytes(producers.to_bytes())

    assert again is not None
    assert again.known() == producers.known()
    assert again.to_bytes() == producers.to_bytes()


@given(st.data())
def test_a_snapshot_that_has_changed_is_none(data: st.DataObject) -> None:
    whole = written(send(0, 0), send(1, 1), send(2, 0, id=8)).to_bytes()
    position = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[position] ^= 1 << data.draw(st.integers(0, 7))

    assert Producers.from_bytes(bytes(flipped)) is None
    assert Producers.from_bytes(whole[:position]) is None


def test_all_that_is_remembered_must_stay_in_a_compacted_log() -> None:
    producers = written(*[send(10 * number, number) for number in range(REMEMBERED + 2)])
    kept = producers.last_words()
    assert kept.offsets == {10 * number for number in range(2, REMEMBERED + 2)}
    assert kept.epochs == {}
