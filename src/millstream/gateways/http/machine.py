"""What this process takes of its machine."""

import os
import resource
import sys
from pathlib import Path
from typing import Final, final

_STATM: Final = Path("/proc/self/statm")


@final
class Machine:
    """Shares in per cent, 0 to 100; of a processor, of the memory."""

    def __init__(self, now: float) -> None:
        self._asked_at = now
        self._cpu_seconds = cpu_seconds()
        self._cpu_percent = 0.0

    def cpu_percent(self, now: float) -> float:
        """How busy this process was since this was last asked, or over the last second at the least."""
        if now - self._asked_at >= 1.0:
            seconds = cpu_seconds()
            self._cpu_percent = 100 * (seconds - self._cpu_seconds) / (now - self._asked_at)
            self._asked_at, self._cpu_seconds = now, seconds
        return self._cpu_percent


def resident_bytes() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:  # no /proc here: the most it ever was is the best there is
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def memory_bytes() -> int:
    """All there is on this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
