"""A registry in this node's own data directory: one node, no other process.

One file, `registry/changes.log`, holds every change since it was last written
anew, and all of it is in memory too:

    0   u32  length         of the body
    4   u32  crc            CRC-32C of the body
    8        body           count, then for each key: key, value or none

Every change is synced before it is applied, and before the next one is
written: so at most the last entry can be torn, and a bad entry with a good one
behind it is damage that no crash explains. Such a file is refused, not cut.
"""

import asyncio
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final, final

from millstream.crc import crc32c
from millstream.env.disk import Disk, DiskFailed, File
from millstream.env.registry import ABSENT, Item, Registry

_DIRECTORY: Final = "registry"
_PATH: Final = "registry/changes.log"
_NEW_PATH: Final = "registry/changes.new"
_HEADER: Final = struct.Struct(">II")
_U32: Final = struct.Struct(">I")
_NONE: Final = 0xFFFFFFFF
_REWRITE_BYTES: Final = 1 << 20


class RegistryDamaged(Exception):
    """The registry's file is not what we wrote; an operator must restore it or take it away."""


@final
class LocalRegistry(Registry):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._items: dict[str, Item] = {}
        self._revision = ABSENT
        self._file: File | None = None
        self._size = 0
        self._live_size = 0
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        if not self._disk.exists(_PATH):
            self._disk.make_dir(_DIRECTORY)
            await self._rewrite()
            await _in_thread(self._disk.sync_dir, "")
            return
        self._file = self._disk.open(_PATH)
        self._file.forget()
        data = self._file.read(0, self._file.size())
        end = 0
        for values, position in _entries(data):
            self._apply(values)
            end = position
        if end < len(data):
            _refuse_damage(data, end)
            self._file.truncate(end)
        # What is read here will be built upon, and the last life may have been killed before it was synced.
        await _in_thread(self._file.sync)
        await _in_thread(self._disk.sync_dir, _DIRECTORY)
        await _in_thread(self._disk.sync_dir, "")
        self._size = end
        self._live_size = end

    async def range(self, prefix: str) -> list[Item]:
        return [self._items[key] for key in sorted(self._items) if key.startswith(prefix)]

    async def change(self, values: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        # Once begun it must end, or memory and disk would disagree: a caller that goes away does not stop it.
        return await asyncio.shield(asyncio.ensure_future(self._change(dict(values), dict(expect))))

    async def stop(self) -> None:
        async with self._turn:
            if self._file is not None:
                self._file.close()
                self._file = None

    async def _change(self, values: dict[str, bytes | None], expect: dict[str, int]) -> int:
        async with self._turn:
            for key, revision in expect.items():
                item = self._items.get(key)
                if (ABSENT if item is None else item.revision) != revision:
                    return ABSENT
            await self._write(_entry(values))
            self._apply(values)
            if self._size > _REWRITE_BYTES and self._size > 4 * self._live_size:
                await self._shorten()
            return self._revision

    async def _write(self, entry: bytes) -> None:
        assert self._file is not None, "the registry was not started"
        try:
            self._file.append(entry)
            await _in_thread(self._file.sync)
        except DiskFailed:
            raise
        except OSError:
            self._file.truncate(self._size)
            await _in_thread(self._file.sync)
            raise
        self._size += len(entry)

    async def _shorten(self) -> None:
        """Write the file anew if there is room: the change that led here is safe already."""
        try:
            await self._rewrite()
        except DiskFailed:
            raise
        except OSError:
            self._disk.remove(_NEW_PATH)

    async def _rewrite(self) -> None:
        """Put one entry that says everything in the place of all that led there."""
        self._disk.remove(_NEW_PATH)
        file = self._disk.open(_NEW_PATH, create=True)
        entry = _entry({key: item.value for key, item in self._items.items()})
        file.append(entry)
        await _in_thread(file.sync)
        file.close()
        self._disk.rename(_NEW_PATH, _PATH)
        await _in_thread(self._disk.sync_dir, _DIRECTORY)
        if self._file is not None:
            self._file.close()
        self._file = self._disk.open(_PATH)
        self._size = self._live_size = len(entry)

    def _apply(self, values: Mapping[str, bytes | None]) -> None:
        self._revision += 1
        for key, value in values.items():
            if value is None:
                self._items.pop(key, None)
            else:
                self._items[key] = Item(key, value, self._revision)


async def _in_thread(call: Callable[..., None], *args: object) -> None:
    await asyncio.get_running_loop().run_in_executor(None, call, *args)


def _entry(values: Mapping[str, bytes | None]) -> bytes:
    body = bytearray(_U32.pack(len(values)))
    for key, value in values.items():
        name = key.encode()
        body += _U32.pack(len(name)) + name
        body += _U32.pack(_NONE) if value is None else _U32.pack(len(value)) + value
    return _HEADER.pack(len(body), crc32c(body)) + body


def _entries(data: bytes) -> Iterator[tuple[dict[str, bytes | None], int]]:
    """Every whole entry from the start, and where it ends."""
    position = 0
    while (body := _body(data, position)) is not None:
        position += _HEADER.size + len(body)
        yield _values(body), position


def _body(data: bytes, position: int) -> bytes | None:
    if position + _HEADER.size > len(data):
        return None
    length, crc = _HEADER.unpack_from(data, position)
    body = data[position + _HEADER.size : position + _HEADER.size + length]
    if length < _U32.size or len(body) < length or crc32c(body) != crc:
        return None
    return body


def _values(body: bytes) -> dict[str, bytes | None]:
    values: dict[str, bytes | None] = {}
    (count,) = _U32.unpack_from(body)
    position = _U32.size
    for _ in range(count):
        (size,) = _U32.unpack_from(body, position)
        key = body[position + 4 : position + 4 + size].decode()
        position += 4 + size
        (size,) = _U32.unpack_from(body, position)
        position += 4
        if size == _NONE:
            values[key] = None
        else:
            values[key] = body[position : position + size]
            position += size
    return values


def _refuse_damage(data: bytes, end: int) -> None:
    for position in range(end + 1, len(data) - _HEADER.size):
        if _body(data, position) is not None:
            raise RegistryDamaged(
                f"{_PATH} is damaged at byte {end}, before entries that are whole: "
                "restore it from a backup, or from the disk's snapshot; nothing was changed"
            )
