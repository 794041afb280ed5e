"""Where what groups and transactions decide is kept, and how it is found again."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final, NamedTuple

NOBODY: Final = -1


class Writer(NamedTuple):
    """The producer in whose transaction something is written."""

    producer_id: int
    epoch: int


class Logged(NamedTuple):
    """A record as it is found again; *producer_id* is -1 unless it is part of a transaction."""

    key: bytes
    value: bytes | None
    producer_id: int = NOBODY


class Ended(NamedTuple):
    """A transaction of this producer ended here."""

    producer_id: int
    committed: bool


class ChangeLog(ABC):
    """A compacted log of changes, in partitions."""

    @property
    @abstractmethod
    def partitions(self) -> int:
        """How many there are, or will be."""

    @abstractmethod
    def is_empty(self, partition: int) -> bool:
        """Whether *partition* holds nothing, or there is no such partition yet."""

    @abstractmethod
    def append(
        self, partition: int, records: list[tuple[bytes, bytes | None]], writer: Writer | None = None
    ) -> asyncio.Future[None]:
        """Append *records*, (key, value) each, in this call; the future is done when they are committed.

        Raises Refused if nothing was appended. A future that fails means that
        nobody knows. With a *writer* they count once its transaction commits.
        """

    @abstractmethod
    def replay(self, partition: int) -> Iterator[Logged | Ended]:
        """All that *partition* holds, oldest first; nothing if there is no such partition yet."""


def done() -> "asyncio.Future[None]":
    """A future with nothing left to wait for."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    return future
