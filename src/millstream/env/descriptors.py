"""How many files and sockets this process may have open, and that opening them takes no time.

Linux has a table of a process's descriptors, and makes it twice as large when it is
full. Once there are threads, that waits until every processor has been elsewhere: 8 to
16 ms each time, for which the loop stands still, with the 256th, 512th, 1,024th client.
So the table is made as large as it will ever be needed, before there are threads.
"""

import fcntl
import os
import resource
from contextlib import suppress
from typing import Final

_MOST: Final = 1 << 20  # where the system sets no limit
_ROOM: Final = 16 << 10  # eight bytes of the system's memory each


def have_descriptors() -> int:
    """Let this process open as many files as the system allows it to; how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    limit = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    _make_room(min(limit, _ROOM))
    return limit


def _make_room(count: int) -> None:
    """Have the table large enough for *count* descriptors."""
    with suppress(OSError):  # it is to save time: a node starts without as well
        first = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.close(fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, count - 1))
        finally:
            os.close(first)
