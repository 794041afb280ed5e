"""A consumer that is polled without a break, in a thread of its own, as an application would."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar, final

from tests.compat.python.client import MOMENT, SECONDS, Record

T = TypeVar("T")


@final
class Pump:
    """*poll* is called over and over; what it gives is kept until asked for, in order."""

    def __init__(self, poll: Callable[[], list[Record]], close: Callable[[], None]) -> None:
        self._poll = poll
        self._close = close
        self._records: SimpleQueue[Record] = SimpleQueue()
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._leaving = threading.Event()
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def take(self) -> list[Record]:
        """What came, or comes within a moment."""
        if self._problem is not None:
            raise self._problem
        got = []
        try:
            got.append(self._records.get(timeout=MOMENT))
            while True:
                got.append(self._records.get(timeout=0.005))
        except Empty:
            return got

    def call(self, what: Callable[[], T]) -> T:
        """Do *what* between two polls: few consumers may be used by two threads at once."""
        done: Future[T] = Future()

        def tell() -> None:
            try:
                done.set_result(what())
            except BaseException as problem:
                done.set_exception(problem)

        self._calls.put(tell)
        return done.result(SECONDS)

    def close(self) -> None:
        self._leaving.set()
        self._thread.join(SECONDS)

    def _work(self) -> None:
        try:
            while not self._leaving.is_set():
                while not self._calls.empty():
                    self._calls.get()()
                for record in self._poll():
                    self._records.put(record)
        except BaseException as problem:
            self._problem = problem
        finally:
            self._close()
