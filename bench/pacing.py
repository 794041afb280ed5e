"""Nobody's replies are paced while servers are measured.

Where the system's TCP is BBR, what a server sends goes out by a timer, at the pace
that BBR believes the path to have. Between two programs on one machine there is no
path, and it is timers that would be measured: readers of any server got a third of
what they get else. So where the system lets itself be told, its choice is set aside
until the bench is over. What Millstream itself does about it shows only elsewhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_CHOSEN: Final = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_PACES: Final = "bbr"  # so do its later versions
_PLAIN: Final = ("cubic", "reno")  # what most systems choose, and what every Linux has


@contextmanager
def nobody_paced(chosen: Path = _CHOSEN) -> Iterator[str]:
    """How what is sent is paced meanwhile: the system's choice by name, a plain one if we may say so."""
    try:
        before = chosen.read_text().strip()
    except OSError:  # no Linux
        yield ""
        return
    if not before.startswith(_PACES):
        yield before
        return
    try:
        yield _set(chosen, before)
    finally:
        _tell(chosen, before)


def _set(chosen: Path, before: str) -> str:
    for name in _PLAIN:
        if _tell(chosen, name):
            return name
    return before


def _tell(chosen: Path, name: str) -> bool:
    try:
        chosen.write_text(name)
    except OSError:  # we are not root, or there is no such thing here
        return False
    return True
