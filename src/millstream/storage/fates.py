"""What became of transactions, for who goes over a log from its start: all of them are decided there."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final, final

from millstream.records.batch import Batch
from millstream.storage.txn_index import AbortedTransaction

_ALL: Final = 1 << 63


@final
class Fates:
    """Tells which batches were aborted, and which markers have nothing left to decide.

    The *aborted* come in the order of their markers. They are read only as far
    ahead as they may have begun: those under way at one time are in memory, not all.
    """

    __slots__ = ("_aborted", "_begun", "_coming", "_met", "_read_below")

    def __init__(self, aborted: Iterator[AbortedTransaction]) -> None:
        self._aborted = aborted
        self._coming: list[tuple[int, int, int]] = []  # first offset, producer and last offset
        self._read_below = -1  # all that begin below this offset are known
        self._begun: dict[int, int] = {}  # where the aborted transaction of a producer ends that began last
        self._met: set[int] = set()  # producers of whose transaction there was a batch

    def is_aborted(self, batch: Batch) -> bool:
        """Whether the records of *batch*, which is transactional and comes next, do not count."""
        offset = batch.base_offset
        while self._read_below <= offset:
            following = next(self._aborted, None)
            if following is None:
                self._read_below = _ALL
                break
            heappush(self._coming, (following.first_offset, following.producer_id, following.last_offset))
            self._read_below = following.last_stable_offset
        while self._coming and self._coming[0][0] <= offset:
            _, producer_id, last_offset = heappop(self._coming)
            self._begun[producer_id] = last_offset
        self._met.add(batch.producer_id)
        return self._begun.get(batch.producer_id, -1) > offset

    def is_over(self, marker: Batch) -> bool:
        """Whether there was no batch of the transaction that *marker*, which comes next, ends."""
        self._begun.pop(marker.producer_id, None)
        if marker.producer_id in self._met:
            self._met.remove(marker.producer_id)
            return False
        return True
