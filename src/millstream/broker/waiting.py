"""Callers parked until something commits."""

import asyncio
from collections import deque
from typing import final

from millstream.broker.traffic import Traffic
from millstream.errors import Refused
from millstream.partition.partition import Partition


@final
class Parked:
    """A fetch that waits on many partitions for the first of them to move.

    Each is watched for its high watermark or, by a reader of committed records,
    for its last stable offset.
    """

    __slots__ = ("_hosted", "_timer", "woken")

    def __init__(self, hosted: "list[tuple[Hosted, bool]]", seconds: float) -> None:
        """*hosted* are the partitions, each with whether only what is stable counts."""
        loop = asyncio.get_running_loop()
        self.woken: asyncio.Future[bool] = loop.create_future()
        self._hosted = hosted
        self._timer = loop.call_later(seconds, self._expire)
        for each, stable in hosted:
            each.park(self, stable=stable)

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(True)

    def leave(self) -> None:
        """Stop waiting everywhere; to be called whatever became of the wait."""
        self._timer.cancel()
        for each, _ in self._hosted:
            each.unpark(self)

    def _expire(self) -> None:
        if not self.woken.done():
            self.woken.set_result(False)


@final
class Hosted:
    """A partition this node serves, and everyone who waits on it."""

    __slots__ = ("_acks", "_parked", "dropped", "partition", "syncing", "traffic")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.syncing = False
        self.dropped = False
        self.traffic: Traffic | None = None  # what clients have written since the start
        self._acks: deque[tuple[int, asyncio.Future[None]]] | None = None
        self._parked: dict[Parked, bool] | None = None  # and whether it waits for what is stable

    def acked(self, end_offset: int) -> "asyncio.Future[None] | None":
        """Done once all below *end_offset* is committed; None if it is already."""
        if end_offset <= self.partition.high_watermark:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._acks is None:
            self._acks = deque()
        self._acks.append((end_offset, future))
        return future

    def park(self, parked: Parked, *, stable: bool = False) -> None:
        if self._parked is None:
            self._parked = {}
        self._parked[parked] = stable

    def unpark(self, parked: Parked) -> None:
        if self._parked is not None:
            self._parked.pop(parked, None)
            if not self._parked:
                self._parked = None

    def committed(self) -> None:
        """Commit what is safe by now, and tell those who waited for it."""
        was_stable = self._stable_offset() if self._parked is not None else 0
        if not self.partition.commit():
            return
        if self._acks is not None:
            high_watermark = self.partition.high_watermark
            acks = self._acks
            while acks and acks[0][0] <= high_watermark:
                future = acks.popleft()[1]
                if not future.done():
                    future.set_result(None)
            if not acks:
                self._acks = None
        if self._parked is not None:
            moved = self._stable_offset() != was_stable
            for parked, stable in list(self._parked.items()):
                if moved or not stable:
                    parked.wake()

    def wake(self) -> None:
        """Let every parked fetch look again."""
        if self._parked is not None:
            for parked in list(self._parked):
                parked.wake()

    def _stable_offset(self) -> int:
        try:
            return self.partition.last_stable_offset
        except Refused:
            return -1  # it has just gone offline: whoever reads next is told

    def drop(self, refusal: Refused) -> None:
        """The partition is no longer served: nobody may wait on it."""
        self.dropped = True
        acks, self._acks = self._acks, None
        for _, future in acks or ():
            if not future.done():
                future.set_exception(refusal)
                future.exception()  # a caller that has gone must not be reported as having ignored it
        self.wake()
