"""What consumers of the classic protocol say to each other: what they read, and what each is given.

Metadata and assignments belong to the members. A broker looks inside only to
tell what topics are read, and while some members of a group speak the newer
protocol. A subscription of any version begins like version 0:

    i16 version, [topic: string], bytes? of the assignor's own
    1  [topic: string, [partition: i32]] that the member owns
    2  generation: i32
    3  rack: string?

    assignment  i16 version, [topic: string, [partition: i32]], bytes? of the assignor's own
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from millstream.errors import Refused
from millstream.wire.primitives import Reader, write_string

CONSUMER: Final = "consumer"
_OWNED_FROM: Final = 1
_GENERATION_FROM: Final = 2
_RACK_FROM: Final = 3
_OWNED_MIN_BYTES: Final = 6
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")


@final
@dataclass(frozen=True, slots=True)
class Subscription:
    """What one consumer reads, and the (topic, partition) it says it owns."""

    version: int
    topics: frozenset[str]
    owned: tuple[tuple[str, int], ...] = ()
    rack: str | None = None


def topics_of(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics named in *subscriptions*; None if one of them makes no sense."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            reader = Reader(subscription)
            reader.int16()
            topics.update(reader.string() for _ in range(reader.array(min_size=2)))
    except Refused:
        return None
    return frozenset(topics)


def read_subscription(metadata: bytes) -> Subscription:
    """All that is said in *metadata*; Refused if it makes no sense."""
    reader = Reader(metadata)
    version = reader.int16()
    topics = frozenset(reader.string() for _ in range(reader.array(min_size=2)))
    reader.nullable_bytes()
    owned = _read_partitions(reader) if version >= _OWNED_FROM else ()
    if version >= _GENERATION_FROM:
        reader.int32()
    rack = reader.nullable_string() if version >= _RACK_FROM else None
    return Subscription(version, topics, owned, rack)


def read_assignment(assignment: bytes) -> tuple[tuple[str, int], ...]:
    """The (topic, partition) of *assignment*, none if it has no bytes; Refused if it makes no sense."""
    if not assignment:
        return ()
    reader = Reader(assignment)
    reader.int16()
    return _read_partitions(reader)


def write_assignment(version: int, topics: Mapping[str, Sequence[int]]) -> bytes:
    out = bytearray(_I16.pack(version))
    out += _I32.pack(len(topics))
    for topic, partitions in topics.items():
        write_string(out, topic)
        out += struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    out += _I32.pack(-1)
    return bytes(out)


def _read_partitions(reader: Reader) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for _ in range(reader.array(_OWNED_MIN_BYTES)):
        topic = reader.string()
        found.extend((topic, reader.int32()) for _ in range(reader.array(4)))
    return tuple(found)
