"""What is written of a group, in Kafka's own formats of `__consumer_offsets`.

A record's key begins with an int16 that tells what it is about; a record
without a value (a tombstone) takes back what an earlier one with that key said.

    key    0, 1  group: string, topic: string, partition: i32     an offset
           2     group: string                                     a group's members
           3-8   a group of the newer protocol                     see modern_changes.py
           16    likewise
           9 …   groups of other protocols                         not ours

    offset     0  offset: i64, metadata: string, committed: i64
               1  offset: i64, metadata: string, committed: i64, expires: i64
               2  as 0
               3  offset: i64, leader_epoch: i32, metadata: string, committed: i64
               4  as 3, flexible

    members    0  protocol_type: string, generation: i32, protocol: string?, leader: string?, [member]
               2  state_since: i64 before [member]
               4  flexible
      member   0  id: string, client_id: string, client_host: string,
                  session_timeout: i32, subscription: bytes, assignment: bytes
               1  rebalance_timeout: i32 before session_timeout
               3  instance_id: string? after id

Offsets are written as version 3, or 1 if they have an expiry of their own,
and members as version 3; every version is read, since a log may be older
than we are. Times are wall times in milliseconds.
"""

import struct
from dataclasses import dataclass
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.groups.modern_changes import MODERN_KEYS, ModernChange, decode_modern, encode_modern
from millstream.wire.primitives import Reader, write_bytes, write_string

OFFSETS_TOPIC: Final = "__consumer_offsets"

_OFFSET_KEYS: Final = (0, 1)
_MEMBERS_KEY: Final = 2
_NEWEST_VALUE: Final = 4
_FLEXIBLE: Final = 4

_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")
_MEMBER_MIN_BYTES: Final = 15  # of any version, with every string and byte run empty


@final
@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """How far a group has come in one partition; *expires_ms* is -1 unless the client set it."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int = -1


@final
@dataclass(frozen=True, slots=True)
class SavedMember:
    """A member as it is found again after a restart."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@final
@dataclass(frozen=True, slots=True)
class SavedGroup:
    """A generation of a group: Stable if it has members, Empty if it has none."""

    protocol_type: str | None
    generation: int
    protocol: str | None
    leader: str | None
    since_ms: int
    members: tuple[SavedMember, ...]


@final
@dataclass(frozen=True, slots=True)
class OffsetSaved:
    """The group's offset in a partition is now this."""

    topic: str
    partition: int
    offset: CommittedOffset


@final
@dataclass(frozen=True, slots=True)
class OffsetRemoved:
    """The group has no offset in that partition any more."""

    topic: str
    partition: int


@final
@dataclass(frozen=True, slots=True)
class OffsetStaged:
    """The group's offset in a partition is this once the transaction of *producer_id* commits."""

    topic: str
    partition: int
    offset: CommittedOffset
    producer_id: int


@final
@dataclass(frozen=True, slots=True)
class GroupSaved:
    """The group's members are now these."""

    group: SavedGroup


@final
@dataclass(frozen=True, slots=True)
class GroupRemoved:
    """Nothing is known of the group's members any more."""


Change = OffsetSaved | OffsetStaged | OffsetRemoved | GroupSaved | GroupRemoved | ModernChange


def encode(group: str, change: Change) -> tuple[bytes, bytes | None]:
    """*change* of *group* as a record's key and value."""
    match change:
        case OffsetSaved(topic, partition, offset) | OffsetStaged(topic, partition, offset):
            return _offset_key(group, topic, partition), _offset_value(offset)
        case OffsetRemoved(topic, partition):
            return _offset_key(group, topic, partition), None
        case GroupSaved(saved):
            return _members_key(group), _members_value(saved)
        case GroupRemoved():
            return _members_key(group), None
        case _:
            return encode_modern(group, change)


def decode(key: bytes, value: bytes | None, producer_id: int = -1) -> tuple[str, Change] | None:
    """The group a record is about and what it says; None if it is of a kind we do not keep.

    *producer_id* tells in whose transaction it was written, if in any.

    Refused with CORRUPT_MESSAGE if it is of a kind we know and makes no sense.
    """
    try:
        reader = Reader(key)
        kind = reader.int16()
        if kind in _OFFSET_KEYS:
            group, topic, partition = reader.string(), reader.string(), reader.int32()
            if value is None:
                return group, OffsetRemoved(topic, partition)
            offset = _read_offset(Reader(value))
            if producer_id >= 0:
                return group, OffsetStaged(topic, partition, offset, producer_id)
            return group, OffsetSaved(topic, partition, offset)
        if kind == _MEMBERS_KEY:
            group = reader.string()
            return group, GroupRemoved() if value is None else GroupSaved(_read_members(Reader(value)))
        if kind in MODERN_KEYS:
            return decode_modern(kind, reader, value)
    except Refused as refusal:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a record of {OFFSETS_TOPIC}: {refusal.detail}") from None
    return None


def _offset_key(group: str, topic: str, partition: int) -> bytes:
    out = bytearray(_I16.pack(1))
    write_string(out, group)
    write_string(out, topic)
    out += _I32.pack(partition)
    return bytes(out)


def _members_key(group: str) -> bytes:
    out = bytearray(_I16.pack(_MEMBERS_KEY))
    write_string(out, group)
    return bytes(out)


def _offset_value(offset: CommittedOffset) -> bytes:
    own_expiry = offset.expires_ms >= 0
    out = bytearray(_I16.pack(1 if own_expiry else 3))
    out += _I64.pack(offset.offset)
    if not own_expiry:
        out += _I32.pack(offset.leader_epoch)
    write_string(out, offset.metadata)
    out += _I64.pack(offset.committed_ms)
    if own_expiry:
        out += _I64.pack(offset.expires_ms)
    return bytes(out)


def _members_value(saved: SavedGroup) -> bytes:
    out = bytearray(_I16.pack(3))
    write_string(out, saved.protocol_type or "")
    out += _I32.pack(saved.generation)
    write_string(out, saved.protocol)
    write_string(out, saved.leader)
    out += _I64.pack(saved.since_ms)
    out += _I32.pack(len(saved.members))
    for member in saved.members:
        write_string(out, member.id)
        write_string(out, member.instance_id)
        write_string(out, member.client_id)
        write_string(out, member.client_host)
        out += _I32.pack(member.rebalance_timeout_ms)
        out += _I32.pack(member.session_timeout_ms)
        write_bytes(out, member.subscription)
        write_bytes(out, member.assignment)
    return bytes(out)


def _read_offset(reader: Reader) -> CommittedOffset:
    version = _version(reader)
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else -1
    metadata = reader.compact_string() if version >= _FLEXIBLE else reader.string()
    committed_ms = reader.int64()
    expires_ms = reader.int64() if version == 1 else -1
    return CommittedOffset(offset, leader_epoch, metadata, committed_ms, expires_ms)


def _read_members(reader: Reader) -> SavedGroup:
    version = _version(reader)
    flexible = version >= _FLEXIBLE
    protocol_type = reader.compact_string() if flexible else reader.string()
    generation = reader.int32()
    protocol = reader.compact_nullable_string() if flexible else reader.nullable_string()
    leader = reader.compact_nullable_string() if flexible else reader.nullable_string()
    since_ms = reader.int64() if version >= 2 else -1
    count = reader.compact_array(_MEMBER_MIN_BYTES) if flexible else reader.array(_MEMBER_MIN_BYTES)
    members = tuple(_read_member(reader, version) for _ in range(count))
    return SavedGroup(protocol_type or None, generation, protocol, leader, since_ms, members)


def _read_member(reader: Reader, version: int) -> SavedMember:
    flexible = version >= _FLEXIBLE
    id = reader.compact_string() if flexible else reader.string()
    instance_id = None
    if version >= 3:
        instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
    client_id = reader.compact_string() if flexible else reader.string()
    client_host = reader.compact_string() if flexible else reader.string()
    rebalance_timeout_ms = reader.int32() if version >= 1 else -1
    session_timeout_ms = reader.int32()
    subscription = reader.compact_bytes() if flexible else reader.bytes()
    assignment = reader.compact_bytes() if flexible else reader.bytes()
    if flexible:
        reader.skip_tags()
    return SavedMember(
        id=id,
        instance_id=instance_id,
        client_id=client_id,
        client_host=client_host,
        # Version 0 knew no other time than the session's.
        rebalance_timeout_ms=session_timeout_ms if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        session_timeout_ms=session_timeout_ms,
        subscription=subscription,
        assignment=assignment,
    )


def _version(reader: Reader) -> int:
    version = reader.int16()
    if not 0 <= version <= _NEWEST_VALUE:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"value version {version}")
    return version
