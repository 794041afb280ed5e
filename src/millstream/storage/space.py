"""Room on the disk, and a reserve to stop cleanly when there is none.

A full disk is met before it is full: below a floor of free space nothing more
is taken from clients, while reading, deleting and retention go on. When space
returns, so does writing. The ballast is a file of no use but its size: given up,
it leaves room for the checkpoints of a clean stop.
"""

import contextlib
import errno
from collections.abc import Callable
from typing import Final, final

from millstream.env.disk import Disk, DiskFailed

BALLAST: Final = "ballast"
_MOST_FLOOR: Final = 4 << 30  # of a large disk a small part is still a lot
_LOOK_AGAIN: Final = 16 << 20  # bytes appended between two looks at the disk
_CHUNK: Final = 1 << 20
_SPARE_PART: Final = 8  # of what is free beyond twice the floor, one part in so many


def is_want_of_space(error: OSError) -> bool:
    """Whether *error* may pass when something else is deleted."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) and not isinstance(error, DiskFailed)


@final
class Space:
    """How full one disk is."""

    def __init__(self, disk: Disk, *, ballast_bytes: int = 64 << 20, min_free_percent: float = 5.0) -> None:
        self.min_free_percent = min_free_percent
        self.is_full = False
        self._disk = disk
        self._ballast_bytes = ballast_bytes
        self._unseen = 0
        self._spare = 0  # bytes that may be taken for convenience until the next look

    def has_room(self, size: int = 0) -> bool:
        """Whether *size* bytes more may be taken. Looks at the disk only now and then."""
        self._unseen += size
        if self._unseen >= _LOOK_AGAIN:
            self.look()
        return not self.is_full

    def take(self, size: int) -> None:
        """So many bytes were taken, whoever had asked for room without knowing how much."""
        self._unseen += size

    def look(self) -> None:
        """See how much is free. To be called every second or so: others use the disk too."""
        self._unseen = 0
        floor = int(min(self._disk.total_bytes() * self.min_free_percent / 100, _MOST_FLOOR))
        free = self._disk.free_bytes()
        self.is_full = free < floor
        self._spare = max(free - 2 * floor, 0) // _SPARE_PART

    def may_take(self, size: int) -> bool:
        """Whether there is so much to spare that *size* bytes may be taken to save time; then they count."""
        if size > self._spare:
            return False
        self._spare -= size
        self.take(size)
        return True

    def fill_ballast(self) -> None:
        """Have the ballast, if there is room for it. Takes a while: not for the loop."""
        if not self._ballast_bytes:
            self.drop_ballast()
            return
        if self._disk.free_bytes() < 2 * self._ballast_bytes:
            return
        file = self._disk.open(BALLAST, create=True)
        try:
            missing = self._ballast_bytes - file.size()
            while missing > 0:
                file.append(bytes(min(missing, _CHUNK)))
                missing -= _CHUNK
            file.sync()
        except OSError:
            self.drop_ballast()
            raise
        finally:
            file.close()

    def with_reserve(self, call: Callable[[], None]) -> None:
        """*call* it; if there is no room for that, give up the ballast and try once more."""
        try:
            call()
        except OSError as error:
            if not is_want_of_space(error):
                raise
            self.drop_ballast()
            call()

    def drop_ballast(self) -> None:
        """Give the reserve up."""
        with contextlib.suppress(OSError):
            self._disk.remove(BALLAST)
