"""Ground: blocks of the disk that a segment has before it grows into them.

To append to a file makes the file system look for a place on the disk, page by page;
that is a third of what a large append takes. Where the blocks are there already it
need not, and the batches of one partition lie side by side, whatever is written to
others meanwhile.

Nobody can see ground: the file is as long as its batches. But it is taken from what
the disk has for others. So only a segment that has grown gets any, never more than it
holds, nor than a few megabytes, and gives back what it would not use within a minute.
"""

from collections.abc import Callable
from typing import Final, final

from millstream.env.disk import File

FIRST_BYTES: Final = 1 << 20  # what a segment holds before it gets any
_MOST_BYTES: Final = 4 << 20
_LEFT: Final = 4  # when one part in so many is left, there is to be more
_TICKS: Final = 60  # what is not used within so many, at the pace of the last one, is given back


@final
class Ground:
    """Of one *file*; once that is larger than *due_bytes*, there is to be more."""

    __slots__ = ("_end", "_seen_bytes", "due_bytes", "file")

    def __init__(self, file: File) -> None:
        self.file = file
        self.due_bytes = FIRST_BYTES
        self._end = 0  # of what was laid; 0 if nothing was
        self._seen_bytes = 0

    def lay(self, size_bytes: int, most_bytes: int, may_take: Callable[[int], bool]) -> bool:
        """The file has *size_bytes* by now, and will have *most_bytes* at most; whether there is ground.

        *may_take* is asked whether the disk has so much to spare.
        """
        more = min(size_bytes, _MOST_BYTES)
        self.due_bytes = size_bytes + more - more // _LEFT
        end = size_bytes + min(more, most_bytes - size_bytes)
        if end > size_bytes and may_take(end - size_bytes) and self.file.set_aside(end):
            self._end = end
        return self._end > 0

    def tick(self, size_bytes: int) -> bool:
        """Once a second or so: give back what a file of *size_bytes* is slow to use; whether any is left."""
        grown, self._seen_bytes = size_bytes - self._seen_bytes, size_bytes
        left = self._end - size_bytes
        if left <= 0:
            self._end = 0  # used up, and there was no more to be had
        elif grown * _TICKS < left and self.file.give_back_blocks():
            self._end = 0
            self.due_bytes = size_bytes + FIRST_BYTES
        return self._end > 0
