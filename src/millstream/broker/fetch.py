"""Fetch: committed batches of many partitions, at once or when enough have come."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, final

from millstream.broker.config import BrokerConfig
from millstream.broker.waiting import Hosted, Parked
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


@final
class Fetch:
    """Reads for clients, and parks those who would rather wait."""

    def __init__(self, topics: Served, config: Callable[[], BrokerConfig]) -> None:
        self.bytes = 0
        self._stopping = False
        self._parked: dict[Parked, None] = {}
        self._topics = topics
        self._config = config

    def read(
        self, wanted: Sequence[Wanted], max_bytes: int, min_bytes: int, max_wait_ms: int
    ) -> list[Found] | Awaitable[list[Found]]:
        """A result for each of *wanted*, in order: at once if that will do, else when it can be had."""
        config = self._config()
        max_bytes = min(max_bytes, config.fetch_max_bytes)
        min_bytes = min(min_bytes, max_bytes)
        max_wait_ms = min(max_wait_ms, config.fetch_max_wait_ms)
        if len(wanted) > _PARTITIONS_A_SLICE:
            return self._read_many(wanted, max_bytes)
        found = self._read(wanted, max_bytes)
        # Who wants nothing, as a client that ends its session, has nothing to wait for.
        if not wanted or max_wait_ms <= 0 or self._stopping or _enough(found, min_bytes):
            return self._counted(found)
        return self._wait(wanted, max_bytes, min_bytes, max_wait_ms)

    def stop(self) -> None:
        """Answer every parked fetch with what there is."""
        self._stopping = True
        for parked in list(self._parked):
            parked.wake()

    async def _wait(
        self, wanted: Sequence[Wanted], max_bytes: int, min_bytes: int, max_wait_ms: int
    ) -> list[Found]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max_wait_ms / 1000
        woken = True
        while True:
            parked = Parked(self._hosted(wanted), deadline - loop.time())
            self._parked[parked] = None
            try:
                found = self._read(wanted, max_bytes)  # once parked: what came before that wakes nobody
                if not woken or self._stopping or _enough(found, min_bytes):
                    return self._counted(found)
                woken = await parked.woken
            finally:
                parked.leave()
                del self._parked[parked]

    async def _read_many(self, wanted: Sequence[Wanted], max_bytes: int) -> list[Found]:
        found: list[Found] = []
        for first in range(0, len(wanted), _PARTITIONS_A_SLICE):
            some = self._read(wanted[first : first + _PARTITIONS_A_SLICE], max_bytes)
            max_bytes -= bytes_in(some)
            found += some
            await asyncio.sleep(0)
        return self._counted(found)

    def _hosted(self, wanted: Sequence[Wanted]) -> list[tuple[Hosted, bool]]:
        hosted = []
        for each in wanted:
            try:
                hosted.append((self._topics.hosted(each.topic, each.index), each.read_committed))
            except Refused:
                continue  # deleted while we looked: the next read says so
        return hosted

    def _read(self, wanted: Sequence[Wanted], max_bytes: int) -> list[Found]:
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
            partition.check_epoch(wanted.epoch)
        except Refused as refusal:
            return Found(refusal.code)
        found = Found(ErrorCode.NONE, partition.high_watermark, partition.log.start_offset)
        try:
            found.last_stable_offset = partition.last_stable_offset
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
                        found.has_more = records.end_offset < partition.limit(wanted.read_committed)
                    else:
                        found.has_more = True
            if wanted.read_committed:
                found.aborted = _aborted(partition, wanted.offset, found.records)
        except Refused as refusal:
            found.error = refusal.code
        return found

    def _counted(self, found: list[Found]) -> list[Found]:
        self.bytes += bytes_in(found)
        return found


def _aborted(partition: Partition, offset: int, records: Slice | None) -> list[AbortedTransaction]:
    return [] if records is None else partition.aborted(offset, records.end_offset)


def _divergence(end: tuple[int, int], wanted: Wanted) -> tuple[int, int] | None:
    epoch, end_offset = end
    if epoch < wanted.last_epoch or end_offset < wanted.offset:
        return end
    return None


def _enough(found: Sequence[Found], min_bytes: int) -> bool:
    size = 0
    for each in found:
        # To wait for more than one answer holds would be to wait for nothing: the next fetch finds it.
        if each.error or each.has_more or each.diverging is not None:
            return True
        if each.records is not None:
            size += each.records.size
    return size >= min_bytes


def bytes_in(found: Sequence[Found]) -> int:
    """How many bytes of records *found* holds."""
    return sum(each.records.size for each in found if each.records is not None)
