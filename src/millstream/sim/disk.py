"""A disk in memory that loses, when the power goes, what it never promised to keep.

It is as unkind as POSIX lets a disk be. Data is safe only after `sync`, a name
only after `sync_dir`; of the rest a power cut keeps a prefix: of each file's
bytes, torn or scrambled by the sector, and of each directory's changes. A failed
sync drops what it could not write, and says so once.
"""

import errno
from random import Random
from typing import Final, TypeAlias, final

from millstream.env.disk import Buffer, DirectoryInUse, Disk, DiskFailed, File, Lock

SECTOR: Final = 512
_PLENTY: Final = 1 << 40  # free bytes of a disk without a *capacity*


class PowerCut(Exception):
    """The node is off: nothing it holds of this disk works any more."""


@final
class SimDisk(Disk):
    """One node's disk. It outlives the node: `kill` and `crash` end a life, and the next one may begin.

    - `capacity`: bytes in all; a write beyond it is cut short, and fails.
    - `cut_after`: so many changes later the power goes, as if in the middle of the next.
    - `failing_syncs`: so many syncs fail, after `good_syncs` more; then the disk seems well again.
    - `forgiving`: a failed sync does not fail the disk for good. No real disk of ours is.
    """

    def __init__(self, random: Random, *, capacity: int | None = None, forgiving: bool = False) -> None:
        self.capacity = capacity
        self.cut_after: int | None = None
        self.failing_syncs = 0
        self.good_syncs = 0
        self.failure: OSError | None = None
        self.life = 0
        self.changes = 0
        self.syncs = 0
        self._forgiving = forgiving
        self._random = random
        self._root = _Directory()
        self._used = 0
        self._locks: set[str] = set()

    # Ends of a life

    def crash(self) -> None:
        """The power goes: keep what was synced, and some of the rest."""
        self._used = self._root.crash(self._random)
        self.kill()

    def kill(self) -> None:
        """The process goes: all it wrote is kept, all it holds is dead."""
        self.life += 1
        self.cut_after = None
        self.failing_syncs = self.good_syncs = 0
        self.failure = None
        self._locks.clear()

    def flip(self, path: str, position: int, mask: int) -> None:
        """Change the bits *mask* of one byte, as a failing disk does in silence."""
        self._inode(path).data[position] ^= mask

    def size(self, path: str) -> int:
        return len(self._inode(path).data)

    # Disk

    def open(self, path: str, *, create: bool = False) -> File:
        directory, name = self._place(path)
        node = directory.entries.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self.change()
            self._need_room(path)
            node = _Inode()
            directory.set(name, node)
        if isinstance(node, _Directory):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        self._used += node.show_reserved(self.life)
        return SimFile(self, node)

    def list(self, path: str) -> list[str]:
        return sorted(self._directory(path).entries)

    def exists(self, path: str) -> bool:
        if path == "":
            return True
        try:
            directory, name = self._place(path)
        except FileNotFoundError:
            return False
        return name in directory.entries

    def make_dir(self, path: str) -> None:
        directory, name = self._place(path)
        if name not in directory.entries:
            self.change()
            self._need_room(path)
            directory.set(name, _Directory())

    def rename(self, old: str, new: str) -> None:
        self.trust()
        self.change()
        directory, name = self._place(old)
        target, new_name = self._place(new)
        assert directory is target, "only renames within a directory are whole or not at all"
        if name not in directory.entries:
            raise FileNotFoundError(errno.ENOENT, "no such file", old)
        gone = directory.entries.get(new_name)
        directory.rename(name, new_name)
        if isinstance(gone, _Inode):
            self._used -= len(gone.data)

    def remove(self, path: str) -> None:
        directory, name = self._place(path)
        node = directory.entries.get(name)
        if isinstance(node, _Inode):
            self.change()
            directory.set(name, None)
            self._used -= len(node.data)

    def remove_dir(self, path: str) -> None:
        for name in self.list(path):
            inner = f"{path}/{name}"
            if isinstance(self._directory(path).entries[name], _Directory):
                self.remove_dir(inner)
            else:
                self.remove(inner)
        self.change()
        directory, name = self._place(path)
        directory.set(name, None)

    def sync_dir(self, path: str) -> None:
        self.trust()
        self.change()
        self._fail_if_told()
        self._directory(path).sync()

    def free_bytes(self) -> int:
        return _PLENTY if self.capacity is None else max(self.capacity - self._used, 0)

    def total_bytes(self) -> int:
        return _PLENTY if self.capacity is None else self.capacity

    def lock(self, path: str) -> Lock:
        if path in self._locks:
            raise DirectoryInUse(f"{path} is in use by another process")
        self._locks.add(path)
        return _SimLock(self._locks, path)

    # For files

    def change(self) -> None:
        """Count one more change, and cut the power when it is time."""
        self.changes += 1
        if self.cut_after is not None:
            if self.cut_after <= 0:
                raise PowerCut
            self.cut_after -= 1

    def trust(self) -> None:
        if self.failure is not None:
            raise DiskFailed(self.failure.errno, f"{self.failure.strerror} (earlier)")

    def append(self, inode: "_Inode", parts: tuple[Buffer, ...]) -> None:
        """Write what there is room for."""
        self.trust()
        try:
            self.change()
        except PowerCut:
            whole = b"".join(parts)
            inode.data += whole[: self._random.randint(0, len(whole))]
            raise
        for part in parts:
            room = self.free_bytes()
            fits = part if len(part) <= room else part[:room]
            inode.data += fits
            self._used += len(fits)
            if len(fits) < len(part):
                raise OSError(errno.ENOSPC, "no space left on device")

    def truncate(self, inode: "_Inode", size: int) -> None:
        self.trust()
        self.change()
        self._used -= len(inode.data) - size
        inode.truncate(size)

    def sync(self, inode: "_Inode") -> None:
        self.trust()
        self.change()
        self.syncs += 1
        try:
            self._fail_if_told()
        except DiskFailed:
            inode.lose()
            raise
        inode.sync()

    def _fail_if_told(self) -> None:
        if self.failing_syncs == 0:
            return
        if self.good_syncs > 0:
            self.good_syncs -= 1
        else:
            self.failing_syncs -= 1
            failure = DiskFailed(errno.EIO, "input/output error")
            if not self._forgiving:
                self.failure = failure
            raise failure

    def _need_room(self, path: str) -> None:
        if self.free_bytes() <= 0:
            raise OSError(errno.ENOSPC, "no space left on device", path)

    def _place(self, path: str) -> "tuple[_Directory, str]":
        parent, _, name = path.rpartition("/")
        assert name, path
        return self._directory(parent), name

    def _directory(self, path: str) -> "_Directory":
        node: _Node = self._root
        for name in path.split("/") if path else ():
            inner = node.entries.get(name) if isinstance(node, _Directory) else None
            if inner is None:
                raise FileNotFoundError(errno.ENOENT, "no such directory", path)
            node = inner
        if not isinstance(node, _Directory):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return node

    def _inode(self, path: str) -> "_Inode":
        directory, name = self._place(path)
        node = directory.entries.get(name)
        if not isinstance(node, _Inode):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return node


@final
class SimFile(File):
    """Good for one life of its disk's node."""

    __slots__ = ("_disk", "_inode", "_life")

    def __init__(self, disk: SimDisk, inode: "_Inode") -> None:
        self._disk = disk
        self._inode = inode
        self._life = disk.life

    def append(self, *parts: Buffer) -> None:
        self._check_alive()
        self._disk.append(self._inode, parts)

    def read(self, position: int, size: int) -> bytes:
        self._check_alive()
        return bytes(self._inode.data[position : position + size])

    def truncate(self, size: int) -> None:
        self._check_alive()
        self._disk.truncate(self._inode, size)

    def size(self) -> int:
        self._check_alive()
        return len(self._inode.data)

    def sync(self) -> None:
        self._check_alive()
        self._disk.sync(self._inode)

    def forget(self) -> None:
        self._check_alive()
        self._inode.forget()

    def close(self) -> None:
        """There is no descriptor to give back."""

    def reserve(self, size: int) -> None:
        self._check_alive()
        if size - len(self._inode.data) <= self._disk.free_bytes():
            self._inode.reserved, self._inode.reserved_in = size, self._life

    def trim(self) -> bool:
        self._check_alive()
        if not self._inode.reserved:
            return False
        self._disk.truncate(self._inode, len(self._inode.data))
        return True

    def _check_alive(self) -> None:
        if self._life != self._disk.life:
            raise PowerCut


@final
class _SimLock(Lock):
    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


@final
class _Inode:
    """A file's bytes as programs see them, and which of them the platter has."""

    __slots__ = ("data", "ghost", "lost", "reserved", "reserved_in", "safe", "trimmed")

    def __init__(self) -> None:
        self.data = bytearray()
        self.safe = 0  # bytes from the start that are on the platter just so
        self.ghost = b""  # what the platter still has after them, of a truncation it has not heard of
        self.lost: list[tuple[int, int]] = []  # ranges that a failed sync has dropped from the cache
        self.reserved = 0  # its size with the zeros behind its end, which count for the next life only
        self.reserved_in = 0
        self.trimmed = 0  # its size with zeros that the platter has not heard are gone

    def show_reserved(self, life: int) -> int:
        """Let a life after the one that laid zeros see them; how many there are."""
        if not self.reserved or self.reserved_in == life:
            return 0
        more = max(self.reserved - len(self.data), 0)
        self.data.extend(bytes(more))
        self.reserved = 0
        return more

    def truncate(self, size: int) -> None:
        self.trimmed = max(self.trimmed, self.reserved)
        self.reserved = 0
        if size < self.safe:
            self.ghost = bytes(self.data[size : self.safe]) + self.ghost
            self.safe = size
        if size < len(self.data):
            del self.data[size:]
        else:
            self.data.extend(bytes(size - len(self.data)))
        self.lost = [(first, min(end, size)) for first, end in self.lost if first < size]

    def sync(self) -> None:
        self.safe = len(self.data)
        self.ghost = b""
        self.trimmed = 0

    def lose(self) -> None:
        """A sync has failed: the pages count as clean, and are not."""
        if self.safe < len(self.data):
            self.lost.append((self.safe, len(self.data)))

    def crash(self, random: Random) -> None:
        """Be what the platter has."""
        if self.ghost and random.random() < 0.5:
            self.data[self.safe :] = self.ghost
        elif self.safe < len(self.data):
            self._keep_some(random)
        if self.reserved and random.random() < 0.3:
            self.reserved = 0  # nor had it heard of those
        elif self.trimmed and random.random() < 0.5:
            self.reserved = self.trimmed
        self.forget()
        self.sync()

    def forget(self) -> None:
        """Show what a failed sync has dropped: it counted as written, so nobody will write it now."""
        for first, end in self.lost:
            end = min(end, len(self.data))
            self.data[first:end] = bytes(max(end - first, 0))
        self.lost = []

    def _keep_some(self, random: Random) -> None:
        kept = random.randint(self.safe, len(self.data))
        if random.random() < 0.3:
            kept = max(kept - kept % SECTOR, self.safe)
        del self.data[kept:]
        if kept > self.safe and random.random() < 0.5:
            for _ in range(random.randint(1, 3)):
                self._damage_sector(random)

    def _damage_sector(self, random: Random) -> None:
        at = random.randrange(self.safe, len(self.data))
        first = max(at - at % SECTOR, self.safe)
        end = min(at - at % SECTOR + SECTOR, len(self.data))
        match random.randrange(3):
            case 0:
                self.data[first:end] = bytes(end - first)
            case 1:
                self.data[first:end] = random.randbytes(end - first)
            case _:
                self.data[at] ^= 1 << random.randrange(8)


@final
class _Directory:
    """Names as programs see them, and which changes of them the platter may not have."""

    __slots__ = ("entries", "pending", "safe")

    def __init__(self) -> None:
        self.entries: dict[str, _Node] = {}
        self.safe: dict[str, _Node] = {}
        self.pending: list[list[tuple[str, _Node | None]]] = []

    def set(self, name: str, node: "_Node | None") -> None:
        self._apply([(name, node)])

    def rename(self, old: str, new: str) -> None:
        self._apply([(old, None), (new, self.entries[old])])

    def sync(self) -> None:
        self.safe = dict(self.entries)
        self.pending = []

    def crash(self, random: Random) -> int:
        """Be what the platter has; return the bytes of all files within."""
        for change in self.pending[: random.randint(0, len(self.pending))]:
            _lay(self.safe, change)
        self.pending = []
        self.entries = dict(self.safe)
        used = 0
        for name in sorted(self.entries):
            node = self.entries[name]
            if isinstance(node, _Directory):
                used += node.crash(random)
            else:
                node.crash(random)
                used += len(node.data)
        return used

    def _apply(self, change: "list[tuple[str, _Node | None]]") -> None:
        self.pending.append(change)
        _lay(self.entries, change)


_Node: TypeAlias = _Inode | _Directory


def _lay(entries: dict[str, _Node], change: list[tuple[str, _Node | None]]) -> None:
    for name, node in change:
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node
