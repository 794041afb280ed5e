"""Where in a segment an offset lies, to within a few kilobytes.

In memory two sorted columns, so that a search is one bisection in C; in the
file Kafka's own format, entries of eight bytes:

    0  i32  last offset of a batch, less the segment's base offset
    4  i32  position of that batch in the segment

An index can always be made again from the segment, so nothing here is believed
until it has been compared with the batch it points at.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final, final

ENTRY_SIZE: Final = 8
assert array("I").itemsize == 4
SWAP: Final = sys.byteorder == "little"


@final
class OffsetIndex:
    """Sparse: a batch every `index.interval.bytes` or so has an entry."""

    __slots__ = ("_base_offset", "_offsets", "_positions")

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._offsets = array("I")
        self._positions = array("I")

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def last_position(self) -> int:
        """Where the last batch with an entry lies; 0 if none has."""
        return self._positions[-1] if self._positions else 0

    def add(self, last_offset: int, position: int) -> None:
        """Note the batch at *position*, which ends with *last_offset*."""
        self._offsets.append(last_offset - self._base_offset)
        self._positions.append(position)

    def add_all(self, last_offsets: Iterable[int], positions: Iterable[int]) -> None:
        """As `add`, for many."""
        base_offset = self._base_offset
        self._offsets.extend([offset - base_offset for offset in last_offsets])
        self._positions.extend(positions)

    def before(self, offset: int) -> tuple[int, int]:
        """(last offset, position) of the last noted batch that ends at or before *offset*, or (-1, 0)."""
        at = bisect_right(self._offsets, offset - self._base_offset) - 1
        if at < 0:
            return -1, 0
        return self._offsets[at] + self._base_offset, self._positions[at]

    def before_position(self, position: int) -> tuple[int, int]:
        """(last offset, position) of the last noted batch that begins at or before *position*, or (-1, 0)."""
        at = bisect_right(self._positions, position) - 1
        if at < 0:
            return -1, 0
        return self._offsets[at] + self._base_offset, self._positions[at]

    def truncate(self, size: int) -> None:
        """Forget batches at or beyond position *size*."""
        keep = bisect_left(self._positions, size)
        del self._offsets[keep:]
        del self._positions[keep:]

    def to_bytes(self) -> bytes:
        """The index as it is kept in its file."""
        both = array("I", bytes(ENTRY_SIZE * len(self._offsets)))
        both[0::2] = self._offsets
        both[1::2] = self._positions
        if SWAP:
            both.byteswap()
        return both.tobytes()

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes, size: int) -> "OffsetIndex | None":
        """The index in *data*, of a segment of *size* bytes; None if it cannot be one."""
        if len(data) % ENTRY_SIZE:
            return None
        both = array("I", data)
        if SWAP:
            both.byteswap()
        index = cls(base_offset)
        index._offsets = both[0::2]
        index._positions = both[1::2]
        if index._positions and not index._positions[-1] < size:
            return None
        if not (rises(index._offsets) and rises(index._positions)):
            return None
        return index


def rises(column: "array[int]") -> bool:
    """Whether each number is greater than the one before."""
    return all(map(int.__lt__, column, column[1:]))
