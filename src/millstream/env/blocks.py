"""Blocks of the disk, had for a file before it grows into them.

Where they are there already a write need not ask for each page where on the disk it
will go: 1 MB takes ext4 0.10 instead of 0.16 ms. Nothing of it can be seen in the
file, which stays as long as it is; only the disk has less to give to others.

Only on ext4, where it was measured. xfs has such blocks by itself, and to give back
those it was asked for waits until all that was written is on the disk.
"""

import mmap
import os
import sys
from functools import cache
from typing import Final, final

_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE
_FILE_SYSTEMS: Final = frozenset({0xEF53})  # ext4, and those before it, which refuse
_STATUS_BYTES: Final = 256  # more than a `struct statfs` has, which begins with what kind it is


def set_aside(fd: int, start: int, end: int) -> bool:
    """Have the blocks of the file *fd* from *start* to *end*; whether this system does that.

    OSError where the file system cannot, or has no room.
    """
    library = _library()
    # Not the page that the file ends in: it is there.
    start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    if library is None or start >= end or not library.has_them(fd):
        return False
    library.fallocate(fd, start, end - start)
    return True


def give_back(fd: int, end: int) -> None:
    """Have no blocks of the file *fd* behind its *end*, unless they are the file system's own idea."""
    library = _library()
    if library is not None and library.has_them(fd):
        os.ftruncate(fd, end)


@final
class _Library:
    """Two calls of Linux, of which Python has one in a form that makes the file longer, and the other not."""

    def __init__(self) -> None:
        """ImportError, OSError or AttributeError where they are not to be had."""
        import ctypes  # not before some log grows that quickly: it takes its time

        library = ctypes.CDLL(None, use_errno=True)
        # Where there are two, this is the one that takes 64 bits everywhere.
        self._fallocate = getattr(library, "fallocate64", None) or library.fallocate
        self._fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        self._fstatfs = library.fstatfs
        self._fstatfs.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self._errno = ctypes.get_errno
        self._status = ctypes.create_string_buffer(_STATUS_BYTES)
        self._kind = ctypes.c_long.from_buffer(self._status)

    def fallocate(self, fd: int, start: int, size: int) -> None:
        if self._fallocate(fd, _KEEP_SIZE, start, size):
            raise self._error()

    def has_them(self, fd: int) -> bool:
        """Whether *fd* is on a file system where we set blocks aside."""
        if self._fstatfs(fd, self._status):
            raise self._error()
        return self._kind.value in _FILE_SYSTEMS

    def _error(self) -> OSError:
        error: int = self._errno()
        return OSError(error, os.strerror(error))


@cache
def _library() -> _Library | None:
    try:
        return _Library() if sys.platform == "linux" else None
    except (ImportError, OSError, AttributeError):
        return None
