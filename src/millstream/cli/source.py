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
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(fd, ready.set)
    except PermissionError:  # epoll takes no plain file, and need not: reading one does not wait
        while chunk := os.read(fd, _CHUNK):
            yield chunk
            await asyncio.sleep(0)
        return
    try:
        while True:
            await ready.wait()
            chunk = os.read(fd, _CHUNK)
            if not chunk:
                return
            ready.clear()
            yield chunk
    finally:
        loop.remove_reader(fd)
