"""One at a time, whatever process it is in: tests run in several, and some need the same thing built."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(lock: Path) -> Iterator[None]:
    """Wait until nobody else has *lock*, a file that is made if need be, and have it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
