"""`millstream`, ended at a chosen call to the disk: HOW NUMBER REPORT serve ….

HOW it ends just before its NUMBERth call that changes something on the disk:

    kill    the process is killed
    cut     the file system loses its power, and the process is killed
    eio     that call fails, once, and the process has to deal with it
    full    that call and the nine after it fail for want of space

In REPORT it leaves which call that was, and when, and at its end how many it made.
"""

import errno
import os
import shutil
import signal
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from tests.system.filesystem import cut

from millstream.cli.main import main

_CHANGING: Final = (
    "write",
    "writev",
    "fdatasync",
    "fsync",
    "rename",
    "ftruncate",
    "unlink",
    "rmdir",
    "mkdir",
)
_FULL_FOR: Final = 10
assert shutil.rmtree  # it looks at these functions when it is first imported, so it must see the real ones


def command(how: str, number: int, report: Path) -> tuple[str, ...]:
    """How to run it, from any directory."""
    root = str(Path(__file__).parents[2])
    program = f"import sys; sys.path.insert(0, {root!r}); from tests.system import dying; dying.run()"
    return (sys.executable, "-c", program, how, str(number), str(report))


class _Fate:
    """Counts calls, and strikes at one."""

    def __init__(self, how: str, number: int, report: str, data: Path) -> None:
        self._how = how
        self._number = number
        self._report = report
        self._data = data
        self._count = 0
        self._turn = threading.Lock()

    def watch(self, name: str) -> None:
        """Count the calls of one of the system's functions."""
        call = getattr(os, name)

        def watched(*args: Any, **options: Any) -> Any:
            if not (name in ("write", "writev") and stat.S_ISSOCK(os.fstat(args[0]).st_mode)):
                self._called(name)
            return call(*args, **options)

        setattr(os, name, watched)

    def watch_creation(self) -> None:
        """Opening a file changes something if it makes the file."""
        call = os.open

        def watched(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & os.O_CREAT and not os.path.exists(path):
                self._called("open")
            return call(path, flags, *args, **options)

        os.open = watched

    def _called(self, name: str) -> None:
        with self._turn:
            self._count += 1
            if self._how == "full" and self._number <= self._count < self._number + _FULL_FOR:
                self._note(name)
                if name in ("write", "writev", "open", "mkdir"):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._count == self._number:
                self._note(name)
                self._strike()

    def _strike(self) -> None:
        if self._how == "eio":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self._how == "cut":
            cut(self._data)
        if self._how in ("kill", "cut"):
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, name: str) -> None:
        with open(self._report, "a") as report:
            report.write(f"{name} {time.monotonic()}\n")

    def end(self) -> None:
        with open(self._report, "a") as report:
            report.write(f"{self._count}\n")


def run() -> None:
    """Be `millstream` with the arguments of this process."""
    how, number, report, *arguments = sys.argv[1:]
    fate = _Fate(how, int(number), report, Path(arguments[arguments.index("--data") + 1]))
    for name in _CHANGING:
        fate.watch(name)
    fate.watch_creation()
    try:
        main(arguments)
    finally:
        fate.end()
