"""What is written of a group of the newer protocol, in Kafka's own formats.

    key  3  group: string                       the group's epoch
         4  group: string                       the topics its members read, as they were last looked at
         5  group: string, member: string       what a member says of itself
         6  group: string                       the epoch of the target assignment
         7  group: string, member: string       a member's part in the target
         8  group: string, member: string       where the member stands on its way there
        16  group: string, regex: string        the topics that a pattern was last found to match

Values begin with an int16 version, which is 0, and are flexible: lengths are
varints, and every struct ends with tagged fields. A record without a value
takes back what an earlier one with that key said.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar, final

from millstream.errors import ErrorCode, Refused
from millstream.wire.primitives import Reader, write_compact_string, write_string, write_tags, write_uvarint

T = TypeVar("T")

TopicPartition = tuple[bytes, int]  # the topic's id, the partition's number
Share = frozenset[TopicPartition]
NOTHING: Final[Share] = frozenset()

_GROUP: Final = 3
_TOPICS: Final = 4
_MEMBER: Final = 5
_TARGET: Final = 6
_TARGET_MEMBER: Final = 7
_CURRENT: Final = 8
_REGEX: Final = 16

_I8: Final = struct.Struct(">b")
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")
_VERSION: Final = _I16.pack(0)
_CLASSIC_TAG: Final = 0
_TOPIC_MIN_BYTES: Final = 23
_SHARE_MIN_BYTES: Final = 18
_PROTOCOL_MIN_BYTES: Final = 3
_RACKS_MIN_BYTES: Final = 6


class Standing(IntEnum):
    """Where a member stands between its last assignment and its target; Kafka's numbers."""

    STABLE = 0
    UNREVOKED = 1  # it has something that it must give up first
    UNRELEASED = 2  # something it is to have is still another's


@final
@dataclass(frozen=True, slots=True, order=True)
class KnownTopic:
    """A topic that members read."""

    name: str
    id: bytes
    partitions: int


@final
@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What a member of the classic protocol offers, in a group of the newer one."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """What a member says of itself; *classic* if it speaks the older protocol."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicSide | None = None


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where a member stands: what it may work on, and what it must give up before it goes on."""

    epoch: int = 0
    previous_epoch: int = 0
    standing: Standing = Standing.STABLE
    assigned: Share = NOTHING
    revoking: Share = NOTHING


@final
@dataclass(frozen=True, slots=True)
class Resolved:
    """The names that a regular expression matched, and when; *version* is that of Kafka's metadata, or 0."""

    topics: frozenset[str]
    version: int
    resolved_ms: int


@final
@dataclass(frozen=True, slots=True)
class EpochWritten:
    """The group's epoch is now this; None: there is no such group."""

    epoch: int | None


@final
@dataclass(frozen=True, slots=True)
class TopicsWritten:
    """The topics that members read are now these."""

    topics: tuple[KnownTopic, ...] | None


@final
@dataclass(frozen=True, slots=True)
class MemberWritten:
    """A member says this of itself; None: it is no member any more."""

    id: str
    member: Subscriber | None


@final
@dataclass(frozen=True, slots=True)
class TargetEpochWritten:
    """The target assignment is that of this epoch."""

    epoch: int | None


@final
@dataclass(frozen=True, slots=True)
class TargetWritten:
    """The member is to have this."""

    id: str
    share: Share | None


@final
@dataclass(frozen=True, slots=True)
class PlaceWritten:
    """The member stands here."""

    id: str
    place: Place | None


@final
@dataclass(frozen=True, slots=True)
class RegexWritten:
    """Members subscribe by *regex*, which stands for this; None: nobody does any more."""

    regex: str
    resolved: Resolved | None


ModernChange = (
    EpochWritten
    | TopicsWritten
    | MemberWritten
    | TargetEpochWritten
    | TargetWritten
    | PlaceWritten
    | RegexWritten
)
MODERN_KEYS: Final = (*range(_GROUP, _CURRENT + 1), _REGEX)


def encode_modern(group: str, change: ModernChange) -> tuple[bytes, bytes | None]:
    """*change* of *group* as a record's key and value."""
    match change:
        case EpochWritten(epoch):
            return _key(_GROUP, group), _number(epoch)
        case TopicsWritten(topics):
            return _key(_TOPICS, group), None if topics is None else _topics(topics)
        case MemberWritten(id, member):
            return _key(_MEMBER, group, id), None if member is None else _member(member)
        case TargetEpochWritten(epoch):
            return _key(_TARGET, group), _number(epoch)
        case TargetWritten(id, share):
            return _key(_TARGET_MEMBER, group, id), None if share is None else _target(share)
        case PlaceWritten(id, place):
            return _key(_CURRENT, group, id), None if place is None else _place(place)
        case RegexWritten(regex, resolved):
            return _key(_REGEX, group, regex), None if resolved is None else _resolved(resolved)


def decode_modern(kind: int, key: Reader, value: bytes | None) -> tuple[str, ModernChange]:
    """The group a record of *kind* is about, and what it says; *key* stands after the kind."""
    group = key.string()
    match kind:
        case 3:
            return group, EpochWritten(_read(value, _read_number))
        case 4:
            return group, TopicsWritten(_read(value, _read_topics))
        case 5:
            return group, MemberWritten(key.string(), _read(value, _read_member))
        case 6:
            return group, TargetEpochWritten(_read(value, _read_number))
        case 7:
            return group, TargetWritten(key.string(), _read(value, _read_share))
        case 8:
            return group, PlaceWritten(key.string(), _read(value, _read_place))
    assert kind == _REGEX, kind
    return group, RegexWritten(key.string(), _read(value, _read_resolved))


# Writing


def _key(kind: int, *names: str) -> bytes:
    out = bytearray(_I16.pack(kind))
    for name in names:
        write_string(out, name)
    return bytes(out)


def _number(number: int | None) -> bytes | None:
    return None if number is None else _VERSION + _I32.pack(number) + b"\0"


def _topics(topics: tuple[KnownTopic, ...]) -> bytes:
    out = bytearray(_VERSION)
    write_uvarint(out, len(topics) + 1)
    for topic in topics:
        out += topic.id
        write_compact_string(out, topic.name)
        out += _I32.pack(topic.partitions)
        out += b"\1\0"  # no racks of partitions, no tags
    out.append(0)
    return bytes(out)


def _member(member: Subscriber) -> bytes:
    out = bytearray(_VERSION)
    write_compact_string(out, member.instance_id)
    write_compact_string(out, member.rack_id)
    write_compact_string(out, member.client_id)
    write_compact_string(out, member.client_host)
    write_uvarint(out, len(member.topics) + 1)
    for topic in sorted(member.topics):
        write_compact_string(out, topic)
    write_compact_string(out, member.regex)
    out += _I32.pack(member.rebalance_timeout_ms)
    write_compact_string(out, member.assignor)
    tags = [] if member.classic is None else [(_CLASSIC_TAG, _classic(member.classic))]
    write_tags(out, tags)
    return bytes(out)


def _classic(classic: ClassicSide) -> bytearray:
    out = bytearray(b"\1")  # it is not null
    out += _I32.pack(classic.session_timeout_ms)
    write_uvarint(out, len(classic.protocols) + 1)
    for name, metadata in classic.protocols:
        write_compact_string(out, name)
        write_uvarint(out, len(metadata) + 1)
        out += metadata
        out.append(0)
    out.append(0)
    return out


def _target(share: Share) -> bytes:
    out = bytearray(_VERSION)
    _share(out, share)
    out.append(0)
    return bytes(out)


def _place(place: Place) -> bytes:
    out = bytearray(_VERSION)
    out += _I32.pack(place.epoch)
    out += _I32.pack(place.previous_epoch)
    out += _I8.pack(place.standing)
    _share(out, place.assigned)
    _share(out, place.revoking)
    out.append(0)
    return bytes(out)


def _resolved(resolved: Resolved) -> bytes:
    out = bytearray(_VERSION)
    write_uvarint(out, len(resolved.topics) + 1)
    for topic in sorted(resolved.topics):
        write_compact_string(out, topic)
    out += _I64.pack(resolved.version)
    out += _I64.pack(resolved.resolved_ms)
    out.append(0)
    return bytes(out)


def _share(out: bytearray, share: Share) -> None:
    topics = by_topic(share)
    write_uvarint(out, len(topics) + 1)
    for topic, partitions in topics.items():
        out += topic
        write_uvarint(out, len(partitions) + 1)
        out += struct.pack(f">{len(partitions)}i", *partitions)
        out.append(0)


def by_topic(share: Iterable[TopicPartition]) -> dict[bytes, list[int]]:
    """The partitions of *share* by topic, in order."""
    topics: dict[bytes, list[int]] = {}
    for topic, partition in sorted(share):
        topics.setdefault(topic, []).append(partition)
    return topics


# Reading


def _read(value: bytes | None, read: Callable[[Reader], T]) -> T | None:
    if value is None:
        return None
    reader = Reader(value)
    version = reader.int16()
    if version != 0:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"value version {version}")
    return read(reader)


def _read_number(reader: Reader) -> int:
    return reader.int32()


def _read_topics(reader: Reader) -> tuple[KnownTopic, ...]:
    return tuple(_read_topic(reader) for _ in range(reader.compact_array(_TOPIC_MIN_BYTES)))


def _read_topic(reader: Reader) -> KnownTopic:
    id, name, partitions = reader.uuid(), reader.compact_string(), reader.int32()
    for _ in range(reader.compact_array(_RACKS_MIN_BYTES)):  # where the replicas are: not of interest
        reader.int32()
        for _ in range(reader.compact_array(1)):
            reader.compact_string()
        reader.skip_tags()
    reader.skip_tags()
    return KnownTopic(name, id, partitions)


def _read_member(reader: Reader) -> Subscriber:
    return Subscriber(
        instance_id=reader.compact_nullable_string(),
        rack_id=reader.compact_nullable_string(),
        client_id=reader.compact_string(),
        client_host=reader.compact_string(),
        topics=frozenset(reader.compact_string() for _ in range(reader.compact_array(1))),
        regex=reader.compact_nullable_string(),
        rebalance_timeout_ms=reader.int32(),
        assignor=reader.compact_nullable_string(),
        classic=_read_tags(reader),
    )


def _read_tags(reader: Reader) -> ClassicSide | None:
    classic = None
    for _ in range(reader.uvarint()):
        tag, size = reader.uvarint(), reader.uvarint()
        inside = Reader(reader.raw(size))
        if tag == _CLASSIC_TAG and inside.int8() >= 0:
            classic = _read_classic(inside)
    return classic


def _read_classic(reader: Reader) -> ClassicSide:
    session_timeout_ms = reader.int32()
    protocols = []
    for _ in range(reader.compact_array(_PROTOCOL_MIN_BYTES)):
        protocols.append((reader.compact_string(), reader.compact_bytes()))
        reader.skip_tags()
    return ClassicSide(session_timeout_ms, tuple(protocols))


def _read_place(reader: Reader) -> Place:
    epoch, previous_epoch, standing = reader.int32(), reader.int32(), reader.int8()
    try:
        known = Standing(standing)
    except ValueError:
        # Kafka fences a member of a state it does not know; one that waits is looked at again all the same.
        known = Standing.UNRELEASED
    return Place(epoch, previous_epoch, known, _read_share(reader), _read_share(reader))


def _read_resolved(reader: Reader) -> Resolved:
    topics = frozenset(reader.compact_string() for _ in range(reader.compact_array(1)))
    return Resolved(topics, reader.int64(), reader.int64())


def _read_share(reader: Reader) -> Share:
    share: set[TopicPartition] = set()
    for _ in range(reader.compact_array(_SHARE_MIN_BYTES)):
        topic = reader.uuid()
        share.update((topic, reader.int32()) for _ in range(reader.compact_array(4)))
        reader.skip_tags()
    return frozenset(share)
