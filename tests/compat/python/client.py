"""What a client written in Python, or run from it, must know to do to be asked the scenarios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

MOMENT: Final = 0.2  # how many seconds a poll waits for something to come
SECONDS: Final = 90.0  # how long any one call may take


@dataclass(frozen=True)
class Record:
    """One to be written, or one that was read."""

    value: bytes | None = None
    key: bytes | None = None
    partition: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()
    time: int | None = None  # ms; None: now
    offset: int = -1


@dataclass(frozen=True)
class Writing:
    """How a producer is set up."""

    acks: str = "all"
    codec: str = "none"
    by_key: bool = False  # the client chooses partitions
    idempotent: bool = False
    transactional: str = ""  # a transactional id


@dataclass(frozen=True)
class Reading:
    """How a consumer is set up. Without a group it reads all partitions from their beginning."""

    topic: str
    group: str = ""
    instance: str = ""  # a static member's name
    protocol: str = "eager"  # or "cooperative", or "modern"
    committed: bool = False  # read_committed


class Producer(Protocol):
    def send(self, topic: str, records: Sequence[Record]) -> list[int]:
        """Write *records*, wait until they are acknowledged, and give their offsets."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Consumer(Protocol):
    def poll(self) -> list[Record]:
        """What came within a moment, maybe nothing."""

    def owned(self) -> list[int]: ...
    def revoked(self) -> list[int]:
        """Every partition that was ever taken away."""

    def commit(self) -> None: ...
    def seek(self, partition: int, offset: int) -> None: ...
    def seek_time(self, partition: int, time: int) -> None: ...
    def pause(self, partition: int) -> None: ...
    def resume(self, partition: int) -> None: ...
    def close(self) -> None: ...


class Admin(Protocol):
    def create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None: ...
    def delete(self, topic: str) -> None: ...
    def grow(self, topic: str, partitions: int) -> None: ...
    def partitions(self, topic: str) -> int:
        """How many there are; 0 if there is no such topic."""

    def configs(self, topic: str) -> dict[str, str]: ...
    def set_config(self, topic: str, name: str, value: str) -> None: ...
    def offset(self, topic: str, partition: int, time: int) -> int:
        """The first offset at or after *time*; -2 asks for the first of all, -1 for the next."""

    def groups(self) -> list[str]: ...
    def modern_groups(self) -> list[str]: ...
    def group(self, group: str) -> tuple[str, int]:
        """Its state and how many members it has."""

    def delete_group(self, group: str) -> None: ...
    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None: ...
    def group_offset(self, group: str, topic: str, partition: int) -> int: ...
    def delete_records(self, topic: str, partition: int, before: int) -> None: ...
    def log_dirs(self, topic: str) -> int:
        """How many bytes the topic takes up."""


class Client(Protocol):
    version: str
    not_applicable: ClassVar[Mapping[str, str]]  # by scenario, why the client cannot be asked
    a_command: ClassVar[bool]  # takes header values as text only, and tells no offsets

    @property
    def admin(self) -> Admin: ...
    def producer(self, how: Writing) -> Producer: ...
    def consumer(self, how: Reading) -> Consumer: ...
    def transform(self, source: str, to: str, group: str, transactional: str, commit: bool) -> None:
        """Copy all that *group* has not read of *source* in one transaction, offsets included."""
