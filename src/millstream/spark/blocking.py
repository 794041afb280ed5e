"""A client for code that cannot await: Spark calls us in plain functions, each in a process of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar, final

from millstream.spark.connection import Reach

T = TypeVar("T")


@final
class Blocking:
    """Runs its loop only while somebody waits for an answer. Use as `with Blocking(reach) as cluster`."""

    def __init__(self, reach: Reach) -> None:
        self._loop = asyncio.new_event_loop()
        self._reach = reach
        self.client = reach.client()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, call: Awaitable[T]) -> T:
        """What *call* returns."""
        return self._loop.run_until_complete(_awaited(call))

    def retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What *attempt* returns, tried again while failing looks temporary."""
        return self.run(self.client.retry(attempt))

    def begin(self, call: Awaitable[T]) -> "asyncio.Task[T]":
        """Have *call* send its request now; `run` the task for the answer."""
        return self.run(_begun(call))

    def close(self) -> None:
        if not self._loop.is_closed():
            self.run(_end_all())
            self.run(self.client.close())
            self._loop.close()


async def _awaited(call: Awaitable[T]) -> T:
    return await call


async def _begun(call: Awaitable[T]) -> "asyncio.Task[T]":
    task = asyncio.create_task(_awaited(call))
    await asyncio.sleep(0)
    return task


async def _end_all() -> None:
    """Give up what is under way: nobody will ask for its answer."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
