"""Headroom: zeros behind the end of a segment that is synced often, a little at a time.

A file that has grown makes the file system write down how large it is by now, in a
journal of its own and with a wait of its own. Where its blocks are there already a
sync writes these, and nothing else: on ext4 it takes half of the time.

It costs what it saves where much is written between two syncs, since everything is
written twice. And it takes room, of which a node with many partitions has no end: so
it is made for those segments only that have shown to be worth it.
"""

from typing import Final, final

from millstream.env.disk import File

_OFTEN: Final = 8  # small syncs, one after the other
_SMALL_BYTES: Final = 64 << 10
_SYNCS: Final = 64  # for so many more of the last size
_LEAST_BYTES: Final = 32 << 10
_MOST_BYTES: Final = 1 << 20


@final
class Headroom:
    """Of one *file*, whose *size_bytes* are synced."""

    __slots__ = ("_end", "_small", "_synced_bytes", "file")

    def __init__(self, file: File, size_bytes: int) -> None:
        self.file = file
        self._synced_bytes = size_bytes
        self._small = 0
        self._end = 0

    def synced(self, size_bytes: int, most_bytes: int) -> None:
        """The file was synced, and has *size_bytes* by now; it will not have more than *most_bytes*."""
        grown = size_bytes - self._synced_bytes
        self._synced_bytes = size_bytes
        self._small = self._small + 1 if 0 < grown <= _SMALL_BYTES else 0
        if self._small < _OFTEN or self._end - size_bytes >= grown:
            return
        self._end = min(size_bytes + min(max(grown * _SYNCS, _LEAST_BYTES), _MOST_BYTES), most_bytes)
        if self._end > size_bytes:
            self.file.reserve(self._end)
