"""Answers to what the broker may know at once and may not."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from millstream.errors import Refused
from millstream.wire.message import Message

T = TypeVar("T")
M = TypeVar("M", bound=Message)


def once_settled(future: "asyncio.Future[T]", answer: "Callable[[asyncio.Future[T]], M]") -> M | Awaitable[M]:
    """What *answer* makes of *future* when that is done; if it is already, at once and without a task."""
    return answer(future) if future.done() else _later(future, answer)


async def _later(future: "asyncio.Future[T]", answer: "Callable[[asyncio.Future[T]], M]") -> M:
    with suppress(Refused):  # the answer tells
        await future
    return answer(future)
