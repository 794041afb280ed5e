"""Where records lie, by the native part and by Python alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.helpers import NOW_MS, record_lists

from millstream.records.batch import HEADER_SIZE, Batch
from millstream.records.build import NewRecord, build
from millstream.records.pieces import Piece, pieces_of, plain_pieces
from millstream.records.read import read


def either(count: int, data: bytes) -> list[list[Piece] | None]:
    """What the two ways make of it."""
    found: list[list[Piece] | None] = []
    for way in (pieces_of, plain_pieces):
        try:
            found.append(way(count, data))
        except IndexError:
            found.append(None)
    return found


@given(record_lists)
def test_are_the_records(records: list[NewRecord]) -> None:
    batch = Batch(build(records, now_ms=NOW_MS))
    data = bytes(batch.data[HEADER_SIZE:])
    found, plain = either(len(records), data)

    assert found == plain
    assert found is not None
    ends = [piece[0] for piece in found[1:]] + [len(data)]
    for piece, end, record in zip(found, ends, read(batch, max_bytes=1 << 20), strict=True):
        start, timestamp_delta, offset_delta, key, has_value = piece
        assert (key, has_value) == (record.key, record.value is not None)
        assert batch.base_offset + offset_delta == record.offset
        assert batch.base_timestamp_ms + timestamp_delta == record.timestamp_ms
        assert 0 <= start < end


@given(record_lists, st.data())
def test_damaged_they_are_the_same_for_both_or_none(records: list[NewRecord], data: st.DataObject) -> None:
    body = bytearray(build(records, now_ms=NOW_MS)[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    found, plain = either(data.draw(st.integers(0, len(records) + 1)), bytes(body[:cut]))

    assert found == plain


@given(st.binary(max_size=100), st.integers(-1, 12))
def test_any_bytes_are_the_same_for_both_or_none(data: bytes, count: int) -> None:
    found, plain = either(count, data)

    assert found == plain


def test_more_than_there_can_be_is_none() -> None:
    with pytest.raises(IndexError):
        pieces_of(1 << 31, b"\x0e" * 100)
