"""A fetch's answer, which comes when there is something to answer."""

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar, final

from millstream.broker.fetch import Found, Waiting
from millstream.wire.message import Message

M = TypeVar("M", bound=Message)


@final
class Postponed(Generic[M]):
    """What *answer* makes of what *waiting* finds. It can be awaited; a connection is called instead."""

    __slots__ = ("_answer", "_done", "_failed", "_waiting", "partitions")

    def __init__(self, waiting: Waiting, answer: Callable[[list[Found]], M]) -> None:
        self.partitions = waiting.partitions  # how many it asks for
        self._waiting = waiting
        self._answer = answer
        self._done: Callable[[M], None] | None = None
        self._failed: Callable[[Exception], None] | None = None

    def then(self, done: Callable[[M], None], failed: Callable[[Exception], None]) -> None:
        """Call *done* with the answer, or *failed* with a bug of ours, also if *done* itself has it."""
        self._done = done
        self._failed = failed
        self._waiting.then(self._found, failed)

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._waiting.cancel()

    def __await__(self) -> Generator[Any, None, M]:
        return self._answer((yield from self._waiting.__await__()))

    def _found(self, found: list[Found]) -> None:
        assert self._done is not None
        assert self._failed is not None
        try:
            self._done(self._answer(found))
        except Exception as error:
            self._failed(error)
