"""Work that would hold up the loop, done in a thread."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_TURN_SECONDS: Final = 0.0002


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


@contextmanager
def short_turns() -> Iterator[None]:
    """While a thread computes for long: let the loop have its turn soon whenever it has something to do.

    Python lets one thread at a time run, and one that only computes gives way
    after 5 ms, which somebody who waits for an acknowledgement would notice
    several times over.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
