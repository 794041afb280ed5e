"""Reading, and with it building: one is the other's best test, and other implementations are both's."""

import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.records.helpers import (
    NOW_MS,
    ORACLES,
    ORACLES_AND_CODECS,
    PLENTY,
    built_by,
    changed,
    numbered,
    placed,
    read_by,
    record_lists,
)

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import HEADER_SIZE, MAX_RECORDS, Batch
from millstream.records.build import NewRecord, build, seal, varint
from millstream.records.compression import Codec, compress
from millstream.records.read import read

ATTRIBUTES_AT = 21

producers = st.tuples(st.integers(0, 2**62), st.integers(0, 99), st.integers(0, 99))


@pytest.mark.parametrize(("oracle", "codec"), ORACLES_AND_CODECS)
@settings(max_examples=25)
@given(records=record_lists)
def test_reads_what_others_build(oracle: str, codec: Codec, records: list[NewRecord]) -> None:
    batch = Batch(built_by(oracle, records, codec))
    batch.check()
    batch.check_from_client()

    # kafka-python leaves a batch as it was where compression would only make it longer.
    assert batch.codec is codec or oracle == "kafka-python"
    assert read(batch, max_bytes=PLENTY) == placed(records)


@pytest.mark.parametrize(("oracle", "codec"), ORACLES_AND_CODECS)
@settings(max_examples=25)
@given(records=record_lists, base_offset=st.integers(0, 2**62))
def test_others_read_what_we_build(
    oracle: str, codec: Codec, records: list[NewRecord], base_offset: int
) -> None:
    data = build(records, codec=codec, now_ms=NOW_MS, base_offset=base_offset)

    assert read_by(oracle, data) == placed(records, base_offset)


@given(
    records=record_lists, producer=st.tuples(st.integers(0, 2**62), st.integers(0, 99), st.integers(0, 99))
)
def test_builds_byte_for_byte_what_others_build(
    records: list[NewRecord], producer: tuple[int, int, int]
) -> None:
    producer_id, producer_epoch, base_sequence = producer
    ours = build(
        records,
        now_ms=NOW_MS,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=True,
    )
    Batch(ours).stamp(0, 0)

    for oracle in ORACLES:
        theirs = bytearray(built_by(oracle, records, Codec.NONE, producer, transactional=True))
        Batch(theirs).stamp(0, 0)
        assert ours == theirs, oracle


@pytest.mark.parametrize("codec", Codec)
@settings(max_examples=25)
@given(records=record_lists)
def test_reads_what_it_built(codec: Codec, records: list[NewRecord]) -> None:
    assert read(Batch(build(records, codec=codec, now_ms=NOW_MS)), max_bytes=PLENTY) == placed(records)


@given(number=st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**15), 2**15))
@example(2**63 - 1)
@example(-(2**63))
def test_varints_of_every_length_are_read_back(number: int) -> None:
    base = -1 if number >= 0 else 0  # so that base and delta together stay within 64 bits
    records = [NewRecord(None, None, (), base), NewRecord(None, None, (), base + number)]

    assert read(Batch(build(records, now_ms=NOW_MS)), max_bytes=PLENTY) == placed(records)


def test_records_without_a_time_get_that_of_building() -> None:
    records = [NewRecord(b"k", b"v"), NewRecord(b"k", b"v", (), NOW_MS + 5)]
    batch = Batch(build(records, now_ms=NOW_MS))

    assert (batch.base_timestamp_ms, batch.max_timestamp_ms) == (NOW_MS, NOW_MS + 5)
    assert [record.timestamp_ms for record in read(batch, max_bytes=PLENTY)] == [NOW_MS, NOW_MS + 5]


def test_control_batches_are_marked_and_readable() -> None:
    key = struct.pack(">hh", 0, 1)
    batch = Batch(build([NewRecord(key, bytes(6))], now_ms=NOW_MS, control=True, transactional=True))

    batch.check()
    assert batch.is_control
    assert batch.is_transactional
    assert read(batch, max_bytes=PLENTY)[0].key == key


@pytest.mark.parametrize("codec", Codec)
def test_unpacks_no_more_than_it_may(codec: Codec) -> None:
    batch = Batch(build([NewRecord(None, bytes(10_000))], codec=codec, now_ms=NOW_MS))

    with pytest.raises(Refused) as refusal:
        read(batch, max_bytes=10_000)
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", Codec)
def test_records_cut_short_are_refused_wherever_the_cut(codec: Codec) -> None:
    whole = numbered(3, codec=codec)
    for size in range(HEADER_SIZE, len(whole)):
        cut = whole[:size]
        seal(cut, 0, 0)
        with pytest.raises(Refused):
            read(Batch(cut), max_bytes=PLENTY)


@pytest.mark.parametrize("codec", Codec)
@settings(max_examples=30)
@given(data=st.data())
def test_nothing_but_a_refusal_comes_of_damage(codec: Codec, data: st.DataObject) -> None:
    good = build(data.draw(record_lists), codec=codec, now_ms=NOW_MS)
    at = data.draw(st.integers(ATTRIBUTES_AT, len(good) - 1))
    bad = changed(good, at, data.draw(st.binary(min_size=1, max_size=min(8, len(good) - at))))

    try:
        records = read(Batch(bad), max_bytes=1 << 20)
    except Refused:
        return
    offsets = [record.offset for record in records]
    assert offsets == sorted(set(offsets))
    assert all(0 <= offset <= Batch(bad).last_offset for offset in offsets)


# One record: length 12, attributes, timestamp, offset, key "k", value "v", one header "h" -> "x".
RECORD = bytes((24, 0, 0, 0, 2, 107, 2, 118, 2, 2, 104, 2, 120))


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(RECORD + b"\0", id="bytes-left-over"),
        pytest.param(b"\x1a" + RECORD[1:], id="length-beyond-the-end"),
        pytest.param(b"\x16" + RECORD[1:], id="fields-beyond-the-length"),
        pytest.param(b"\x19" + RECORD[1:], id="negative-length"),
        pytest.param(RECORD[:3] + b"\x02" + RECORD[4:], id="offset-beyond-the-batch"),
        pytest.param(RECORD[:3] + b"\x01" + RECORD[4:], id="offset-before-the-batch"),
        pytest.param(RECORD[:4] + b"\x7e" + RECORD[5:], id="key-beyond-the-end"),
        pytest.param(RECORD[:8] + b"\x03" + RECORD[9:], id="minus-two-headers"),
        pytest.param(RECORD[:8] + b"\x04" + RECORD[9:], id="headers-beyond-the-end"),
        pytest.param(RECORD[:9] + b"\x03" + RECORD[10:], id="header-without-a-name"),
        pytest.param(RECORD[:11] + b"\x04" + RECORD[12:], id="header-value-beyond-the-end"),
        pytest.param(b"\x1a" + RECORD[1:11] + b"\x04x", id="last-value-and-length-beyond-the-end"),
        pytest.param(b"\x98\x80\x80\x80\x80" + RECORD[1:], id="varint-without-end"),
        pytest.param(b"\x98\x80\x80\x80\x80\x00" + RECORD[1:], id="varint-of-six-bytes"),
        pytest.param(b"\x2c\x00" + b"\x80" * 10 + b"\x00" + RECORD[3:], id="varint-of-eleven-bytes"),
        pytest.param(
            b"\x2a\x00" + b"\xfe" + b"\xff" * 8 + b"\x7f" + RECORD[3:], id="timestamp-beyond-64-bits"
        ),
    ],
)
def test_refuses_records_that_do_not_add_up(records: bytes) -> None:
    assert read(_batch_of(RECORD, 1), max_bytes=PLENTY)[0].headers == (("h", b"x"),)

    with pytest.raises(Refused) as refusal:
        read(_batch_of(records, 1), max_bytes=PLENTY)
    assert refusal.value.code is ErrorCode.INVALID_RECORD


def test_any_negative_length_is_null_as_it_is_to_java() -> None:
    record = _batch_of(bytes((12, 0, 0, 0, 5, 7, 0)), 1)

    assert read(record, max_bytes=PLENTY)[0].key is None
    assert read(record, max_bytes=PLENTY)[0].value is None


def test_offsets_rise() -> None:
    same = bytes((12, 0, 0, 0, 1, 1, 0))
    with pytest.raises(Refused, match="offset delta 0, after 0"):
        read(_batch_of(same + same, 2), max_bytes=PLENTY)


def test_a_header_name_that_is_no_text_does_not_hide_the_record() -> None:
    record = _batch_of(RECORD.replace(b"h", b"\xff"), 1)

    assert read(record, max_bytes=PLENTY)[0].headers == (("\ufffd", b"x"),)


@pytest.mark.parametrize("records", [1, 2])
def test_many_headers_in_few_bytes_are_refused_before_they_take_memory(records: int) -> None:
    count = MAX_RECORDS // records + 1
    bodies = [bytes((0, 0, n * 2, 1, 1)) + varint(count) + b"\0\1" * count for n in range(records)]
    packed = compress(Codec.ZSTD, b"".join(varint(len(body)) + body for body in bodies))
    assert len(packed) < 1000

    with pytest.raises(Refused) as refusal:
        read(_batch_of(packed, records, Codec.ZSTD), max_bytes=PLENTY)
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_many_records_in_few_bytes_are_refused_before_they_take_memory() -> None:
    count = MAX_RECORDS + 1
    packed = compress(Codec.ZSTD, bytes((12, 0, 0, 0, 1, 1, 0)) * count)

    with pytest.raises(Refused) as refusal:
        read(_batch_of(packed, count, Codec.ZSTD), max_bytes=PLENTY)
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_more_records_than_bytes_are_refused_before_they_are_counted() -> None:
    with pytest.raises(Refused, match="records in 13 bytes"):
        read(_batch_of(RECORD, 2**31 - 1), max_bytes=PLENTY)


def _batch_of(records: bytes, count: int, codec: Codec = Codec.NONE) -> Batch:
    """A batch whose header and checksum are right, whatever *records* are."""
    data = bytearray(HEADER_SIZE) + records
    struct.pack_into(">hiqqqhii", data, ATTRIBUTES_AT, codec, count - 1, 1, 1, -1, -1, -1, count)
    seal(data, 0, 0)
    return Batch(data)
