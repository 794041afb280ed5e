"""Work that is finished once it is begun, whoever goes away meanwhile."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from millstream.errors import Refused

log = logging.getLogger(__name__)

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What *work* returns; it goes on even if its caller is cancelled."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(_heard)
    return await asyncio.shield(task)


def _heard(task: "asyncio.Future[Any]") -> None:
    """A refusal that nobody is left to hear is no failure; anything else is."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, Refused):
        log.error("a change failed", exc_info=error)
