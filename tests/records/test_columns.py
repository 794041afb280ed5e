"""Columns are what `read` makes of the same bytes, by whichever way; damage is refused alike."""

import os
import shutil
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.records.helpers import NOW_MS, PLENTY, changed, numbered, record_lists

from millstream.errors import ErrorCode, Refused
from millstream.records import columns
from millstream.records.batch import HEADER_SIZE, Batch, split
from millstream.records.build import NewRecord, build, seal
from millstream.records.columns import MAX_OFFSET, NATIVE, SCHEMA, SCHEMA_WITH_HEADERS, Decoder, end_offset
from millstream.records.compression import Codec
from millstream.records.read import read

ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
BASE_TIMESTAMP_AT = 27

needs_native = pytest.mark.skipif(NATIVE is None, reason="the native part was not built: no C compiler?")
WAYS = [pytest.param(True, id="plain"), pytest.param(False, id="native", marks=needs_native)]

flags = st.fixed_dictionaries(
    {"transactional": st.booleans(), "control": st.sampled_from([False] * 4 + [True])}
)


@st.composite
def runs(draw: st.DrawFn) -> bytes:
    """Batches one after another as they lie in a log: of any codec, with gaps, some of them markers."""
    out = bytearray()
    offset = draw(st.integers(0, 2**40))
    for records in draw(st.lists(record_lists, max_size=5)):
        codec = draw(st.sampled_from([Codec.NONE, Codec.NONE, *Codec]))
        data = build(records, codec=codec, now_ms=NOW_MS, base_offset=offset, **draw(flags))
        if draw(st.booleans()):
            Batch(data).stamp_append_time(NOW_MS + 99)
        gap = draw(st.integers(0, 3))
        data = changed(data, LAST_OFFSET_DELTA_AT, struct.pack(">i", len(records) - 1 + gap))
        out += data
        offset += len(records) + gap + draw(st.integers(0, 3))
    return bytes(out)


def expected(run: bytes, first: int = 0, until: int = MAX_OFFSET) -> Iterator[tuple[Any, ...]]:
    """The rows that *run* holds, found record by record."""
    for batch in split(run):
        if batch.is_control or batch.last_offset < first:
            continue
        if batch.base_offset >= until:
            return
        batch.check(allow_empty=True)
        for each in read(batch, max_bytes=PLENTY):
            if first <= each.offset < until:
                headers = [{"key": name, "value": value} for name, value in each.headers]
                micros = columns.microseconds(each.timestamp_ms)
                kind = int(batch.log_append_time)
                yield each.key, each.value, "orders", 7, each.offset, micros, kind, headers or None


def rows(run: bytes, plain: bool, first: int = 0, until: int = MAX_OFFSET) -> list[tuple[Any, ...]]:
    """The rows of *run* by way of columns, which are valid and of the schema that was promised."""
    found: list[tuple[Any, ...]] = []
    for batch in Decoder("orders", 7, headers=True, plain=plain).decode(run, first, until):
        batch.validate(full=True)
        assert batch.schema.equals(SCHEMA_WITH_HEADERS)
        assert batch.num_rows
        at = batch.schema.get_field_index("timestamp")
        batch = batch.set_column(at, "timestamp", batch.column(at).cast("int64"))
        found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return found


def outcome(found: Any) -> Any:
    """What *found* gives, or how it is refused."""
    try:
        return list(found())
    except Refused as refusal:
        return refusal.code, refusal.detail


@pytest.mark.parametrize("plain", WAYS)
@settings(max_examples=40)
@given(run=runs(), data=st.data())
def test_columns_are_what_reading_finds(plain: bool, run: bytes, data: st.DataObject) -> None:
    assert rows(run, plain) == list(expected(run))

    offsets = [row[4] for row in expected(run)] or [0]
    first = data.draw(st.integers(min(offsets) - 2, max(offsets) + 2))
    until = data.draw(st.integers(first, max(offsets) + 2))
    assert rows(run, plain, first, until) == list(expected(run, first, until))


@pytest.mark.parametrize("plain", WAYS)
@settings(max_examples=40)
@given(run=runs(), data=st.data())
def test_a_batch_cut_short_at_the_end_is_left_out(plain: bool, run: bytes, data: st.DataObject) -> None:
    cut = run[: data.draw(st.integers(0, len(run)))]

    assert rows(cut, plain) == list(expected(cut))


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unsealed"])
@settings(max_examples=50)
@given(records=record_lists, codec=st.sampled_from(Codec), data=st.data())
def test_damage_is_refused_as_reading_refuses_it(
    plain: bool, sealed: bool, records: list[NewRecord], codec: Codec, data: st.DataObject
) -> None:
    good = build(records, codec=codec, now_ms=NOW_MS)
    at = data.draw(st.integers(ATTRIBUTES_AT if sealed else 0, len(good) - 1))
    new = data.draw(st.binary(min_size=1, max_size=min(8, len(good) - at)))
    bad = bytearray(good)
    bad[at : at + len(new)] = new
    run = bytes(good + (changed(good, at, new) if sealed else bad))

    assert outcome(lambda: rows(run, plain)) == outcome(lambda: expected(run))


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize(
    "records",
    [
        pytest.param(bytes((12, 0, 0, 0, 1, 1, 0)), id="good"),
        pytest.param(bytes((12, 0, 0, 0, 5, 7, 0)), id="any-negative-length-is-null"),
        pytest.param(bytes((13, 0, 0, 0, 1, 1, 0)), id="negative-length"),
        pytest.param(bytes((14, 0, 0, 0, 1, 1, 0)), id="longer-than-it-is"),
        pytest.param(bytes((12, 0, 0, 2, 1, 1, 0)), id="offset-beyond-the-batch"),
        pytest.param(bytes((12, 0, 0, 1, 1, 1, 0)), id="offset-before-the-batch"),
        pytest.param(bytes((12, 0, 0, 0, 1, 1, 1)), id="negative-headers"),
        pytest.param(bytes((16, 0, 0, 0, 1, 1, 2, 1, 1)), id="header-without-a-name"),
        pytest.param(bytes((12, 0, 0, 0, 126, 1, 0)), id="key-beyond-the-end"),
        pytest.param(bytes((30, 0, *[0xFF] * 9, 1, 0, 1, 1, 0)), id="timestamp-of-64-bits"),
        pytest.param(bytes((30, 0, *[0xFF] * 9, 3, 0, 1, 1, 0)), id="timestamp-of-65-bits"),
        pytest.param(bytes((32, 0, *[0xFF] * 10, 1, 0, 1, 1, 0)), id="timestamp-of-11-bytes"),
        pytest.param(bytes((20, 0, 0, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0)), id="padded-varint"),
        pytest.param(bytes((22, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0)), id="varint-too-long"),
        pytest.param(bytes((12, 0, 0, 0, 1, 1, 0, 0)), id="bytes-left-over"),
        pytest.param(bytes((12, 0, 0, 0, 1, 1)), id="cut-short"),
        pytest.param(b"", id="nothing"),
    ],
)
@pytest.mark.parametrize("base_timestamp_ms", [0, -(2**63), 2**63 - 1])
def test_the_edges_of_the_format(plain: bool, records: bytes, base_timestamp_ms: int) -> None:
    data = build([NewRecord(None, None)], now_ms=0)[:HEADER_SIZE] + records
    struct.pack_into(">q", data, BASE_TIMESTAMP_AT, base_timestamp_ms)
    seal(data, 0, 0)
    run = bytes(data)

    assert outcome(lambda: rows(run, plain)) == outcome(lambda: expected(run))


@needs_native
@pytest.mark.parametrize("append_time", [False, True])
@settings(max_examples=20)
@given(records=record_lists)
def test_what_is_not_packed_is_decoded_natively(append_time: bool, records: list[NewRecord]) -> None:
    """Else the plain way would hide that the native one refuses everything."""
    assert NATIVE is not None
    data = build(records, now_ms=NOW_MS, transactional=True)
    if append_time:
        Batch(data).stamp_append_time(NOW_MS)

    found = NATIVE.decode(bytes(data) + numbered(3, base_offset=len(records)), 0, MAX_OFFSET, True, True)
    assert found is not None
    assert found[0] == len(records) + 3


@pytest.mark.parametrize("plain", WAYS)
def test_a_wrong_checksum_is_refused_even_if_the_records_look_right(plain: bool) -> None:
    data = bytearray(numbered(3))
    data[-2] ^= 1  # within a value

    with pytest.raises(Refused) as refusal:
        rows(bytes(data), plain)
    assert refusal.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("codec", Codec)
def test_header_names_that_are_no_text_are_made_text(plain: bool, codec: Codec) -> None:
    data = build([NewRecord(b"k", b"v", (("hä", b"1"), ("H", None)), NOW_MS)], codec=codec, now_ms=NOW_MS)
    odd = build([NewRecord(b"k", b"v", (("HH", b"1"),), NOW_MS)], now_ms=NOW_MS, base_offset=1)
    odd = changed(odd, bytes(odd).index(b"HH"), b"\xff\xfe")

    (_, first), (_, second) = [(row[4], row[7]) for row in rows(bytes(data + odd), plain)]
    assert first == [{"key": "hä", "value": b"1"}, {"key": "H", "value": None}]
    assert second == [{"key": "��", "value": b"1"}]


@pytest.mark.parametrize("plain", WAYS)
@settings(max_examples=20)
@given(ms=st.integers(-(2**63), 2**63 - 1))
@example(2**63 - 1)
@example(-(2**63))
def test_times_out_of_range_stay_at_its_ends(plain: bool, ms: int) -> None:
    data = build([NewRecord(None, None, (), ms)], now_ms=0)

    assert rows(bytes(data), plain)[0][5] == max(-(2**63) // 1000 + 1, min(ms, 2**63 // 1000)) * 1000


@pytest.mark.parametrize("plain", WAYS)
def test_unpacked_records_come_in_pieces(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_PIECE_BYTES", 1000)
    batches = [
        build([NewRecord(None, bytes(600))], codec=Codec.LZ4, now_ms=0, base_offset=n) for n in range(7)
    ]

    found = list(Decoder("orders", 7, plain=plain).decode(b"".join(batches)))
    assert [batch.num_rows for batch in found] == [2, 2, 2, 1]
    assert all(batch.schema.equals(SCHEMA) for batch in found)


@settings(max_examples=30)
@given(run=runs(), cut=st.integers(0, 10))
def test_where_to_go_on_is_after_the_last_whole_batch(run: bytes, cut: int) -> None:
    run = run[: len(run) - cut]
    ends = [batch.last_offset + 1 for batch in split(run)]

    assert end_offset(run, default=5) == (ends[-1] if ends else 5)


def test_a_malformed_run_has_no_end() -> None:
    data = numbered(1)
    struct.pack_into(">i", data, 8, -1)

    with pytest.raises(Refused):
        end_offset(bytes(data), default=0)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: apt-get install gcc")
@pytest.mark.skipif(os.environ.get("MILLSTREAM_NATIVE") == "skip", reason="MILLSTREAM_NATIVE=skip")
def test_the_native_part_is_built_where_there_is_a_compiler() -> None:
    assert NATIVE is not None
