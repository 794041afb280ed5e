"""Disks that break their word, to see that a simulation would notice."""

from typing import final

from millstream.env.disk import Buffer, Disk, File, Lock


@final
class LyingDisk(Disk):
    """Says that it has synced files of a topic, or names, and has not."""

    def __init__(self, disk: Disk, *, files: str = "", names: bool = False) -> None:
        self._disk = disk
        self._files = files
        self._names = names

    def open(self, path: str, *, create: bool = False) -> File:
        file = self._disk.open(path, create=create)
        return _LyingFile(file) if self._files and path.startswith(self._files) else file

    def list(self, path: str) -> list[str]:
        return self._disk.list(path)

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def make_dir(self, path: str) -> None:
        self._disk.make_dir(path)

    def rename(self, old: str, new: str) -> None:
        self._disk.rename(old, new)

    def remove(self, path: str) -> None:
        self._disk.remove(path)

    def remove_dir(self, path: str) -> None:
        self._disk.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        if not self._names:
            self._disk.sync_dir(path)

    def free_bytes(self) -> int:
        return self._disk.free_bytes()

    def total_bytes(self) -> int:
        return self._disk.total_bytes()

    def lock(self, path: str) -> Lock:
        return self._disk.lock(path)


@final
class _LyingFile(File):
    def __init__(self, file: File) -> None:
        self._file = file

    def append(self, *parts: Buffer) -> None:
        self._file.append(*parts)

    def read(self, position: int, size: int) -> bytes:
        return self._file.read(position, size)

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def size(self) -> int:
        return self._file.size()

    def sync(self) -> None:
        """Do nothing, in good time."""

    def forget(self) -> None:
        self._file.forget()

    def close(self) -> None:
        self._file.close()
