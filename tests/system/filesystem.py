"""A small ext4 or xfs of its own, in a file, whose power can be cut."""

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

import pytest

_FS_IOC_SHUTDOWN: Final = 0x8004587D
_PAGE_KB: Final = 4
_NO_LOG_FLUSH: Final = 2  # forget even what waits in the journal, as a power cut does


class FileSystem:
    """Mounted when made; use as `with FileSystem(...) as fs`. *root* is where it is mounted.

    If it is *thin*, what it lies on takes less than it promised. Its device is then asked
    for a page at a time: where there is room for a part of what is to be written, Linux
    (6.18) writes that part and says that all was written.

    Skips the test where file systems cannot be made or mounted.
    """

    def __init__(
        self, kind: str, place: Path, *, size_mb: int = 320, options: str = "loop", thin: bool = False
    ) -> None:
        _skip_unless_able(kind)
        self.root = place / f"{kind}-root"
        self.image = place / f"{kind}.img"
        self._options = options
        self._thin = thin
        self._is_mounted = False
        self.root.mkdir()
        with self.image.open("wb") as file:
            file.truncate(size_mb << 20)
        # A small ext4 has blocks of a quarter of a page; xfs always has whole ones.
        blocks = ["-b", f"{_PAGE_KB}k"] if thin and kind == "ext4" else []
        _run(f"mkfs.{kind}", "-q", *blocks, str(self.image))
        try:
            self.mount()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"cannot mount a file system here: {error.stderr.strip()}")

    def mount(self) -> None:
        """Mount it, which replays the journal after a cut."""
        _run("mount", "-o", self._options, str(self.image), str(self.root))
        self._is_mounted = True
        if self._thin:
            found = _run("losetup", "--noheadings", "--output", "NAME", "--associated", str(self.image))
            limit = Path("/sys/block", Path(found.strip()).name, "queue/max_sectors_kb")
            limit.write_text(str(_PAGE_KB))

    def unmount(self) -> None:
        _run("umount", str(self.root))
        self._is_mounted = False

    def cut(self) -> None:
        """The power goes: from now on nothing gets to the disk, and what was not synced never will."""
        cut(self.root)

    def remount(self) -> None:
        """The power is back. Nobody may have a file open."""
        self.unmount()
        self.mount()

    def __enter__(self) -> "FileSystem":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_mounted:
            subprocess.run(["umount", "--lazy", str(self.root)], check=False, capture_output=True)
        self.image.unlink(missing_ok=True)


class Tmpfs:
    """Memory as a file system, for the image of another, which cannot write what this one does not take."""

    def __init__(self, root: Path, *, size_mb: int) -> None:
        _skip_unless_able("ext4")
        self.root = root
        self.root.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(root))

    def fill(self) -> None:
        """Leave nothing, or what others take meanwhile."""
        with (self.root / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(1 << 16))

    def free(self) -> None:
        (self.root / "filler").unlink()

    def __enter__(self) -> "Tmpfs":
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.root)], check=False, capture_output=True)


def cut(root: Path) -> None:
    """Cut the power of the file system mounted at *root*."""
    fd = os.open(root, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, _FS_IOC_SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
    finally:
        os.close(fd)


def _skip_unless_able(kind: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    if not os.path.exists("/dev/loop-control"):
        pytest.skip("there are no loop devices here")
    if shutil.which(f"mkfs.{kind}") is None:
        package = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}.get(kind, kind)
        pytest.skip(f"mkfs.{kind} is missing; on Debian: apt-get install {package}")


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
