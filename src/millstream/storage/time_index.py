"""When in a segment a timestamp was first reached, to within a few kilobytes.

Timestamps come from producers and need not rise; the highest so far does, and
that is what is noted; -1, which stands for no timestamp, is not. In the file
Kafka's own format, entries of twelve bytes:

    0  i64  highest timestamp so far
    8  i32  last offset of the batch that has it, less the segment's base offset

Written when the segment is closed, its last entry is the segment's highest
timestamp: retention goes by it.
"""

from array import array
from bisect import bisect_left
from typing import Final, final

from millstream.storage.offset_index import SWAP, rises

ENTRY_SIZE: Final = 12
assert array("q").itemsize == 8


@final
class TimeIndex:
    """Both columns rise strictly."""

    __slots__ = ("_base_offset", "_offsets", "_timestamps")

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("I")

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, -1) if there is none."""
        if not self._timestamps:
            return -1, -1
        return self._timestamps[-1], self._offsets[-1] + self._base_offset

    def add(self, timestamp_ms: int, last_offset: int) -> None:
        """Note the highest timestamp so far and where it is, unless that is known already."""
        if timestamp_ms > (self._timestamps[-1] if self._timestamps else -1):
            self._timestamps.append(timestamp_ms)
            self._offsets.append(last_offset - self._base_offset)

    def before(self, timestamp_ms: int) -> int:
        """An offset up to which every record is older than *timestamp_ms*; -1 if none is known."""
        at = bisect_left(self._timestamps, timestamp_ms) - 1
        return self._offsets[at] + self._base_offset if at >= 0 else -1

    def before_offset(self, offset: int) -> tuple[int, int]:
        """(timestamp, offset) of the last entry below *offset*; (-1, -1) if there is none."""
        at = bisect_left(self._offsets, offset - self._base_offset) - 1
        if at < 0:
            return -1, -1
        return self._timestamps[at], self._offsets[at] + self._base_offset

    def truncate(self, offset: int) -> None:
        """Forget entries at or beyond *offset*."""
        keep = bisect_left(self._offsets, offset - self._base_offset)
        del self._timestamps[keep:]
        del self._offsets[keep:]

    def to_bytes(self) -> bytes:
        """The index as it is kept in its file."""
        out = bytearray(ENTRY_SIZE * len(self._timestamps))
        _lay(out, 0, self._timestamps)
        _lay(out, 8, self._offsets)
        return bytes(out)

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes, next_offset: int) -> "TimeIndex | None":
        """The index in *data*, of a segment that ends before *next_offset*; None if it cannot be one."""
        if len(data) % ENTRY_SIZE:
            return None
        index = cls(base_offset)
        _lift(data, 0, index._timestamps)
        _lift(data, 8, index._offsets)
        if len(index) and not (index._timestamps[0] >= 0 and index.last[1] < next_offset):
            return None
        return index if rises(index._timestamps) and rises(index._offsets) else None


# A column at a time: a byte of every entry is one slice, so the work is done in C.


def _lay(out: bytearray, at: int, column: "array[int]") -> None:
    column = column[:]
    if SWAP:
        column.byteswap()
    data = column.tobytes()
    for byte in range(column.itemsize):
        out[at + byte :: ENTRY_SIZE] = data[byte :: column.itemsize]


def _lift(data: bytes, at: int, column: "array[int]") -> None:
    out = bytearray(len(data) // ENTRY_SIZE * column.itemsize)
    for byte in range(column.itemsize):
        out[byte :: column.itemsize] = data[at + byte :: ENTRY_SIZE]
    column.frombytes(out)
    if SWAP:
        column.byteswap()
