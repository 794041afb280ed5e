"""A disk and a registry in memory: as quick as can be, and gone with the process.

For brokers that live as long as a test. There is nothing to sync and nothing
to clean up, no descriptor to run out of, and the disk's *capacity* bounds what
it takes: beyond it a write fails as on a full one. Threads may share the disk:
every step is one operation on a bytearray or a dict, and what is used is
counted under a lock.
"""

import errno
import threading
from collections.abc import Mapping
from typing import TypeAlias, final

from millstream.env.disk import Buffer, DirectoryInUse, Disk, File, Lock
from millstream.env.registry import ABSENT, Item, Registry


@final
class MemoryDisk(Disk):
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self.failure: OSError | None = None
        self._guard = threading.Lock()
        self._root: _Directory = {}
        self._locks: set[str] = set()

    def open(self, path: str, *, create: bool = False) -> File:
        directory, name = self._place(path)
        node = directory.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._need_room(path)
            node = directory[name] = bytearray()
        if isinstance(node, dict):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return MemoryFile(self, node)

    def list(self, path: str) -> list[str]:
        return sorted(self._directory(path))

    def exists(self, path: str) -> bool:
        if path == "":
            return True
        try:
            directory, name = self._place(path)
        except FileNotFoundError:
            return False
        return name in directory

    def make_dir(self, path: str) -> None:
        directory, name = self._place(path)
        if name not in directory:
            self._need_room(path)
            directory[name] = {}

    def rename(self, old: str, new: str) -> None:
        source, name = self._place(old)
        target, new_name = self._place(new)
        if name not in source:
            raise FileNotFoundError(errno.ENOENT, "no such file", old)
        node = source.pop(name)
        replaced = target.get(new_name)
        target[new_name] = node
        if replaced is not None:
            self.count(-_bytes_in(replaced))

    def remove(self, path: str) -> None:
        try:
            directory, name = self._place(path)
        except FileNotFoundError:
            return
        if isinstance(directory.get(name), bytearray):
            self.count(-_bytes_in(directory.pop(name)))

    def remove_dir(self, path: str) -> None:
        directory, name = self._place(path)
        if name not in directory:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        self.count(-_bytes_in(directory.pop(name)))

    def sync_dir(self, path: str) -> None:
        self._directory(path)

    def free_bytes(self) -> int:
        return max(self.capacity - self.used, 0)

    def total_bytes(self) -> int:
        return self.capacity

    def lock(self, path: str) -> Lock:
        if path in self._locks:
            raise DirectoryInUse("this disk is in use by another node")
        self._locks.add(path)
        return _MemoryLock(self._locks, path)

    def take(self, wanted: int) -> int:
        """Count as many of *wanted* bytes as there is room for; how many that is."""
        with self._guard:
            fits = min(wanted, self.free_bytes())
            self.used += fits
            return fits

    def count(self, more: int) -> None:
        with self._guard:
            self.used += more

    def _need_room(self, path: str) -> None:
        if self.used >= self.capacity:
            raise OSError(errno.ENOSPC, "no space left in memory", path)

    def _place(self, path: str) -> "tuple[_Directory, str]":
        parent, _, name = path.rpartition("/")
        assert name, path
        return self._directory(parent), name

    def _directory(self, path: str) -> "_Directory":
        node: _Node = self._root
        for name in path.split("/") if path else ():
            inner = node.get(name) if isinstance(node, dict) else None
            if inner is None:
                raise FileNotFoundError(errno.ENOENT, "no such directory", path)
            node = inner
        if not isinstance(node, dict):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return node


@final
class MemoryFile(File):
    """Like a descriptor it stays good when the file is renamed or removed."""

    __slots__ = ("_data", "_disk")

    def __init__(self, disk: MemoryDisk, data: bytearray) -> None:
        self._disk = disk
        self._data = data

    def append(self, *parts: Buffer) -> None:
        for part in parts:
            fits = self._disk.take(len(part))
            self._data += part if fits == len(part) else part[:fits]
            if fits < len(part):
                raise OSError(errno.ENOSPC, "no space left in memory")

    def read(self, position: int, size: int) -> bytes:
        # Not through a memoryview: while one is open, another thread could not append.
        return bytes(self._data[position : position + size])

    def truncate(self, size: int) -> None:
        self._disk.count(size - len(self._data))
        if size < len(self._data):
            del self._data[size:]
        else:
            self._data.extend(bytes(size - len(self._data)))

    def size(self) -> int:
        return len(self._data)

    def sync(self) -> None:
        """It is as safe as it will ever be."""

    def forget(self) -> None:
        """Nothing is cached."""

    def close(self) -> None:
        """There is no descriptor to give back."""


@final
class MemoryRegistry(Registry):
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._revision = ABSENT

    async def start(self) -> None:
        """There is nothing to read."""

    async def range(self, prefix: str) -> list[Item]:
        return [self._items[key] for key in sorted(self._items) if key.startswith(prefix)]

    async def change(self, values: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        for key, revision in expect.items():
            item = self._items.get(key)
            if (ABSENT if item is None else item.revision) != revision:
                return ABSENT
        self._revision += 1
        for key, value in values.items():
            if value is None:
                self._items.pop(key, None)
            else:
                self._items[key] = Item(key, value, self._revision)
        return self._revision

    async def stop(self) -> None:
        """There is nothing to close."""


@final
class _MemoryLock(Lock):
    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


_Node: TypeAlias = "bytearray | dict[str, _Node]"
_Directory: TypeAlias = dict[str, _Node]


def _bytes_in(node: _Node) -> int:
    return len(node) if isinstance(node, bytearray) else sum(_bytes_in(each) for each in node.values())
