"""Records that wait for their turn to be sent to one partition."""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final, Protocol, final

from millstream.client.topics import TopicPartition
from millstream.records.build import NewRecord

_MAX_RECORDS: Final = 100_000  # in one batch


@final
@dataclass(frozen=True)
class Delivered:
    """Where a record came to lie; *offset* is -1 if the broker did not say (acks 0)."""

    topic: str
    partition: int
    offset: int


@final
@dataclass(slots=True)
class Identity:
    """Who we are to one partition's leader, and the sequence of the next record."""

    producer_id: int
    epoch: int
    sequence: int = 0


NOBODY: Final = Identity(-1, -1, -1)


class Transaction(Protocol):
    """Decides, batch by batch, what a producer may write."""

    @property
    def transactional_id(self) -> str: ...

    @property
    def implicit(self) -> bool:
        """Whether the first batch itself makes a partition part of it."""
        ...

    async def enlist(self, partition: TopicPartition) -> Identity:
        """Who we are to *partition*, which is part of the transaction when this returns, or will be."""
        ...

    def spoilt(self, problem: Exception) -> None:
        """A batch was not delivered, or nobody knows: the rest must not be committed without it."""
        ...


@final
@dataclass(frozen=True)
class Outcome:
    """What became of one batch: *problem* is None if it was delivered, and *offset* is its first then."""

    partition: TopicPartition
    records: int
    offset: int
    problem: Exception | None = None


Promise = asyncio.Future[Delivered]


@final
class SendQueue:
    """Records on their way to one partition."""

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.records: deque[tuple[NewRecord, int, Promise | None]] = deque()
        self.size_bytes = 0
        self.identity: Identity | None = None
        self.spoilt = False
        self.sender: asyncio.Task[None] | None = None

    def put(self, record: NewRecord, size: int, delivered: Promise | None) -> None:
        self.records.append((record, size, delivered))
        self.size_bytes += size

    def take(self, limit_bytes: int) -> tuple[list[NewRecord], list[Promise | None], int]:
        """The oldest records, up to *limit_bytes* but at least one, with their futures and their size."""
        records: list[NewRecord] = []
        futures: list[Promise | None] = []
        taken = 0
        while self.records and len(records) < _MAX_RECORDS:
            record, size, delivered = self.records[0]
            if records and taken + size > limit_bytes:
                break
            self.records.popleft()
            records.append(record)
            futures.append(delivered)
            taken += size
        self.size_bytes -= taken
        return records, futures, taken
