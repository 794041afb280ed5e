"""Memory at hand and none that waits for the disk, so that it is servers that are measured.

A virtual machine may get its memory from its host page by page, and give back what
it does not use. A log that grows into such memory takes several times as long as
one that grows into memory just freed, and who meets which is chance. So whatever
writes much has as much touched, and let go, right before it.

What the one before has written must be gone by then: else the system writes it to the
disk, or its server deletes it, while somebody else is measured.
"""

import mmap
import os
import re
import time
from pathlib import Path
from typing import Final

_MEMINFO: Final = Path("/proc/meminfo")
_CALM_KB: Final = 64 << 10
_PATIENCE_SECONDS: Final = 2.0


def have_at_hand(size: int) -> None:
    """See to it that *size* bytes of free memory belong to this machine; they do for the next seconds."""
    if hasattr(mmap, "MAP_POPULATE"):  # elsewhere there is no asking for it
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
        mmap.mmap(-1, size, flags=flags).close()


def let_settle() -> None:
    """Return when little is left to be written to the disk: by a server that deletes it, or else by us."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while (left := _unwritten_kb()) > _CALM_KB and time.monotonic() < ends:
        time.sleep(0.02)
    if left > _CALM_KB:
        os.sync()


def _unwritten_kb() -> int:
    if not _MEMINFO.exists():
        return 0
    return sum(map(int, re.findall(r"(?m)^(?:Dirty|Writeback): *(\d+) kB$", _MEMINFO.read_text())))
