"""The disk: files that grow at their end, and directories that must be synced like files.

What is written is safe only after `sync`; a file's name is safe only after
`sync_dir` on its directory. Nothing here is ever retried after a failed sync:
the kernel drops dirty pages it could not write and reports the failure once,
so a second sync that succeeds proves nothing.

Paths are relative to the data directory, which is "" itself, with `/` between the parts.
"""

import contextlib
import errno
import fcntl
import os
import resource
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar, final

from millstream.env import blocks

Buffer: TypeAlias = bytes | bytearray | memoryview
T = TypeVar("T")

_BLOCK_BYTES: Final = 512  # what `stat` counts in
_NOTABLE_BYTES: Final = 256 << 10  # beyond what a file system may count for its own sake
_WRITEV_MAX: Final = 1024  # IOV_MAX on Linux: one writev takes no more parts
_MOST_OPEN: Final = 8192
_LEAST_OPEN: Final = 16
_ZEROS: Final = memoryview(bytes(64 << 10))
_FINAL: Final = frozenset({errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO})  # it will not get better


class DiskFailed(OSError):
    """The disk can no longer be trusted with anything new: stop, and recover from what it holds."""


class DirectoryInUse(OSError):
    """Another process holds the data directory."""


class File(ABC):
    """One file, written only at its end. `sync` may be called from another thread."""

    @abstractmethod
    def append(self, *parts: Buffer) -> None:
        """Write all *parts* at the end, or raise OSError; then some of them may be there."""

    @abstractmethod
    def read(self, position: int, size: int) -> bytes:
        """Up to *size* bytes from *position*; fewer only where the file ends."""

    @abstractmethod
    def truncate(self, size: int) -> None:
        """Cut the file to *size* bytes."""

    @abstractmethod
    def size(self) -> int:
        """Its length in bytes."""

    @abstractmethod
    def sync(self) -> None:
        """Return once all that was appended before the call would survive a power cut."""

    @abstractmethod
    def forget(self) -> None:
        """Drop what is cached of it and already counts as written, so that reads show what the disk has.

        After a failed sync the cache may hold what the disk does not, and call
        it clean: whoever starts after an unclean stop must not believe it.
        """

    @abstractmethod
    def close(self) -> None:
        """Give back the descriptor; the file may still be used, and is then opened again."""

    def reserve(self, size: int) -> None:  # noqa: B027 - a disk that has no use for it does nothing
        """Lay zeros behind the end, up to *size* bytes: what is then appended there is synced sooner.

        In this life they do not count, and go by `truncate` and `trim`; who is killed leaves
        them at the end of the file. Where there is no room nothing is done.
        """

    def set_aside(self, size: int) -> bool:
        """Have blocks ready for what is appended up to *size* bytes, which then takes less time.

        The file stays as long as it is. Whether there are any: they go by `truncate` and
        `give_back_blocks`, and who is killed leaves them to the file. Where there is no room nothing is done.
        """
        return False

    def give_back_blocks(self) -> bool:
        """Have no blocks behind the end any more; False if that cannot be done just now."""
        return True

    def trim(self) -> bool:
        """Cut off what is left of what was reserved; whether there was any."""
        return False

    @property
    def native(self) -> "File | None":
        """Itself, if native code may append to its *fd*, having counted that in *written*; else None."""
        return None

    def native_failed(self, error: OSError) -> None:
        """Raise DiskFailed if *error*, which native code met when it appended, is final."""
        raise NotImplementedError

    def native_synced(self) -> None:
        """Native code has synced all that was appended."""
        raise NotImplementedError

    def native_sync_failed(self, error: OSError) -> DiskFailed:
        """Native code met *error* when it synced, which is final."""
        raise NotImplementedError

    @property
    def lends(self) -> bool:
        """Whether there is a descriptor to send from."""
        return False

    def lend(self) -> int:
        """A descriptor to send from, open until `give_back`; only of a file that *lends*."""
        raise NotImplementedError

    def give_back(self) -> None:
        """One who was lent the descriptor needs it no longer."""
        raise NotImplementedError


class Lock(ABC):
    """Held for the life of the process."""

    @abstractmethod
    def release(self) -> None: ...


class Disk(ABC):
    """One data directory. Once *failure* is set it takes nothing new any more, whoever asks."""

    failure: OSError | None = None

    @abstractmethod
    def open(self, path: str, *, create: bool = False) -> File:
        """The file at *path*; FileNotFoundError unless it is there or *create* is given."""

    @abstractmethod
    def list(self, path: str) -> list[str]:
        """Names in the directory *path*, sorted."""

    @abstractmethod
    def exists(self, path: str) -> bool: ...

    @abstractmethod
    def make_dir(self, path: str) -> None:
        """Make the directory *path*, whose parent exists; nothing happens if it is there."""

    @abstractmethod
    def rename(self, old: str, new: str) -> None:
        """Put *old* in the place of *new*, whole or not at all."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove one file; nothing happens if it is gone."""

    @abstractmethod
    def remove_dir(self, path: str) -> None:
        """Remove a directory and all it holds."""

    @abstractmethod
    def sync_dir(self, path: str) -> None:
        """Return once names made, renamed or removed in *path* would survive a power cut."""

    @abstractmethod
    def free_bytes(self) -> int: ...

    @abstractmethod
    def total_bytes(self) -> int: ...

    @abstractmethod
    def lock(self, path: str) -> Lock:
        """Take the lock file *path*; DirectoryInUse if another process has it."""


@final
class RealDisk(Disk):
    """A directory of the operating system's file system.

    Descriptors are opened when first needed and closed again, least recently
    used first, beyond *max_open*; a file with unsynced data is never closed,
    since only the descriptor that wrote is sure to be told of a failed write-back.
    """

    def __init__(self, root: str, *, max_open: int | None = None) -> None:
        """*max_open* is half of what the process may open, unless told otherwise."""
        os.makedirs(root, mode=0o750, exist_ok=True)
        self.root = os.path.realpath(root)
        self.failure: OSError | None = None
        self._max_open = _half_of_the_limit() if max_open is None else max_open
        self._open: OrderedDict[RealFile, None] = OrderedDict()
        self._guard = threading.Lock()

    def open(self, path: str, *, create: bool = False) -> File:
        full = self.full(path)
        if create:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(self.tried(os.open, full, flags, 0o640))
        else:
            os.stat(full)  # raises FileNotFoundError
        return RealFile(self, full)

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(self.full(path)))

    def exists(self, path: str) -> bool:
        # Only what is known to be missing is: a disk that cannot tell must not be taken for an empty one.
        try:
            os.stat(self.full(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def make_dir(self, path: str) -> None:
        with contextlib.suppress(FileExistsError):
            self.tried(os.mkdir, self.full(path), 0o750)

    def rename(self, old: str, new: str) -> None:
        try:
            self.tried(os.rename, self.full(old), self.full(new))
        except (DiskFailed, FileNotFoundError):
            raise  # if it is gone, somebody has removed it: the disk did what it was told
        except OSError as error:
            raise self.fail(error) from error

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.tried(os.unlink, self.full(path))

    def remove_dir(self, path: str) -> None:
        import shutil  # with every kind of compression there is; a node that starts deletes nothing

        self.tried(shutil.rmtree, self.full(path))

    def sync_dir(self, path: str) -> None:
        fd = os.open(self.full(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.trusted(os.fsync, fd)
        finally:
            os.close(fd)

    def free_bytes(self) -> int:
        usage = os.statvfs(self.root)
        return usage.f_bavail * usage.f_frsize

    def total_bytes(self) -> int:
        usage = os.statvfs(self.root)
        return usage.f_blocks * usage.f_frsize

    def lock(self, path: str) -> Lock:
        fd = os.open(self.full(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise DirectoryInUse(f"{self.root} is in use by another process") from None
        return _FileLock(fd)

    def close(self) -> None:
        """Give back every descriptor, for a process that lives on without this disk."""
        with self._guard:
            for file in list(self._open):
                self._close(file)

    def full(self, path: str) -> str:
        """*path* in the operating system's terms; it may not lead out of the directory."""
        full = os.path.normpath(os.path.join(self.root, path))
        assert full == self.root or full.startswith(self.root + os.sep), path
        return full

    def trusted(self, call: Callable[..., T], *args: object) -> T:
        """*call* it; a failure is final for this disk."""
        try:
            return self.tried(call, *args)
        except DiskFailed:
            raise
        except OSError as error:
            raise self.fail(error) from error

    def tried(self, call: Callable[..., T], *args: object) -> T:
        """*call* it; want of space and the like may pass, but a disk that does not do its work is final."""
        if self.failure is not None:
            raise DiskFailed(self.failure.errno, f"{self.failure.strerror} (earlier)")
        try:
            return call(*args)
        except OSError as error:
            self.judge(error)
            raise

    def judge(self, error: OSError) -> None:
        """DiskFailed if *error* is final."""
        if error.errno in _FINAL and not isinstance(error, DiskFailed):
            raise self.fail(error) from error

    def pin(self, file: "RealFile") -> int:
        """A descriptor of *file* that stays open until `unpin`."""
        with self._guard:
            if file.fd < 0:
                file.fd = _reopen(file.path, file.inode)
                file.found(os.fstat(file.fd))
                if file.reserved:
                    _write_at(file.fd, file.end)
                file.unwanted = False
                if len(self._open) >= self._max_open:
                    self._evict()
            file.pins += 1
            self._open[file] = None
            self._open.move_to_end(file)
            return file.fd

    def unpin(self, file: "RealFile") -> None:
        with self._guard:
            file.pins -= 1
            if file.unwanted and not file.pins:
                self._close(file)

    def forget(self, file: "RealFile") -> None:
        """Close *file* once nobody uses its descriptor, whose number another file may get at once."""
        with self._guard:
            file.unwanted = True
            if not file.pins:
                self._close(file)

    def fail(self, error: OSError) -> DiskFailed:
        """Take nothing new any more, because of *error*; what to raise."""
        self.failure = error
        return DiskFailed(error.errno, error.strerror, error.filename)

    def _evict(self) -> None:
        for file in self._open:
            if file.pins == 0 and not file.unsynced:
                self._close(file)
                return

    def _close(self, file: "RealFile") -> None:
        self._open.pop(file, None)
        fd, file.fd = file.fd, -1
        if fd >= 0:
            if file.reserved:
                file.end = os.lseek(fd, 0, os.SEEK_CUR)
            os.close(fd)


@final
class RealFile(File):
    """Made by `RealDisk.open`, which also decides how long its descriptor lives."""

    def __init__(self, disk: RealDisk, path: str) -> None:
        self.path = path
        self.fd = -1
        self.inode = -1
        self.pins = 0
        self.unwanted = False
        self.written = 0  # how often
        self.reserved = 0  # how large it is with what was laid behind its end; 0 if nothing was
        self.end = 0  # of such a file while it has no descriptor, whose own position tells it else
        self.has_blocks = False  # behind its end
        self._disk = disk
        self._synced = 0

    @property
    def unsynced(self) -> bool:
        return self.written != self._synced

    def found(self, status: os.stat_result) -> None:
        """It was opened: an earlier life may have left blocks behind its end."""
        self.inode = status.st_ino
        self.has_blocks |= status.st_blocks * _BLOCK_BYTES >= status.st_size + _NOTABLE_BYTES

    @property
    def native(self) -> File | None:
        return self if self._disk.failure is None else None

    def native_failed(self, error: OSError) -> None:
        self._disk.judge(error)

    def native_synced(self) -> None:
        self._synced = self.written

    def native_sync_failed(self, error: OSError) -> DiskFailed:
        return self._disk.fail(error)

    def append(self, *parts: Buffer) -> None:
        self.written += 1
        fd = self._disk.pin(self)
        try:
            if len(parts) == 1:
                self._disk.tried(_write_all, fd, parts[0])
            else:
                self._disk.tried(_write_many, fd, parts)
        finally:
            self._disk.unpin(self)

    def read(self, position: int, size: int) -> bytes:
        fd = self._disk.pin(self)
        try:
            data = os.pread(fd, size, position)
            while len(data) < size:
                more = os.pread(fd, size - len(data), position + len(data))
                if not more:
                    break
                data += more
            return data
        finally:
            self._disk.unpin(self)

    def truncate(self, size: int) -> None:
        self.written += 1
        fd = self._disk.pin(self)
        try:
            self._disk.trusted(os.ftruncate, fd, size)
            self._reserves_nothing(fd)
        finally:
            self._disk.unpin(self)

    def size(self) -> int:
        if not self.reserved:
            return os.stat(self.path).st_size
        fd = self._disk.pin(self)
        try:
            return self._end(fd)
        finally:
            self._disk.unpin(self)

    def reserve(self, size: int) -> None:
        # It is to save time: nobody need hear that it cannot be done; of a failed disk hears who writes next.
        # Nor does it count as written: a file may be closed though its zeros are not on the disk yet.
        with contextlib.suppress(OSError):
            end = self.size()
            fd = self._disk.pin(self)
            try:
                self._lay_zeros(fd, end, size)
            finally:
                self._disk.unpin(self)

    def _lay_zeros(self, fd: int, end: int, size: int) -> None:
        first = max(end, self.reserved)
        while first < size:
            first += self._disk.tried(os.pwrite, fd, _ZEROS[: size - first], first)
            self.reserved = first
            _write_at(fd, end)

    def set_aside(self, size: int) -> bool:
        with contextlib.suppress(OSError):  # as in `reserve`
            fd = self._disk.pin(self)
            try:
                self.has_blocks = True  # who runs out of room half way may keep what there was
                return self._disk.tried(blocks.set_aside, fd, self._end(fd), size)
            finally:
                self._disk.unpin(self)
        return False

    def trim(self) -> bool:
        if not self.reserved:
            return False
        fd = self._disk.pin(self)
        try:
            self._disk.tried(os.ftruncate, fd, self._end(fd))
            self._reserves_nothing(fd)
        finally:
            self._disk.unpin(self)
        return True

    def give_back_blocks(self) -> bool:
        if self.reserved or not self.has_blocks:  # blocks behind zeros go with these
            return True
        try:
            fd = self._disk.pin(self)
            try:
                self._disk.tried(blocks.give_back, fd, self._end(fd))
                self.has_blocks = False
            finally:
                self._disk.unpin(self)
        except DiskFailed:
            raise
        except OSError:  # they are in nobody's way
            return False
        return True

    def _end(self, fd: int) -> int:
        return os.lseek(fd, 0, os.SEEK_CUR) if self.reserved else os.fstat(fd).st_size

    def _reserves_nothing(self, fd: int) -> None:
        self.has_blocks = False
        if self.reserved:
            self.reserved = 0
            _write_at_the_end(fd)

    def sync(self) -> None:
        seen = self.written
        fd = self._disk.pin(self)
        try:
            self._disk.trusted(os.fdatasync, fd)
        finally:
            self._disk.unpin(self)
        self._synced = seen

    def forget(self) -> None:
        fd = self._disk.pin(self)
        try:
            if hasattr(os, "posix_fadvise"):  # elsewhere there is no telling the cache anything
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            self._disk.unpin(self)

    def close(self) -> None:
        self._disk.forget(self)

    @property
    def lends(self) -> bool:
        return True

    def lend(self) -> int:
        return self._disk.pin(self)

    def give_back(self) -> None:
        self._disk.unpin(self)


@final
class _FileLock(Lock):
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)  # a forked child may hold the descriptor for longer
            os.close(self._fd)
            self._fd = -1


def _half_of_the_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_OPEN if soft == resource.RLIM_INFINITY else max(min(soft // 2, _MOST_OPEN), _LEAST_OPEN)


def _reopen(path: str, inode: int) -> int:
    """A descriptor of the file at *path*, if that is still the one it was; -1 stands for any."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    if inode not in (-1, os.fstat(fd).st_ino):
        os.close(fd)
        raise FileNotFoundError(errno.ENOENT, "another file has its name by now", path)
    return fd


def _write_at(fd: int, position: int) -> None:
    """Let what is written to *fd* go to *position* and on from there, whatever follows."""
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_APPEND)
    os.lseek(fd, position, os.SEEK_SET)


def _write_at_the_end(fd: int) -> None:
    """Let what is written to *fd* go to the end of the file, as it does when it was opened."""
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)


def _write_all(fd: int, data: Buffer) -> None:
    # A disk that fills up takes a part and says so only at the next call.
    done = os.write(fd, data)
    if done == len(data):
        return
    view = memoryview(data)
    while done < len(view):
        done += os.write(fd, view[done:])


def _write_many(fd: int, parts: tuple[Buffer, ...]) -> None:
    for first in range(0, len(parts), _WRITEV_MAX):
        some = parts[first : first + _WRITEV_MAX]
        done = os.writev(fd, some)
        if done == sum(map(len, some)):
            continue
        left = [memoryview(part) for part in some]
        while True:
            while left and done >= len(left[0]):
                done -= len(left.pop(0))
            if not left:
                break
            left[0] = left[0][done:]
            done = os.writev(fd, left)
