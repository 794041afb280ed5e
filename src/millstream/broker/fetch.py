"""Fetch: committed batches of many partitions, at once or when enough have come."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Final, Protocol, final

from millstream.broker.config import BrokerConfig
from millstream.broker.waiting import Hosted
from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Partition
from millstream.storage.log import Slice
from millstream.storage.txn_index import AbortedTransaction

_PARTITIONS_A_SLICE: Final = 2_000  # read in one go before others get the loop


@final
class Wanted:
    """What one fetch asks of one partition; *epoch* is -1 if the client does not say who it thinks leads.

    With *read_committed*, nothing of a transaction is wanted before it is
    decided, and to be told which were aborted.
    """

    __slots__ = ("epoch", "index", "last_epoch", "max_bytes", "offset", "read_committed", "refused", "topic")

    def __init__(
        self,
        topic: str,
        index: int,
        offset: int,
        max_bytes: int,
        epoch: int = -1,
        last_epoch: int = -1,
        refused: ErrorCode | None = None,
        read_committed: bool = False,
    ) -> None:
        self.topic = topic
        self.index = index
        self.offset = offset
        self.max_bytes = max_bytes
        self.epoch = epoch
        self.last_epoch = last_epoch
        self.refused = refused
        self.read_committed = read_committed


@final
class Found:
    """What one partition gave. *diverging* is (epoch, end offset) where the client's log left ours.

    *aborted* are the transactions of which nothing in *records* counts; None
    for who did not ask. *has_more* says that there are records which this
    answer could not hold, or which lie in the next segment.
    """

    __slots__ = (
        "aborted",
        "diverging",
        "error",
        "has_more",
        "high_watermark",
        "last_stable_offset",
        "records",
        "start_offset",
    )

    def __init__(
        self,
        error: ErrorCode = ErrorCode.NONE,
        high_watermark: int = -1,
        start_offset: int = -1,
        records: Slice | None = None,
        diverging: tuple[int, int] | None = None,
        last_stable_offset: int = -1,
        aborted: list[AbortedTransaction] | None = None,
    ) -> None:
        self.error = error
        self.has_more = False
        self.high_watermark = high_watermark
        self.start_offset = start_offset
        self.records = records
        self.diverging = diverging
        self.last_stable_offset = last_stable_offset
        self.aborted = aborted


class Served(Protocol):
    """Knows the partitions there are."""

    def hosted(self, name: str, index: int) -> Hosted:
        """Raises Refused unless there is such a partition."""
        ...


def _nobody(size: int) -> None: ...


@final
class Fetch:
    """Reads for clients, and parks those who would rather wait."""

    def __init__(self, topics: Served, config: Callable[[], BrokerConfig]) -> None:
        self.bytes = 0
        self.stopping = False
        self._waiting: dict[Waiting, None] = {}
        self._topics = topics
        self._config = config

    def read(
        self,
        wanted: Sequence[Wanted],
        max_bytes: int,
        min_bytes: int,
        max_wait_ms: int,
        taken: Callable[[int], None] = _nobody,
    ) -> "list[Found] | Waiting | Awaitable[list[Found]]":
        """A result for each of *wanted*, in order: at once if that will do, else when it can be had.

        *taken* is told how many bytes of records it has, if any.
        """
        config = self._config()
        max_bytes = min(max_bytes, config.fetch_max_bytes)
        min_bytes = min(min_bytes, max_bytes)
        max_wait_ms = min(max_wait_ms, config.fetch_max_wait_ms)
        if len(wanted) > _PARTITIONS_A_SLICE:
            return self._read_many(wanted, max_bytes, taken)
        found = self.look(wanted, max_bytes)
        size, is_all = weigh(found)
        # Who wants nothing, as a client that ends its session, has nothing to wait for.
        if not wanted or max_wait_ms <= 0 or is_all or size >= min_bytes or self.stopping:
            self.count(size, taken)
            return found
        return Waiting(self, wanted, max_bytes, min_bytes, max_wait_ms / 1000, taken)

    def stop(self) -> None:
        """Answer every waiting fetch with what there is."""
        self.stopping = True
        for waiting in list(self._waiting):
            waiting.wake()

    def park(self, waiting: "Waiting", wanted: Sequence[Wanted]) -> list[Hosted]:
        """Have *waiting* woken when any of *wanted* moves; where it is parked now."""
        self._waiting[waiting] = None
        parked = []
        for each in wanted:
            try:
                hosted = self._topics.hosted(each.topic, each.index)
            except Refused:
                continue  # deleted while we looked: the next read says so
            hosted.park(waiting, stable=each.read_committed)
            parked.append(hosted)
        return parked

    def unpark(self, waiting: "Waiting", parked: Sequence[Hosted]) -> None:
        self._waiting.pop(waiting, None)
        for each in parked:
            each.unpark(waiting)

    def count(self, size: int, taken: Callable[[int], None]) -> None:
        """Somebody gets *size* bytes of records."""
        if size:
            self.bytes += size
            taken(size)

    async def _read_many(
        self, wanted: Sequence[Wanted], max_bytes: int, taken: Callable[[int], None]
    ) -> list[Found]:
        found: list[Found] = []
        for first in range(0, len(wanted), _PARTITIONS_A_SLICE):
            some = self.look(wanted[first : first + _PARTITIONS_A_SLICE], max_bytes)
            max_bytes -= weigh(some)[0]
            found += some
            await asyncio.sleep(0)
        self.count(weigh(found)[0], taken)
        return found

    def look(self, wanted: Sequence[Wanted], max_bytes: int) -> list[Found]:
        """What there is."""
        found = []
        first = True  # whoever has something first gets a whole batch, however large
        for each in wanted:
            result = self._read_one(each, max_bytes, first)
            if result.records is not None:
                max_bytes -= result.records.size
                first = False
            found.append(result)
        return found

    def _read_one(self, wanted: Wanted, max_bytes: int, first: bool) -> Found:
        if wanted.refused is not None:
            return Found(wanted.refused)
        try:
            partition = self._topics.hosted(wanted.topic, wanted.index).partition
        except Refused as refusal:
            return Found(refusal.code)
        return self.look_at(partition, wanted, max_bytes, first)

    def look_at(self, partition: Partition, wanted: Wanted, max_bytes: int, first: bool) -> Found:
        """What there is in *partition*; who is the *first* gets a whole batch, however large."""
        try:
            partition.check_epoch(wanted.epoch)
        except Refused as refusal:
            return Found(refusal.code)
        found = Found(ErrorCode.NONE, partition.high_watermark, partition.log.start_offset)
        try:
            stable = found.last_stable_offset = partition.last_stable_offset
            if wanted.last_epoch >= 0:
                found.diverging = _divergence(
                    partition.log.epochs.end_of(wanted.last_epoch, partition.log.end_offset), wanted
                )
                if found.diverging is not None:
                    return found
            limit = min(wanted.max_bytes, max_bytes)
            if limit > 0 or first:
                records = partition.read(wanted.offset, max(limit, 0), wanted.read_committed)
                if records is not None:
                    if first or records.size <= limit:
                        found.records = records
                        seen = stable if wanted.read_committed else found.high_watermark
                        found.has_more = records.end_offset < seen
                    else:
                        found.has_more = True
            if wanted.read_committed:
                found.aborted = _aborted(partition, wanted.offset, found.records)
        except Refused as refusal:
            found.error = refusal.code
        return found


@final
class Waiting:
    """A fetch that waits for enough to come.

    It can be awaited; whoever is in a hurry is called by it instead, in the
    turn that finds enough.
    """

    __slots__ = (
        "_done",
        "_failed",
        "_fetch",
        "_loop",
        "_max_bytes",
        "_min_bytes",
        "_outcome",
        "_parked",
        "_soon",
        "_taken",
        "_timer",
        "_wanted",
    )

    def __init__(
        self,
        fetch: Fetch,
        wanted: Sequence[Wanted],
        max_bytes: int,
        min_bytes: int,
        seconds: float,
        taken: Callable[[int], None],
    ) -> None:
        """To be made in the turn that has not found enough: nothing can have come in between."""
        self._fetch = fetch
        self._wanted = wanted
        self._max_bytes = max_bytes
        self._min_bytes = min_bytes
        self._taken = taken
        self._done: Callable[[list[Found]], None] | None = None
        self._failed: Callable[[Exception], None] | None = None
        self._outcome: list[Found] | Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._soon: asyncio.Handle | None = None
        self._timer = self._loop.call_later(seconds, self._look, True)
        self._parked = fetch.park(self, wanted)

    @property
    def partitions(self) -> int:
        """How many it looks at."""
        return len(self._wanted)

    def then(self, done: Callable[[list[Found]], None], failed: Callable[[Exception], None]) -> None:
        """Call *done* with what is found, or *failed* with why nothing can be."""
        self._done = done
        self._failed = failed
        if self._outcome is not None:
            self._tell()

    def __await__(self) -> Generator[Any, None, list[Found]]:
        future: asyncio.Future[list[Found]] = self._loop.create_future()
        self.then(future.set_result, future.set_exception)
        try:
            return (yield from future)
        finally:
            self.cancel()

    def wake(self) -> None:
        if self._soon is None:
            self._soon = self._loop.call_soon(self._look, False)  # what else this turn brings comes along

    def cancel(self) -> None:
        """Wait no longer; nobody is called."""
        self._timer.cancel()
        if self._soon is not None:
            self._soon.cancel()
        self._fetch.unpark(self, self._parked)

    def _look(self, is_over: bool) -> None:
        fetch = self._fetch
        if not is_over:
            self._soon = None
        parked, wanted = self._parked, self._wanted
        try:
            if len(wanted) == 1 and parked and not parked[0].dropped:  # as most do
                found = [fetch.look_at(parked[0].partition, wanted[0], self._max_bytes, True)]
            else:
                found = fetch.look(wanted, self._max_bytes)
        except Exception as error:
            self._outcome = error
        else:
            size, is_all = weigh(found)
            if not (is_over or is_all or size >= self._min_bytes or fetch.stopping):
                # A partition that woke us may have been deleted, and another made in its place.
                fetch.unpark(self, parked)
                self._parked = fetch.park(self, wanted)
                return
            fetch.count(size, self._taken)
            self._outcome = found
        self.cancel()
        self._tell()

    def _tell(self) -> None:
        outcome, done, failed = self._outcome, self._done, self._failed
        if isinstance(outcome, Exception):
            if failed is not None:
                failed(outcome)
        elif done is not None and outcome is not None:
            done(outcome)


def _aborted(partition: Partition, offset: int, records: Slice | None) -> list[AbortedTransaction]:
    return [] if records is None else partition.aborted(offset, records.end_offset)


def _divergence(end: tuple[int, int], wanted: Wanted) -> tuple[int, int] | None:
    epoch, end_offset = end
    if epoch < wanted.last_epoch or end_offset < wanted.offset:
        return end
    return None


def weigh(found: Sequence[Found]) -> tuple[int, bool]:
    """How many bytes of records *found* holds, and whether to wait would not make it more."""
    size, is_all = 0, False
    for each in found:
        if each.records is not None:
            size += each.records.size
        # To wait for more than one answer holds would be to wait for nothing: the next fetch finds it.
        if each.error or each.has_more or each.diverging is not None:
            is_all = True
    return size, is_all
