"""Memory at hand and none that waits for the disk, so that it is servers that are measured.

A virtual machine may get its memory from its host page by page, and give back what
it does not use. A log that grows into such memory takes several times as long as
one that grows into memory it has, and who meets which is chance. Where it can be told
to keep what it has, it is, and gets all of it first. Elsewhere whatever writes much
has as much touched, and let go, right before it.

What the one before has written must be gone by then: else the system writes it to the
disk, or its server deletes it, while somebody else is measured.
"""

import mmap
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_MEMINFO: Final = Path("/proc/meminfo")
_REPORTING: Final = Path("/sys/module/page_reporting/parameters/page_reporting_order")
_NEVER: Final = "11"  # pieces of free memory are given back from this size on, and there are none so large
_CALM_KB: Final = 64 << 10
_PATIENCE_SECONDS: Final = 2.0


@contextmanager
def keeping_memory(reporting: Path = _REPORTING) -> Iterator[bool]:
    """Nothing is given back to the host meanwhile, if *reporting* is there to say so; whether it is."""
    try:
        before = reporting.read_text()
        reporting.write_text(_NEVER)
    except OSError:  # no virtual machine, none that gives anything back, or one that does not listen to us
        yield False
        return
    try:
        have_at_hand(_free_bytes() * 3 // 4)
        yield True
    finally:
        reporting.write_text(before)


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
    return _meminfo_kb("Dirty|Writeback")


def _free_bytes() -> int:
    return _meminfo_kb("MemFree") << 10


def _meminfo_kb(names: str) -> int:
    """The sum of the figures that have one of *names*; 0 where the system has none."""
    if not _MEMINFO.exists():
        return 0
    return sum(map(int, re.findall(rf"(?m)^(?:{names}): *(\d+) kB$", _MEMINFO.read_text())))
