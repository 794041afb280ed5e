"""Small files, whole or not at all.

    millstream 1 5a3c90e1 2        format, version, CRC-32C of what follows, lines of it
    orders-0 9f3e… 1200
    orders-1 9f3e… 1187

A reader gets all lines as they were written, or is told that there is no such
file. What that means is for the reader to say: never that a number is zero.
"""

from collections.abc import Sequence
from typing import Final

from millstream.env.disk import Disk, File
from millstream.records.crc import crc32c

TEMPORARY: Final = ".tmp"
_FORMAT: Final = "millstream"
_VERSION: Final = "1"


def write(disk: Disk, path: str, lines: Sequence[str]) -> None:
    """Let *path* hold *lines*; when this returns, it does so through any power cut."""
    # The order is the point: a name must never lead to bytes that are not on the disk yet.
    temporary = path + TEMPORARY
    file = write_loosely(disk, temporary, encode(lines))
    try:
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_dir(path.rpartition("/")[0])


def write_loosely(disk: Disk, path: str, data: bytes) -> File:
    """Let *path* hold *data*; a power cut may leave anything until the file is synced."""
    file = disk.open(path, create=True)
    try:
        if file.size():
            file.truncate(0)
        file.append(data)
    except OSError:
        file.close()
        disk.remove(path)
        raise
    return file


def read(disk: Disk, path: str, *, doubt_cache: bool = False) -> list[str] | None:
    """The lines of *path*; None if it is missing or not as it was written."""
    data = read_bytes(disk, path, doubt_cache=doubt_cache)
    return None if data is None else decode(data)


def read_bytes(disk: Disk, path: str, *, doubt_cache: bool = False) -> bytes | None:
    """All of a file; None if there is none.

    With *doubt_cache*, as the disk has it: a process that died of a failed sync
    leaves pages that count as written and are not.
    """
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    if doubt_cache:
        file.forget()
    data = file.read(0, file.size())
    file.close()
    return data


def encode(lines: Sequence[str]) -> bytes:
    body = "".join([f"{line}\n" for line in lines]).encode()
    return f"{_FORMAT} {_VERSION} {crc32c(body):08x} {len(lines)}\n".encode() + body


def decode(data: bytes) -> list[str] | None:
    """What `encode` was given; None if *data* is not what it made."""
    head, _, body = data.partition(b"\n")
    lines = body.decode(errors="replace").split("\n")[:-1]
    right = f"{_FORMAT} {_VERSION} {crc32c(body):08x} {len(lines)}"
    return lines if head == right.encode() else None
