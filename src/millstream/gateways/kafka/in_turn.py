"""An answer that takes its time, and that nothing else of the same client may overtake."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, final

from millstream.wire.message import Message

Settled = Message | Awaitable[Message | None] | None


@final
class InTurn:
    """What *work* answers, once *ready* is done; *answer* is done when it was called.

    The connection begins nothing else before that, so order is kept, and no
    more than one request of it waits in memory.
    """

    __slots__ = ("_work", "answer")

    def __init__(self, ready: "asyncio.Future[Any]", work: Callable[[], Settled]) -> None:
        self.answer: asyncio.Future[Settled] = asyncio.get_running_loop().create_future()
        self._work: Callable[[], Settled] | None = work
        ready.add_done_callback(self._run)

    def _run(self, ready: "asyncio.Future[Any]") -> None:
        work, self._work = self._work, None
        if self.answer.done() or work is None:
            return  # the client has gone
        try:
            if not ready.cancelled():
                ready.result()
            answer = work()
        except Exception as error:
            self.answer.set_exception(error.with_traceback(None))
        else:
            self.answer.set_result(answer)


Answer = Settled | InTurn


def in_turn(work: "Coroutine[Any, Any, Message | None]") -> InTurn:
    """The answer of *work*, which ends with its client; none of it is done when this returns."""
    task = asyncio.ensure_future(work)
    turn = InTurn(task, lambda: None if task.cancelled() else task.result())
    turn.answer.add_done_callback(lambda _: task.cancel())
    return turn


async def said(answer: Answer) -> Message | None:
    """What *answer* comes to in the end."""
    if isinstance(answer, InTurn):
        answer = await answer.answer
    return await answer if isinstance(answer, Awaitable) else answer
