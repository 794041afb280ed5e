"""Busy polling: looking for the next request for a moment before the node falls asleep.

To wake a process that sleeps takes the system longer than a small request takes
us. A client that sends one request after the other sends the next within some
tens of microseconds of its reply, so it pays to be awake by then. One that
took longer than that the last time is not waited for: a quiet node stays asleep,
and a burst costs one look in vain, at its end.
"""

import asyncio
import os
from math import inf
from time import monotonic
from typing import final


@final
class BusyPoll:
    """Keeps the loop from sleeping for so long after each reply, while requests follow that quickly."""

    __slots__ = ("_replied_at", "_seconds", "gap_us", "polling")

    def __init__(self, microseconds: int) -> None:
        self._seconds = poll_us(microseconds) / 1_000_000
        self._replied_at = -inf
        self.gap_us = inf  # from a reply to the request that came last
        self.polling = False  # whether the loop is kept awake

    def received(self) -> None:
        """Something came from a client."""
        self.gap_us = (monotonic() - self._replied_at) * 1_000_000

    def replied(self) -> None:
        """Something was sent to a client."""
        self._replied_at = monotonic()
        if self.gap_us < self._seconds * 1_000_000 and not self.polling:
            self.polling = True
            asyncio.get_running_loop().call_soon(self._poll)

    def _poll(self) -> None:
        if monotonic() - self._replied_at < self._seconds:
            asyncio.get_running_loop().call_soon(self._poll)  # the loop does not sleep while this is due
        else:
            self.polling = False


def epoll_of(loop: asyncio.AbstractEventLoop) -> int | None:
    """The descriptor by which *loop* hears of its sockets; None if it does not tell, or has another way."""
    backend = getattr(loop, "_get_backend_id", None)  # uvloop's; of asyncio's own loop the selector has it
    try:
        return int(backend() if backend is not None else loop._selector.fileno())  # type: ignore[attr-defined]
    except AttributeError:
        return None


def poll_us(microseconds: int) -> int:
    """For how long to look out: as told, unless on one processor, where nobody could run meanwhile."""
    return microseconds if _processors() > 1 else 0


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
