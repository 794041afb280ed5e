"""Where the records of a batch lie, without taking them apart: for who moves records and looks at keys only.

Compaction asks this of every record of a log, twice. So it is done by `_native.c`
where that was built, as far as the records are ordinary; the rest, and all of it
where it was not, is done here.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from millstream.records import _native
else:
    try:
        from millstream.records import _native
    except ImportError:
        _native = None

Piece = tuple[int, int, int, bytes | None, bool]
"""Where a record starts, its timestamp and offset less the batch's, its key, and whether it has a value.

It ends where the next one starts. Plain tuples, for they are made by the million.
"""

_INT32_MAX: Final = (1 << 31) - 1
_NATIVE: Final = getattr(_native, "pieces", None)  # None where it was not built


def pieces_of(count: int, data: bytes) -> list[Piece]:
    """The *count* records in *data*, which are not compressed; IndexError if they do not fill it."""
    if _NATIVE is not None and 0 <= count <= _INT32_MAX:
        found: list[Piece] | None = _NATIVE(data, count)
        if found is not None:
            return found
    return plain_pieces(count, data)


def plain_pieces(count: int, data: bytes) -> list[Piece]:
    """The same, in Python alone."""
    pieces: list[Piece] = []
    at = 0
    size = len(data)
    for _ in range(count):
        start = at
        n = data[at]
        at += 1
        if n > 0x7F:
            if data[at] > 0x7F:
                n, at = _rest(data, at, n)
            else:  # as most records have it
                n = n & 0x7F | data[at] << 7
                at += 1
        end = at + (n >> 1)
        if n & 1 or end > size:
            raise IndexError

        n = data[at + 1]  # after the attributes, of which there are none yet
        at += 2
        if n > 0x7F:
            n, at = _rest(data, at, n)
        timestamp_delta = (n >> 1) ^ -(n & 1)

        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _rest(data, at, n)
        offset_delta = (n >> 1) ^ -(n & 1)

        n = data[at]
        at += 1
        if n > 0x7F:
            n, at = _rest(data, at, n)
        key = None
        if not n & 1:
            key = data[at : at + (n >> 1)]
            at += n >> 1

        if at >= end:
            raise IndexError
        pieces.append((start, timestamp_delta, offset_delta, key, not data[at] & 1))
        at = end
    if at != size:
        raise IndexError
    return pieces


def varint_at(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint and where it ends."""
    n = data[at]
    at += 1
    if n > 0x7F:
        n, at = _rest(data, at, n)
    return (n >> 1) ^ -(n & 1), at


def _rest(data: bytes, at: int, first: int) -> tuple[int, int]:
    """The rest of a varint after its *first* byte, before zigzag; and where it ends."""
    number = first & 0x7F
    shift = 7
    while True:
        n = data[at]
        at += 1
        number |= (n & 0x7F) << shift
        if n < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise IndexError
