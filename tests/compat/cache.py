"""What is built or fetched for a test once, and kept for the next run in the user's cache directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def kept(name: str) -> Path:
    """A directory of that name, which outlives this run."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = base / "millstream-compat" / name
    place.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def alone(place: Path) -> Iterator[Path]:
    """In *place* while no other process is: tests run side by side, and may want the same made."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place
