"""`millstream`, with one rule of the disk broken: `python mutant.py RULE serve …`.

A test that no mutant fails proves nothing.
"""

import errno
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from millstream.cli.main import main
from millstream.env.disk import Disk, RealDisk, RealFile
from millstream.storage import checkpoint


def no_fsync() -> None:
    """Batches are never synced. All else is, so that there is something left to be missed."""
    sync = RealFile.sync

    def sync_some(self: RealFile) -> None:
        if "/registry/" in self.path or not self.path.endswith(".log"):
            sync(self)

    RealFile.sync = sync_some  # type: ignore[method-assign]


def rename_before_fsync() -> None:
    """A small file takes the old one's place before it is on the disk."""

    def write(on: Disk, path: str, lines: list[str]) -> None:
        temporary = path + checkpoint.TEMPORARY
        checkpoint.write_loosely(on, temporary, checkpoint.encode(lines)).close()
        on.rename(temporary, path)
        on.sync_dir(path.rpartition("/")[0])  # and then, too late, the file

    checkpoint.write = write  # type: ignore[assignment]


def failing_sync() -> None:
    """No rule is broken, but a sync of batches fails once."""
    sync = os.fdatasync
    left = [1]

    def failing(fd: int) -> None:
        if left and "/orders-0/" in os.readlink(f"/proc/self/fd/{fd}"):
            left.pop()
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    os.fdatasync = failing  # type: ignore[assignment]


def retry_fsync() -> None:
    """A sync that failed is tried again, and believed."""
    failing_sync()

    def trusted(self: RealDisk, call: Callable[..., Any], *args: object) -> Any:
        for _ in range(10):
            try:
                return call(*args)
            except OSError:
                time.sleep(0.01)
        return call(*args)

    RealDisk.trusted = trusted  # type: ignore[method-assign]


MUTANTS: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "no-fsync": no_fsync,
    "rename-before-fsync": rename_before_fsync,
    "failing-sync": failing_sync,
    "retry-fsync": retry_fsync,
}


def command(rule: str) -> tuple[str, ...]:
    """How to run the mutant that breaks *rule*."""
    assert rule in MUTANTS
    return (sys.executable, os.path.abspath(__file__), rule)


if __name__ == "__main__":
    MUTANTS[sys.argv[1]]()
    if sys.argv[1] != "none":
        os.environ["MILLSTREAM_NATIVE_ENABLE"] = "false"  # native code syncs whatever is changed here
    main(sys.argv[2:])
