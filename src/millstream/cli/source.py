"""Lines from files and pipes, without a thread: the loop says when a pipe has something."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final

_CHUNK: Final = 1 << 18


async def lines(fd: int) -> AsyncIterator[list[bytes]]:
    """The lines of *fd*, without their ends, as many at a time as a read brings."""
    rest = b""
    async for chunk in _chunks(fd):
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield whole
    if rest:
        yield [rest]


async def _chunks(fd: int) -> AsyncIterator[bytes]:
    while chunk := await _read(fd):
        yield chunk


async def _read(fd: int) -> bytes:
    """What there is to read, once there is something; nothing at the end."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def readable() -> None:
        # Read here, where the loop has just said that it will not wait, and once only.
        loop.remove_reader(fd)
        if not arrived.done():
            arrived.set_result(os.read(fd, _CHUNK))

    try:
        loop.add_reader(fd, readable)
    except PermissionError:  # epoll takes no plain file, and need not: reading one does not wait
        await asyncio.sleep(0)
        return os.read(fd, _CHUNK)
    try:
        return await arrived
    finally:
        loop.remove_reader(fd)
