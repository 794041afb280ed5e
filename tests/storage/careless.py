"""Disks that do not do as they are told: each is a mistake a storage engine could make."""

import errno

from millstream.env.disk import Buffer, Disk, DiskFailed, File, Lock
from millstream.sim.disk import SimDisk
from millstream.storage.checkpoint import TEMPORARY


class Careless(Disk):
    """Passes everything on; what it leaves out is for others to say."""

    def __init__(self, disk: SimDisk) -> None:
        self.disk = disk

    def open(self, path: str, *, create: bool = False) -> File:
        return CarelessFile(self, path, self.disk.open(path, create=create))

    def list(self, path: str) -> list[str]:
        return self.disk.list(path)

    def exists(self, path: str) -> bool:
        return self.disk.exists(path)

    def make_dir(self, path: str) -> None:
        self.disk.make_dir(path)

    def rename(self, old: str, new: str) -> None:
        self.disk.rename(old, new)

    def remove(self, path: str) -> None:
        self.disk.remove(path)

    def remove_dir(self, path: str) -> None:
        self.disk.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        self.disk.sync_dir(path)

    def free_bytes(self) -> int:
        return self.disk.free_bytes()

    def total_bytes(self) -> int:
        return self.disk.total_bytes()

    def lock(self, path: str) -> Lock:
        return self.disk.lock(path)

    def append(self, path: str, file: File, parts: tuple[Buffer, ...]) -> None:
        file.append(*parts)

    def sync(self, path: str, file: File) -> None:
        file.sync()


class CarelessFile(File):
    def __init__(self, disk: Careless, path: str, file: File) -> None:
        self._disk = disk
        self._path = path
        self._file = file

    def append(self, *parts: Buffer) -> None:
        self._disk.append(self._path, self._file, parts)

    def read(self, position: int, size: int) -> bytes:
        return self._file.read(position, size)

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def size(self) -> int:
        return self._file.size()

    def sync(self) -> None:
        self._disk.sync(self._path, self._file)

    def forget(self) -> None:
        self._file.forget()

    def close(self) -> None:
        self._file.close()


class NoSync(Careless):
    """Takes "written" for "safe"."""

    def sync(self, path: str, file: File) -> None:
        pass


class NoDirectorySync(Careless):
    """Takes a file for safe whose name is not."""

    def sync_dir(self, path: str) -> None:
        pass


class RenameBeforeSync(Careless):
    """Puts a file in its place first, and its bytes on the disk after."""

    def sync(self, path: str, file: File) -> None:
        if not path.endswith(TEMPORARY):
            file.sync()

    def rename(self, old: str, new: str) -> None:
        self.disk.rename(old, new)
        self.disk.open(new).sync()


class RetrySync(Careless):
    """Tries again when a sync has failed, and believes the second answer."""

    def sync(self, path: str, file: File) -> None:
        try:
            file.sync()
        except DiskFailed:
            file.sync()


class NoDescriptors(Careless):
    """Has, for a while, none to open a file with."""

    none_left = False

    def append(self, path: str, file: File, parts: tuple[Buffer, ...]) -> None:
        self._check()
        file.append(*parts)

    def sync(self, path: str, file: File) -> None:
        self._check()
        file.sync()

    def _check(self) -> None:
        if self.none_left:
            raise OSError(errno.EMFILE, "too many open files")


class FailingWrites(Careless):
    """Cannot be written to any more: an error of the device, not a want of space."""

    failing = False

    def append(self, path: str, file: File, parts: tuple[Buffer, ...]) -> None:
        if self.failing:
            raise OSError(errno.EIO, "input/output error")
        file.append(*parts)
