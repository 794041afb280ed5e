import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records.helpers import NOW_MS, ORACLES, PLENTY, built_by, changed, numbered, record_lists

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import HEADER_SIZE, MAX_RECORDS, Batch, split
from millstream.records.build import NewRecord, seal
from millstream.records.compression import Codec
from millstream.records.read import read

ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
PRODUCER_AT = 43
COUNT_AT = 57

producers = st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1), st.integers(0, 2**31 - 1))


def refused(data: bytes | bytearray, *, client: bool = True) -> ErrorCode:
    """How a batch is refused, by whichever step refuses it."""
    with pytest.raises(Refused) as refusal:
        batch = Batch(data)
        batch.check()
        if client:
            batch.check_from_client()
    return refusal.value.code


@pytest.mark.parametrize("oracle", ORACLES)
@settings(max_examples=40)
@given(records=record_lists, producer=producers, transactional=st.booleans())
def test_header_is_what_others_wrote(
    oracle: str, records: list[NewRecord], producer: tuple[int, int, int], transactional: bool
) -> None:
    data = built_by(oracle, records, Codec.NONE, producer, transactional)

    batch = Batch(data)
    batch.check()
    batch.check_from_client()

    assert batch.data == data
    assert batch.size == len(data)
    assert batch.record_count == len(records)
    assert batch.last_offset == len(records) - 1
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == producer
    assert batch.is_transactional is transactional
    assert batch.codec is Codec.NONE
    assert not batch.is_control
    assert not batch.log_append_time


def test_every_flipped_bit_is_found_but_in_what_the_leader_stamps() -> None:
    good = numbered(2)
    stamped = {*range(8), *range(12, 16)}
    for at in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[at] ^= 1 << bit
            if at in stamped:
                Batch(bad).check()
            else:
                refused(bad, client=False)


def test_every_cut_is_found() -> None:
    good = numbered(2)
    for size in range(len(good)):
        assert refused(good[:size]) is ErrorCode.CORRUPT_MESSAGE


def test_two_batches_are_not_one() -> None:
    assert refused(numbered(1) + numbered(1)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48, 2**31 - 1])
def test_absurd_lengths_are_corrupt(length: int) -> None:
    data = numbered(1)
    struct.pack_into(">i", data, 8, length)

    assert refused(data) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("size", [17, 40, 61, 200])
@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_other_formats_are_named_as_such_even_when_shorter_than_our_header(size: int, magic: int) -> None:
    data = bytearray(size)
    data[16] = magic

    assert refused(data) is ErrorCode.INVALID_RECORD


def test_last_sequence_wraps_to_zero() -> None:
    assert Batch(numbered(3, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)).last_sequence == 0
    assert Batch(numbered(3, producer_id=1, producer_epoch=0, base_sequence=7)).last_sequence == 9
    assert Batch(numbered(3)).last_sequence == -1


@pytest.mark.parametrize(
    ("at", "new", "code"),
    [
        pytest.param(ATTRIBUTES_AT, b"\0\x20", ErrorCode.INVALID_RECORD, id="control"),
        pytest.param(ATTRIBUTES_AT, b"\0\x08", ErrorCode.INVALID_TIMESTAMP, id="append-time"),
        pytest.param(ATTRIBUTES_AT, b"\0\x40", ErrorCode.INVALID_RECORD, id="delete-horizon"),
        pytest.param(ATTRIBUTES_AT, b"\0\x05", ErrorCode.INVALID_RECORD, id="codec-5"),
        pytest.param(ATTRIBUTES_AT, b"\0\x07", ErrorCode.INVALID_RECORD, id="codec-7"),
        pytest.param(LAST_OFFSET_DELTA_AT, struct.pack(">i", 3), ErrorCode.INVALID_RECORD, id="gap"),
        pytest.param(LAST_OFFSET_DELTA_AT, struct.pack(">i", 1), ErrorCode.INVALID_RECORD, id="overlap"),
        pytest.param(
            LAST_OFFSET_DELTA_AT, struct.pack(">i", -1), ErrorCode.INVALID_RECORD, id="negative-delta"
        ),
        pytest.param(COUNT_AT, struct.pack(">i", 0), ErrorCode.INVALID_RECORD, id="empty"),
        pytest.param(COUNT_AT, struct.pack(">i", -1), ErrorCode.INVALID_RECORD, id="negative-count"),
        pytest.param(PRODUCER_AT, struct.pack(">qhi", -1, -1, -2), ErrorCode.INVALID_RECORD, id="sequence"),
        pytest.param(PRODUCER_AT, struct.pack(">qhi", -2, -1, -1), ErrorCode.INVALID_RECORD, id="producer"),
        pytest.param(PRODUCER_AT, struct.pack(">qhi", 5, -1, 0), ErrorCode.INVALID_RECORD, id="no-epoch"),
        pytest.param(PRODUCER_AT, struct.pack(">qhi", 5, 0, -1), ErrorCode.INVALID_RECORD, id="no-sequence"),
    ],
)
def test_refuses_from_a_client(at: int, new: bytes, code: ErrorCode) -> None:
    assert refused(changed(numbered(3), at, new)) is code


@pytest.mark.parametrize("rest", [(-1, -1), (0, 0), (-1, 0)])
def test_epoch_and_sequence_mean_nothing_without_a_producer_id(rest: tuple[int, int]) -> None:
    """KafkaJS and Sarama leave zeroes there."""
    batch = Batch(changed(numbered(3), PRODUCER_AT, struct.pack(">qhi", -1, *rest)))

    batch.check()
    batch.check_from_client()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_client_cannot_claim_more_records_than_there_can_be(codec: Codec) -> None:
    """A batch nobody looks into would otherwise use up offsets at its own say-so."""
    most = MAX_RECORDS if codec else (len(numbered(3)) - HEADER_SIZE) // 7
    data = changed(numbered(3, codec=codec), COUNT_AT, struct.pack(">i", most + 1))

    assert refused(changed(data, LAST_OFFSET_DELTA_AT, struct.pack(">i", most))) is ErrorCode.INVALID_RECORD


def test_compacted_batches_may_have_gaps_and_if_allowed_be_empty() -> None:
    Batch(changed(numbered(3), LAST_OFFSET_DELTA_AT, struct.pack(">i", 9))).check()
    overlap = changed(numbered(3), LAST_OFFSET_DELTA_AT, struct.pack(">i", 1))
    assert refused(overlap, client=False) is ErrorCode.INVALID_RECORD

    empty = numbered(3)[:HEADER_SIZE]
    struct.pack_into(">i", empty, COUNT_AT, 0)
    seal(empty, 0, 0)
    Batch(empty).check(allow_empty=True)
    assert refused(empty, client=False) is ErrorCode.INVALID_RECORD
    assert read(Batch(empty), max_bytes=PLENTY) == []


@given(offset=st.integers(0, 2**63 - 1), epoch=st.integers(0, 2**31 - 1))
def test_stamping_keeps_the_checksum(offset: int, epoch: int) -> None:
    data = numbered(1)

    Batch(data).stamp(offset, epoch)

    stamped = Batch(data)
    stamped.check()
    assert (stamped.base_offset, stamped.leader_epoch) == (offset, epoch)


@pytest.mark.parametrize("codec", Codec)
def test_append_time_is_every_records_time(codec: Codec) -> None:
    data = numbered(3, codec=codec)
    batch = Batch(data)

    batch.stamp_append_time(NOW_MS + 99)

    again = Batch(data)
    again.check()
    assert again.log_append_time
    assert batch.crc == again.crc
    assert again.base_timestamp_ms == NOW_MS
    assert [record.timestamp_ms for record in read(again, max_bytes=PLENTY)] == [NOW_MS + 99] * 3


def test_splits_a_run_and_leaves_out_what_is_cut_short() -> None:
    batches = [numbered(n, base_offset=n * 10, codec=Codec(n % 5)) for n in range(1, 6)]
    run = b"".join(batches)
    last = len(run) - len(batches[-1])

    assert [bytes(batch.data) for batch in split(run)] == batches
    for end in range(last, len(run)):
        assert [batch.base_offset for batch in split(run[:end])] == [10, 20, 30, 40]


@pytest.mark.parametrize("length", [-(2**31), -150, -73, -12, -1, 0, 48])
def test_a_run_with_an_absurd_length_ends_in_a_refusal_not_a_loop(length: int) -> None:
    run = numbered(1) + numbered(1)
    struct.pack_into(">i", run, len(run) // 2 + 8, length)

    batches = split(run)
    next(batches)
    with pytest.raises(Refused):
        next(batches)
