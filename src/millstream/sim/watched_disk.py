"""One life's view of a simulated disk: everything done to it is told first, and again when it is done.

Faults are sharpest where something just happened, or is about to. Whoever
watches may end the node on the spot; what is left of it then finds no disk.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeVar, final

from millstream.env.disk import Buffer, Disk, File, Lock
from millstream.sim.disk import PowerCut
from millstream.sim.life import Life

T = TypeVar("T")


class Act(Enum):
    CREATE = "create"
    APPEND = "append"
    TRUNCATE = "truncate"
    SYNC = "sync"
    RENAME = "rename"
    REMOVE = "remove"
    SYNC_DIR = "sync_dir"


class Seen(NamedTuple):
    """*act* on *path* is about to happen, or has just been *done*."""

    act: Act
    path: str
    done: bool


@final
class WatchedDisk(Disk):
    """*disk* as *life* has it, with *watch* told of every change."""

    def __init__(self, disk: Disk, life: Life, watch: Callable[[Seen], None]) -> None:
        self._disk = disk
        self._life = life
        self._watch = watch

    def open(self, path: str, *, create: bool = False) -> File:
        self.check()
        if create and not self._disk.exists(path):
            file = self.watched(Act.CREATE, path, lambda: self._disk.open(path, create=True))
        else:
            file = self._disk.open(path)
        return _WatchedFile(self, path, file)

    def list(self, path: str) -> list[str]:
        self.check()
        return self._disk.list(path)

    def exists(self, path: str) -> bool:
        self.check()
        return self._disk.exists(path)

    def make_dir(self, path: str) -> None:
        self.check()
        if not self._disk.exists(path):
            self.watched(Act.CREATE, path, lambda: self._disk.make_dir(path))

    def rename(self, old: str, new: str) -> None:
        self.watched(Act.RENAME, new, lambda: self._disk.rename(old, new))

    def remove(self, path: str) -> None:
        self.watched(Act.REMOVE, path, lambda: self._disk.remove(path))

    def remove_dir(self, path: str) -> None:
        self.watched(Act.REMOVE, path, lambda: self._disk.remove_dir(path))

    def sync_dir(self, path: str) -> None:
        self.watched(Act.SYNC_DIR, path, lambda: self._disk.sync_dir(path))

    def free_bytes(self) -> int:
        self.check()
        return self._disk.free_bytes()

    def total_bytes(self) -> int:
        self.check()
        return self._disk.total_bytes()

    def lock(self, path: str) -> Lock:
        self.check()
        return self._disk.lock(path)

    def check(self) -> None:
        """PowerCut if the life that holds this view has ended."""
        if not self._life.alive:
            raise PowerCut

    def watched(self, act: Act, path: str, call: Callable[[], T]) -> T:
        self.check()
        self._watch(Seen(act, path, done=False))
        self.check()
        result = call()
        self._watch(Seen(act, path, done=True))
        self.check()
        return result


@final
class _WatchedFile(File):
    __slots__ = ("_disk", "_file", "_path")

    def __init__(self, disk: WatchedDisk, path: str, file: File) -> None:
        self._disk = disk
        self._path = path
        self._file = file

    def append(self, *parts: Buffer) -> None:
        self._disk.watched(Act.APPEND, self._path, lambda: self._file.append(*parts))

    def read(self, position: int, size: int) -> bytes:
        self._disk.check()
        return self._file.read(position, size)

    def truncate(self, size: int) -> None:
        self._disk.watched(Act.TRUNCATE, self._path, lambda: self._file.truncate(size))

    def size(self) -> int:
        self._disk.check()
        return self._file.size()

    def sync(self) -> None:
        self._disk.watched(Act.SYNC, self._path, self._file.sync)

    def forget(self) -> None:
        self._disk.check()
        self._file.forget()

    def reserve(self, size: int) -> None:
        self._disk.watched(Act.APPEND, self._path, lambda: self._file.reserve(size))

    def trim(self) -> bool:
        return self._disk.watched(Act.TRUNCATE, self._path, self._file.trim)

    def close(self) -> None:
        self._disk.check()
        self._file.close()
