"""What a consumer hands out and where it stands."""

from typing import NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]


class TopicPartition(NamedTuple):
    """A partition's name. Sorts by topic, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Message(NamedTuple):
    """A record and where it was found."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
