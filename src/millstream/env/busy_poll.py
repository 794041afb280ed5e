"""Busy polling: looking for the next request for a moment before the node falls asleep.

To wake a process that sleeps takes the system longer than a small request takes
us. A client that sends one request after the other sends the next within some
tens of microseconds of its reply, so it pays to be awake by then. One that
took longer than that the last time is not waited for: a quiet node stays asleep,
and a burst costs one look in vain, at its end.
"""

import asyncio
import os
from time import monotonic
from typing import final


@final
class BusyPoll:
    """Keeps the loop from sleeping for so long after each reply, while requests follow that quickly."""

    __slots__ = ("_brisk", "_seconds", "_until", "polling")

    def __init__(self, microseconds: int) -> None:
        # On one processor the client could not run while we look out for it.
        self._seconds = microseconds / 1_000_000 if _processors() > 1 else 0.0
        self._until = 0.0
        self._brisk = False
        self.polling = False  # whether the loop is kept awake

    def received(self) -> None:
        """Something came from a client."""
        self._brisk = monotonic() < self._until

    def replied(self) -> None:
        """Something was sent to a client."""
        self._until = monotonic() + self._seconds
        if self._brisk and not self.polling:
            self.polling = True
            asyncio.get_running_loop().call_soon(self._poll)

    def _poll(self) -> None:
        if monotonic() < self._until:
            asyncio.get_running_loop().call_soon(self._poll)  # the loop does not sleep while this is due
        else:
            self.polling = False


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
