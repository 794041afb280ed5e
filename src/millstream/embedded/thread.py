"""An asyncio loop in a thread of its own, for programs that have no loop or must not share it.

So a caller that blocks, in a test or in a notebook, never blocks the broker.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar, final

T = TypeVar("T")

_NAME: Final = "millstream"


@final
class LoopThread:
    """Started when made. Everything that runs on the loop is given to `run` or `call`."""

    def __init__(self, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self.loop = make_loop()
        # A daemon: a program that forgets to stop its broker can still end.
        self._thread = threading.Thread(target=self._live, name=_NAME, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start *work* on the loop; what it gives comes in the future."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, function: Callable[[], T]) -> T:
        """What *function* returns on the loop."""
        result: Future[T] = Future()

        def there() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        self.loop.call_soon_threadsafe(there)
        return result.result()

    def stop(self) -> None:
        """End what still runs there, then the loop and its threads."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()
