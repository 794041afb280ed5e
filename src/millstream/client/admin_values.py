"""What an administrator gets to see."""

from dataclasses import dataclass
from typing import Final, final

from millstream.client.topics import Node, TopicPartition

TOPIC: Final = 2  # resource types, as configs know them
BROKER: Final = 4

_SOURCES: Final = {1: "topic", 2: "broker", 3: "cluster", 4: "file", 5: "default", 6: "logger", 8: "group"}
_FROM_THE_TOPIC: Final = 1


@final
@dataclass(frozen=True)
class Config:
    """One setting of a topic or broker; *value* is None if it is secret or not set."""

    name: str
    value: str | None
    source_code: int
    read_only: bool = False
    sensitive: bool = False

    @property
    def source(self) -> str:
        """Where the value comes from."""
        return _SOURCES.get(self.source_code, "unknown")

    @property
    def overridden(self) -> bool:
        """Whether the topic itself sets it."""
        return self.source_code == _FROM_THE_TOPIC


@final
@dataclass(frozen=True)
class LogDir:
    """A directory on one broker: its partitions' sizes, and the disk's where the broker tells it."""

    broker: int
    path: str
    sizes: dict[TopicPartition, int]
    total_bytes: int | None
    usable_bytes: int | None


@final
@dataclass(frozen=True)
class GroupListing:
    """A group among all; *state* and *kind* are empty where brokers are too old to tell."""

    id: str
    protocol_type: str
    state: str
    kind: str
    coordinator: int


@final
@dataclass(frozen=True)
class GroupMember:
    """A member and what it was given; *partitions* is empty if its assignment is not a consumer's."""

    id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


@final
@dataclass(frozen=True)
class GroupDescription:
    """A group in full."""

    id: str
    state: str
    protocol_type: str
    protocol: str
    coordinator: Node
    members: tuple[GroupMember, ...]
