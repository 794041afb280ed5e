"""Each primitive by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import Refused
from millstream.wire.primitives import (
    MAX_OBJECTS,
    Reader,
    long_uvarint,
    size_of,
    write_bytes,
    write_compact_string,
    write_records,
    write_string,
    write_tags,
    write_uvarint,
    write_varint,
)


@given(st.integers(0, (1 << 32) - 1))
def test_a_uvarint_comes_back(value: int) -> None:
    out = bytearray()
    write_uvarint(out, value)

    reader = Reader(out)
    assert reader.uvarint() == value
    assert reader.remaining() == 0
    if value > 127:
        assert long_uvarint(memoryview(out), 1, out[0]) == (value, len(out))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_a_varlong_comes_back(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert Reader(out).varlong() == value
    if -(1 << 31) <= value < 1 << 31:
        assert Reader(out).varint() == value
    else:
        with pytest.raises(Refused):
            Reader(out).varint()


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (-(1 << 31), "ffffffff0f")],
)
def test_zigzag(value: int, encoded: str) -> None:
    out = bytearray()
    write_varint(out, value)
    assert out.hex() == encoded


@pytest.mark.parametrize("data", [b"\x80" * 5, b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x01", b"\x80"])
def test_a_uvarint_that_is_too_long_is_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        Reader(data).uvarint()
    with pytest.raises((Refused, IndexError)):
        long_uvarint(memoryview(data), 1, data[0])


@given(st.text() | st.none())
def test_a_string_comes_back(text: str | None) -> None:
    older, compact = bytearray(), bytearray()
    write_string(older, text)
    write_compact_string(compact, text)

    assert Reader(older).nullable_string() == text
    assert Reader(compact).compact_nullable_string() == text
    if text is None:
        for read in (Reader(older).string, Reader(compact).compact_string):
            with pytest.raises(Refused):
                read()
    else:
        assert Reader(older).string() == Reader(compact).compact_string() == text


@given(st.binary() | st.none())
def test_bytes_come_back(data: bytes | None) -> None:
    out = bytearray()
    write_bytes(out, data)
    assert Reader(out).nullable_bytes() == data
    if data is not None:
        assert Reader(out).bytes() == data


def test_numbers() -> None:
    reader = Reader(bytes.fromhex("ff 80 8000 ffff 80000000 ffffffff 8000000000000000 3fe0000000000000 00"))
    assert reader.boolean() is True
    assert reader.int8() == -128
    assert reader.int16() == -32768
    assert reader.uint16() == 65535
    assert reader.int32() == -(1 << 31)
    assert reader.uint32() == (1 << 32) - 1
    assert reader.int64() == -(1 << 63)
    assert reader.float64() == 0.5
    assert reader.boolean() is False
    reader.finish()


def test_a_reader_ends_where_it_is_told() -> None:
    reader = Reader(b"abcdef", position=1, end=4)
    assert bytes(reader.raw(3)) == b"bcd"
    with pytest.raises(Refused):
        reader.raw(1)


def test_raw_bytes_are_not_copied() -> None:
    data = bytearray(b"abc")
    view = Reader(data).raw(2)
    data[0] = 120
    assert bytes(view) == b"xb"


def test_what_is_left_over_is_refused() -> None:
    with pytest.raises(Refused, match="3 bytes follow"):
        Reader(b"abc").finish()


@pytest.mark.parametrize("count", [-2, 3, MAX_OBJECTS + 1, (1 << 31) - 1])
def test_a_count_that_cannot_be_is_refused(count: int) -> None:
    data = count.to_bytes(4, signed=True) + bytes(8)
    with pytest.raises(Refused):
        Reader(data).array(min_size=4)


def test_counts() -> None:
    assert Reader(b"\0\0\0\x02" + bytes(8)).array(min_size=4) == 2
    assert Reader(b"\xff\xff\xff\xff").array(min_size=4) == -1
    assert Reader(b"\x03" + bytes(8)).compact_array(min_size=4) == 2
    assert Reader(b"\x00").compact_array(min_size=4) == -1


def test_tags_are_skipped() -> None:
    out = bytearray()
    write_tags(out, [(3, bytearray(b"abc")), (300, bytearray(200))])
    reader = Reader(out + b"!")
    reader.skip_tags()
    assert bytes(reader.raw(1)) == b"!"


@pytest.mark.parametrize("tags", ["80", "01", "0180", "018080", "010180", "02050003"])
def test_tags_cut_short_are_refused(tags: str) -> None:
    with pytest.raises(Refused):
        Reader(bytes.fromhex(tags)).skip_tags()


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_a_uvarint_out_of_range_is_our_bug(value: int) -> None:
    with pytest.raises(ValueError, match="uint32"):
        write_uvarint(bytearray(), value)


def test_a_string_too_long_for_older_versions_is_our_bug() -> None:
    with pytest.raises(ValueError, match="32768 bytes"):
        write_string(bytearray(), "x" * 32768)


class Elsewhere:
    size = 7


def test_records_elsewhere_are_laid_beside() -> None:
    out, there = bytearray(b"head"), Elsewhere()
    pieces: list[object] = []
    assert size_of(there) == 7
    assert write_records(out, there, pieces) == b""  # type: ignore[arg-type]
    assert pieces == [b"head", there]
    with pytest.raises(ValueError, match="pieces"):
        write_records(out, there, None)
