"""What members of a consumer group tell each other, as opaque bytes to the broker.

A subscription travels in JoinGroup, an assignment in SyncGroup. Both begin with
a version; a reader takes the fields it knows and ignores what newer versions
append, so these are read leniently and written as version 3 and 1.

    Subscription   i16 version  [topic: string]  bytes user_data
                   1+ [topic: string [partition: i32]]   owned until this rebalance
                   2+ i32 generation   3+ string? rack
    Assignment     i16 version  [topic: string [partition: i32]]  bytes user_data
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused

_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_SUBSCRIPTION_VERSION: Final = 3
_ASSIGNMENT_VERSION: Final = 1


@final
@dataclass(frozen=True)
class Subscription:
    """What one member wants, and what it holds until told otherwise."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    user_data: bytes | None = None
    rack: str | None = None

    def encode(self) -> bytes:
        """As a JoinGroup protocol's metadata."""
        out = bytearray(_I16.pack(_SUBSCRIPTION_VERSION))
        out += _I32.pack(len(self.topics))
        for topic in self.topics:
            _put_string(out, topic)
        _put_bytes(out, self.user_data)
        _put_partitions(out, self.owned)
        out += _I32.pack(self.generation)
        _put_string(out, self.rack)
        return bytes(out)

    @classmethod
    def decode(cls, data: bytes) -> "Subscription":
        """Read a member's metadata; Refused if it is not a subscription."""
        source = _Source(data)
        version = source.i16()
        topics = tuple(source.string() or "" for _ in range(source.count()))
        user_data = source.bytes_()
        owned = source.partitions() if version >= 1 and source.more() else ()
        generation = source.i32() if version >= 2 and source.more() else -1
        rack = source.string() if version >= 3 and source.more() else None
        return cls(topics, owned, generation, user_data, rack)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """As a SyncGroup assignment."""
    out = bytearray(_I16.pack(_ASSIGNMENT_VERSION))
    _put_partitions(out, partitions)
    _put_bytes(out, None)
    return bytes(out)


def decode_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions given; none at all if *data* is empty, as for a member the leader left out."""
    if not data:
        return ()
    source = _Source(data)
    source.i16()
    return source.partitions()


def _put_string(out: bytearray, text: str | None) -> None:
    if text is None:
        out += _I16.pack(-1)
        return
    data = text.encode()
    out += _I16.pack(len(data))
    out += data


def _put_bytes(out: bytearray, data: bytes | None) -> None:
    out += _I32.pack(-1 if data is None else len(data))
    out += data or b""


def _put_partitions(out: bytearray, partitions: Iterable[TopicPartition]) -> None:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    out += _I32.pack(len(by_topic))
    for topic, indexes in by_topic.items():
        _put_string(out, topic)
        out += struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)


@final
class _Source:
    """Bytes from another member: believed no further than they reach."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def more(self) -> bool:
        return self._at < len(self._data)

    def i16(self) -> int:
        return int(_I16.unpack(self._take(2))[0])

    def i32(self) -> int:
        return int(_I32.unpack(self._take(4))[0])

    def count(self) -> int:
        """How many elements follow; an element takes two bytes at least."""
        count = self.i32()
        if count > (len(self._data) - self._at) // 2:
            raise _garbage("more elements than bytes")
        return max(0, count)

    def string(self) -> str | None:
        length = self.i16()
        try:
            return None if length < 0 else self._take(length).decode()
        except UnicodeDecodeError:
            raise _garbage("a name that is not UTF-8") from None

    def bytes_(self) -> bytes | None:
        length = self.i32()
        return None if length < 0 else self._take(length)

    def partitions(self) -> tuple[TopicPartition, ...]:
        found: list[TopicPartition] = []
        for _ in range(self.count()):
            topic = self.string() or ""
            indexes: Sequence[int] = [self.i32() for _ in range(self.count())]
            found.extend(TopicPartition(topic, index) for index in indexes)
        return tuple(found)

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise _garbage("cut short")
        self._at += size
        return self._data[self._at - size : self._at]


def _garbage(what: str) -> Refused:
    return Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"a member's metadata is not a consumer's: {what}")
