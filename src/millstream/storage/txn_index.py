"""The aborted transactions of a segment: those whose marker lies in it.

Readers of committed records are told of them, and leave out what they hold. In
the file Kafka's own format, entries of 34 bytes in the order of the markers:

    0   i16  version, 0
    2   i64  producer id
    10  i64  first offset of the transaction
    18  i64  last offset: that of its marker
    26  i64  last stable offset: where the first begins of those that were open still

No entry after one has a first offset below its last stable offset, so a search
may end there. An entry is in the file before its marker is in the log, and is
synced before the marker counts: a segment without a file has no such transactions.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

from millstream.env.disk import Disk, DiskFailed, File
from millstream.storage import checkpoint

TXN_INDEX: Final = ".txnindex"
_VERSION: Final = 0
_ENTRY: Final = struct.Struct(">hqqqq")
_AT_ONCE: Final = 1024  # entries read in one go
assert _ENTRY.size == 34


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class BadTxnIndex(Exception):
    """The file is not what this segment's index can be: it must be made anew."""


@final
class TxnIndex:
    """The entries of one segment, in a file; what is read of them is not kept in memory."""

    __slots__ = ("count", "file", "last_offset")

    def __init__(self, file: File) -> None:
        self.file = file
        self.count = 0
        self.last_offset = -1  # of the last entry

    @classmethod
    def create(cls, disk: Disk, path: str) -> "TxnIndex":
        """An empty one; what a failed attempt may have left in the file goes."""
        return cls(checkpoint.write_loosely(disk, path, b""))

    @classmethod
    def open(cls, disk: Disk, path: str, base_offset: int, next_offset: int) -> "TxnIndex | None":
        """That of the segment with these offsets; None if what is in the file cannot be it."""
        index = cls(disk.open(path))
        size = index.file.size()
        if size == 0 or size % _ENTRY.size:
            return None  # an empty one is what some file systems make of any after a power cut
        index.count = size // _ENTRY.size
        before = base_offset - 1
        for version, id, first, last, stable in index._read_from(0):
            if version != _VERSION or id < 0 or not before < last < next_offset:
                return None
            if not (0 <= first < last and 0 <= stable <= last + 1):
                return None
            before = last
        index.last_offset = before if index.count else -1
        return index

    def again(self, disk: Disk, path: str) -> "TxnIndex":
        """Another one on the same file, for another thread, as far as it goes by now."""
        index = TxnIndex(disk.open(path))
        index.count, index.last_offset = self.count, self.last_offset
        return index

    def append(self, aborted: AbortedTransaction) -> None:
        """Add the next entry; after an OSError it is not there."""
        assert aborted.last_offset > self.last_offset, (aborted, self.last_offset)
        try:
            self.file.append(_ENTRY.pack(_VERSION, *aborted))
        except DiskFailed:
            raise
        except OSError:
            self._cut(self.count)
            raise
        self.count += 1
        self.last_offset = aborted.last_offset

    def truncate(self, offset: int) -> None:
        """Forget the transactions whose marker lies at *offset* or beyond."""
        if self.last_offset >= offset:
            self._cut(self._first_from(offset))
            self.last_offset = self._at(self.count - 1).last_offset if self.count else -1

    def replace(self, entries: Sequence[AbortedTransaction]) -> None:
        """Let it hold *entries*, whatever it held; durable but for its name when this returns."""
        data = b"".join([_ENTRY.pack(_VERSION, *each) for each in entries])
        size = self.file.size()
        if self.file.read(0, size) != data[:size]:
            self.file.truncate(0)
            size = 0
        if size < len(data):
            self.file.append(data[size:])
        self.file.sync()
        self.count = len(entries)
        self.last_offset = entries[-1].last_offset if entries else -1

    def find(self, start_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Those with anything from *start_offset* to before *end_offset*; and whether none comes later."""
        found = []
        for _, id, first, last, stable in self._read_from(self._first_from(start_offset)):
            if first < end_offset:
                found.append(AbortedTransaction(id, first, last, stable))
            if stable >= end_offset:
                return found, True
        return found, False

    @property
    def first(self) -> AbortedTransaction | None:
        return self._at(0) if self.count else None

    @property
    def last(self) -> AbortedTransaction | None:
        return self._at(self.count - 1) if self.count else None

    def all(self) -> Iterator[AbortedTransaction]:
        for _, *entry in self._read_from(0):
            yield AbortedTransaction(*entry)

    # Helpers

    def _first_from(self, offset: int) -> int:
        """Which entry is the first whose marker lies at *offset* or beyond."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self._at(middle).last_offset < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _at(self, entry: int) -> AbortedTransaction:
        _, *found = _ENTRY.unpack(self.file.read(entry * _ENTRY.size, _ENTRY.size))
        return AbortedTransaction(*found)

    def _read_from(self, entry: int) -> Iterator[tuple[int, int, int, int, int]]:
        while entry < self.count:
            some = min(self.count - entry, _AT_ONCE)
            yield from _ENTRY.iter_unpack(self.file.read(entry * _ENTRY.size, some * _ENTRY.size))
            entry += some

    def _cut(self, count: int) -> None:
        """Keep *count* entries; what cannot be undone must not be relied on."""
        try:
            self.file.truncate(count * _ENTRY.size)
        except OSError as error:
            raise DiskFailed(error.errno, error.strerror) from error
        self.count = count
