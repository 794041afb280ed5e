"""The end of a transaction as it lies in the log: a marker.

A batch of its own with the bits for control and transactional set, the epoch of
the producer whose transaction ends, no sequence, and one record:

    key    i16 version 0   i16 what it says (0 abort, 1 commit; brokers know others)
    value  i16 version 0   i32 epoch of the coordinator that said so
"""

import struct
from enum import IntEnum
from typing import Final

from millstream.errors import Refused
from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build
from millstream.records.read import read

_VERSION: Final = 0
_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_UNPACKED_MAX: Final = 1 << 16  # a marker is a few bytes, compressed or not


class Marker(IntEnum):
    """How a transaction ended."""

    ABORT = 0
    COMMIT = 1


def build_marker(
    marker: Marker, *, producer_id: int, producer_epoch: int, coordinator_epoch: int, now_ms: int
) -> bytearray:
    """The batch that ends the transaction of this producer."""
    record = NewRecord(_KEY.pack(_VERSION, marker), _VALUE.pack(_VERSION, coordinator_epoch))
    return build(
        [record],
        now_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: Batch) -> tuple[Marker, int] | None:
    """What the control batch *batch* says, and the epoch of who said it; None if it is no marker."""
    assert batch.is_control, batch
    if batch.producer_id < 0:
        return None
    try:
        records = read(batch, max_bytes=_UNPACKED_MAX)
    except Refused:
        return None
    if not records:
        return None
    key, value = records[0].key or b"", records[0].value or b""
    if len(key) < _KEY.size or len(value) < _VALUE.size:
        return None
    version, kind = _KEY.unpack_from(key)
    _, coordinator_epoch = _VALUE.unpack_from(value)  # later versions would add fields after this one
    if version < _VERSION or kind not in (Marker.ABORT, Marker.COMMIT):
        return None
    return Marker(kind), coordinator_epoch
