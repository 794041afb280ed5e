import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records.helpers import NOW_MS, PLENTY, changed, numbered, placed, record_lists

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import CODEC_BITS, Batch
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.records.read import read
from millstream.records.verify import InvalidRecords, recompress, verify_records

LAST_OFFSET_DELTA_AT = 23
KEPT = (
    "base_offset",
    "leader_epoch",
    "last_offset_delta",
    "base_timestamp_ms",
    "max_timestamp_ms",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)


@settings(max_examples=50)
@given(records=record_lists, need_keys=st.booleans())
def test_names_every_record_without_a_key_where_keys_are_needed(
    records: list[NewRecord], need_keys: bool
) -> None:
    batch = Batch(build(records, now_ms=NOW_MS, base_offset=40))
    keyless = tuple(index for index, record in enumerate(records) if record.key is None)

    if not (need_keys and keyless):
        assert verify_records(batch, max_bytes=PLENTY, need_keys=need_keys) == placed(records, 40)
        return
    with pytest.raises(InvalidRecords) as refusal:
        verify_records(batch, max_bytes=PLENTY, need_keys=True)
    assert refusal.value.code is ErrorCode.INVALID_RECORD
    assert tuple(index for index, _ in refusal.value.record_errors) == keyless


def test_a_long_list_of_errors_is_cut() -> None:
    batch = Batch(build([NewRecord(None, b"v")] * 5000, now_ms=NOW_MS))

    with pytest.raises(InvalidRecords, match="5000 of 5000 records") as refusal:
        verify_records(batch, max_bytes=PLENTY, need_keys=True)
    assert len(refusal.value.record_errors) == 1000


@pytest.mark.parametrize("codec", Codec)
def test_a_gap_between_offsets_is_refused(codec: Codec) -> None:
    """On disk, after compaction, it is as it should be; from a client it is not."""
    uncompressed = numbered(4)
    gap = changed(uncompressed, LAST_OFFSET_DELTA_AT, struct.pack(">i", 9))
    delta_at = uncompressed.index(b"\x04\x0akey 2")
    batch = Batch(recompress(Batch(changed(gap, delta_at, b"\x05")), codec, PLENTY))
    with pytest.raises(Refused, match="record 2 has offset delta -3"):
        verify_records(batch, max_bytes=PLENTY, need_keys=False)

    shifted = changed(changed(gap, uncompressed.index(b"\x06\x0akey 3"), b"\x0a"), delta_at, b"\x08")
    batch = Batch(recompress(Batch(shifted), codec, PLENTY))
    assert [record.offset for record in read(batch, max_bytes=PLENTY)] == [0, 1, 4, 5]
    with pytest.raises(InvalidRecords) as refusal:
        verify_records(batch, max_bytes=PLENTY, need_keys=False)
    assert refusal.value.record_errors == ((2, "record 2 has offset delta 4"),)


@pytest.mark.parametrize("old", Codec)
@pytest.mark.parametrize("new", Codec)
def test_recompressing_changes_the_codec_and_nothing_else(old: Codec, new: Codec) -> None:
    producer = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 11, "transactional": True}
    data = numbered(20, codec=old, base_offset=100, **producer)
    batch = Batch(data)
    batch.stamp(500, 8)
    batch.stamp_append_time(NOW_MS + 5)

    again = Batch(recompress(batch, new, PLENTY))

    again.check()
    assert again.codec is new
    assert again.attributes & ~CODEC_BITS == batch.attributes & ~CODEC_BITS
    for field in KEPT:
        assert getattr(again, field) == getattr(batch, field), field
    assert read(again, max_bytes=PLENTY) == read(batch, max_bytes=PLENTY)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_recompressing_unpacks_no_more_than_it_may(codec: Codec) -> None:
    batch = Batch(build([NewRecord(None, bytes(10_000))], codec=codec, now_ms=NOW_MS))

    with pytest.raises(Refused) as refusal:
        recompress(batch, Codec.NONE, 10_000)
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
