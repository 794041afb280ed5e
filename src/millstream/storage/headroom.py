"""Headroom: zeros behind the end of a segment that is synced often, a little at a time.

A file that has grown makes the file system write down how large it is by now, in a
journal of its own and with a wait of its own. Where its blocks are there already a
sync writes these, and nothing else: on ext4 it takes half of the time.

It costs what it saves where much is written between two syncs, since everything is
written twice. And it takes room, of which a node with many partitions has no end: so
it is made for those segments only that have shown to be worth it, and only for as
long as they are. Whoever looks at the file of an idle log finds its batches only.
"""

from collections.abc import Callable
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

    __slots__ = ("_end", "_is_idle", "_small", "_synced_bytes", "file", "was_laid")

    def __init__(self, file: File, size_bytes: int) -> None:
        self.file = file
        self.was_laid = False  # ever: the disk may not have heard that it was given back
        self._synced_bytes = size_bytes
        self._small = 0
        self._end = 0
        self._is_idle = False

    @property
    def is_laid(self) -> bool:
        return self._end > 0

    def synced(
        self, size_bytes: int, most_bytes: int, may_take: Callable[[int], bool], *, times: int = 1
    ) -> None:
        """The file was synced, so many *times* since we were told, and has *size_bytes* by now.

        It will not have more than *most_bytes*.

        *may_take* is asked whether the disk has so much to spare.
        """
        self._is_idle = False
        grown = size_bytes - self._synced_bytes
        each = grown // times
        self._synced_bytes = size_bytes
        self._small = self._small + times if grown > 0 and each <= _SMALL_BYTES else 0
        if self._small < _OFTEN or self._end - size_bytes >= grown:
            return
        end = min(size_bytes + min(max(each * _SYNCS, _LEAST_BYTES), _MOST_BYTES), most_bytes)
        if end - size_bytes >= grown and may_take(end - size_bytes):
            self._end = end
            self.was_laid = True
            self.file.reserve(end)

    def give_back(self) -> None:
        """Let others have what is not used."""
        self._small = self._end = 0
        self.file.trim()

    def tick(self) -> None:
        """Once a second or so: give back what was not used since the last time."""
        if self._is_idle:
            self.give_back()
        self._is_idle = True
