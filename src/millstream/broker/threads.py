"""Work that would hold up the loop, done in a thread."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """What *call* returns. A thread cannot be stopped: whoever is cancelled here waits for it all the same.

    So nothing is still at work on the disk when its caller is gone.
    """
    future = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # seen; a disk that has failed says so again to whoever asks next
        raise
