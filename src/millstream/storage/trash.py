"""Files that are no longer part of anything, until readers have let go of them.

A file gets here by being renamed, which takes it out of the log at once. It is
removed some time later, off the loop: taking a large file away may take long.
"""

import contextlib
from collections.abc import Sequence
from typing import Final, final

from millstream.env.disk import Disk, File

DELETED: Final = ".deleted"


@final
class Sweep:
    """Removes what has had its time; `run` may be called in any thread."""

    __slots__ = ("_directories", "_disk", "_things")

    def __init__(self, disk: Disk, directories: list[str], things: "list[_Thing]") -> None:
        self._disk = disk
        self._directories = directories
        self._things = things

    def run(self) -> None:
        # First that they are gone from the log, then that they are gone: never half of each.
        for directory in self._directories:
            with contextlib.suppress(FileNotFoundError):  # the whole log may have been deleted meanwhile
                self._disk.sync_dir(directory)
        for thing in self._things:
            for file in thing.files:
                file.close()
            if not thing.is_dir:
                self._disk.remove(thing.path)
            elif self._disk.exists(thing.path):
                self._disk.remove_dir(thing.path)


@final
class Trash:
    """What is to be removed from one disk."""

    __slots__ = ("_disk", "_things")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._things: list[_Thing] = []

    def add_file(self, path: str, delay_ms: int, files: Sequence[File] = ()) -> None:
        """Take the file at *path* out of the way, to be removed after *delay_ms*; *files* are closed then."""
        if self._disk.exists(path):
            new, tries = path + DELETED, 1
            while self._disk.exists(new):
                new, tries = f"{path}.{tries}{DELETED}", tries + 1
            self._disk.rename(path, new)
            self._things.append(_Thing(new, delay_ms, files, is_dir=False))

    def add(self, path: str, delay_ms: int, *, is_dir: bool, files: Sequence[File] = ()) -> None:
        """*path* already has a name that says it is to be removed; *files* of it are closed then.

        A file that is open takes up space, whatever becomes of its name.
        """
        self._things.append(_Thing(path, delay_ms, files, is_dir=is_dir))

    def sweep(self, now_ms: int, *, all: bool = False) -> Sweep | None:
        """What is new here or due by now, or *all*; None if there is nothing to do."""
        due: list[_Thing] = []
        rest: list[_Thing] = []
        directories: set[str] = set()
        for thing in self._things:
            if thing.due_ms is None:
                thing.due_ms = now_ms + thing.delay_ms
                directories.add(thing.path.rpartition("/")[0])
            (due if all or thing.due_ms <= now_ms else rest).append(thing)
        self._things = rest
        return Sweep(self._disk, sorted(directories), due) if due or directories else None


@final
class _Thing:
    __slots__ = ("delay_ms", "due_ms", "files", "is_dir", "path")

    def __init__(self, path: str, delay_ms: int, files: Sequence[File], *, is_dir: bool) -> None:
        self.path = path
        self.delay_ms = delay_ms
        self.due_ms: int | None = None  # the first sweep says
        self.files = files
        self.is_dir = is_dir
