"""Callers parked until something commits."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol, final

from millstream.broker.traffic import Traffic
from millstream.errors import Refused
from millstream.partition.partition import Partition

log = logging.getLogger(__name__)


class Sleeper(Protocol):
    """Whoever waits on partitions."""

    def wake(self) -> None: ...


@final
class Parked:
    """Somebody who waits on many partitions for the first of them to move.

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
        self._acks: deque[tuple[int, Callable[[Refused | None], None]]] | None = None
        self._parked: dict[Sleeper, bool] | None = None  # and whether it waits for what is stable

    def acked(self, end_offset: int) -> "asyncio.Future[None] | None":
        """Done once all below *end_offset* is committed; None if it is already."""
        if end_offset <= self.partition.high_watermark:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.when_safe(end_offset, partial(_settle, future))
        return future

    def when_safe(self, end_offset: int, tell: Callable[[Refused | None], None]) -> bool:
        """Have *tell* called once all below *end_offset* is committed, or will never be; False if it is.

        As `acked`, without what a future costs and without a turn of the loop: *tell* is
        called from the midst of the commit, with others still to be told. What it raises is logged.
        """
        if end_offset <= self.partition.high_watermark:
            return False
        if self._acks is None:
            self._acks = deque()
        self._acks.append((end_offset, tell))
        return True

    def park(self, parked: Sleeper, *, stable: bool = False) -> None:
        if self._parked is None:
            self._parked = {}
        self._parked[parked] = stable

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits on it."""
        return self._parked is not None or self._acks is not None

    @property
    def has_readers_waiting(self) -> bool:
        """Whether any of them would read what comes next."""
        return self._parked is not None

    def unpark(self, parked: Sleeper) -> None:
        if self._parked is not None:
            self._parked.pop(parked, None)
            if not self._parked:
                self._parked = None

    def committed(self) -> None:
        """Commit what is safe by now, and tell those who waited for it."""
        if self._parked is None and self._acks is None:
            self.partition.commit()
            return
        waits_for_stable = self._parked is not None and True in self._parked.values()
        was_stable = self._stable_offset() if waits_for_stable else 0
        if not self.partition.commit():
            return
        if self._acks is not None:
            high_watermark = self.partition.high_watermark
            acks = self._acks
            while acks and acks[0][0] <= high_watermark:
                _tell(acks.popleft()[1], None)
            if not acks and self._acks is acks:
                self._acks = None
        if self._parked is not None:
            moved = waits_for_stable and self._stable_offset() != was_stable
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
        for _, tell in acks or ():
            _tell(tell, refusal)
        self.wake()


def _tell(tell: Callable[[Refused | None], None], refusal: Refused | None) -> None:
    try:
        tell(refusal)
    except Exception:
        log.exception("one that waited for a commit failed when it was told")


def _settle(future: "asyncio.Future[None]", refusal: Refused | None) -> None:
    if future.done():
        return
    if refusal is None:
        future.set_result(None)
    else:
        future.set_exception(refusal)
        future.exception()  # a caller that has gone must not be reported as having ignored it
