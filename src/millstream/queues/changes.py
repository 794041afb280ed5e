"""Queues as they are written to their topic, `__queue_state`: the newest record of a key is the whole truth.

    key     i16 version 0 | 16 bytes topic id | i32 partition | i8 shared | group, UTF-8
    value   i16 version 0 | i64 end | i32 count | count i64 offsets | count u16 deliveries

The topic is named by its id, so that a new topic of the same name begins anew.
"""

import struct
from dataclasses import dataclass
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.queues.queue import Saved

_VERSION: Final = 0
_KEY: Final = struct.Struct(">h16sib")
_VALUE: Final = struct.Struct(">hqi")
_HELD_BYTES: Final = 8 + 2
_MOST_DELIVERIES: Final = 0xFFFF


@final
@dataclass(frozen=True)
class QueueKey:
    """Which queue; *group* is None for the one of all subscribers without a group."""

    topic_id: bytes
    partition: int
    group: str | None


def encode_key(key: QueueKey) -> bytes:
    head = _KEY.pack(_VERSION, key.topic_id, key.partition, key.group is not None)
    return head + (key.group or "").encode()


def encode_value(saved: Saved) -> bytes:
    count = len(saved.held)
    return b"".join(
        (
            _VALUE.pack(_VERSION, saved.end, count),
            struct.pack(f">{count}q", *saved.held),
            struct.pack(f">{count}H", *(min(n, _MOST_DELIVERIES) for n in saved.held.values())),
        )
    )


def decode_key(data: bytes) -> QueueKey:
    if len(data) < _KEY.size:
        raise _corrupt("a key cut short")
    version, topic_id, partition, shared = _KEY.unpack_from(data)
    if version != _VERSION:
        raise _corrupt(f"a key of version {version}")
    try:
        group = data[_KEY.size :].decode()
    except UnicodeDecodeError:
        raise _corrupt("a group that is not UTF-8") from None
    return QueueKey(topic_id, partition, group if shared else None)


def decode_value(data: bytes) -> Saved:
    if len(data) < _VALUE.size:
        raise _corrupt("a value cut short")
    version, end, count = _VALUE.unpack_from(data)
    if version != _VERSION:
        raise _corrupt(f"a value of version {version}")
    if count < 0 or len(data) != _VALUE.size + count * _HELD_BYTES:
        raise _corrupt(f"{count} messages in {len(data)} bytes")
    offsets = struct.unpack_from(f">{count}q", data, _VALUE.size)
    deliveries = struct.unpack_from(f">{count}H", data, _VALUE.size + 8 * count)
    return Saved(end, dict(zip(offsets, deliveries, strict=True)))


def _corrupt(detail: str) -> Refused:
    return Refused(ErrorCode.CORRUPT_MESSAGE, f"no state of a queue: {detail}")
