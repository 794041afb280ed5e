"""What compaction leaves of a batch.

Records are taken out, never changed: those that stay are the same bytes, at
the same offsets. A batch keeps its first and last offset and its producer's
sequence, so everything that goes by those still finds its way.

The tombstone of a deleted key stays for a while after the records it deletes
have gone, for readers that are slow. Until when is written, as Kafka does it,
in the place of the batch's first timestamp, to which those of the records are
relative: so for that one time their timestamps are written anew.
"""

import struct
from hashlib import blake2b
from typing import Final, final

from millstream.errors import Refused
from millstream.records.batch import CODEC_BITS, DELETE_HORIZON, HEADER_SIZE, Batch
from millstream.records.build import seal, varint
from millstream.records.compression import bounded_decompress, compress

_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_AFTER_CRC_AT: Final = 21
assert _AFTER_CRC_AT + _AFTER_CRC.size == HEADER_SIZE

_DIGEST: Final = 16
_ENTRY_BYTES: Final = 200  # of a dict's slot, a digest and a number
_UNPACKED_MAX: Final = 256 << 20  # what was taken must be readable, whatever the limits are by now


@final
class Keys:
    """The last offset of each key, as many as fit in *budget_bytes*.

    Keys are known by their digest: at 128 bits two that share one will not be met.
    """

    __slots__ = ("_latest", "_most")

    def __init__(self, budget_bytes: int) -> None:
        self._most = max(budget_bytes // _ENTRY_BYTES, 1)
        self._latest: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._latest)

    @property
    def is_full(self) -> bool:
        return len(self._latest) >= self._most

    def note(self, key: bytes, offset: int) -> None:
        self._latest[blake2b(key, digest_size=_DIGEST).digest()] = offset

    def is_latest(self, key: bytes, offset: int) -> bool:
        """Whether no later record with this *key* was noted."""
        return self._latest.get(blake2b(key, digest_size=_DIGEST).digest(), -1) <= offset


@final
class Piece:
    """One record of a batch, by where its parts lie."""

    __slots__ = ("end", "has_value", "key", "offset", "start", "timestamp_delta", "timestamp_end")

    def __init__(
        self,
        start: int,
        end: int,
        timestamp_delta: int,
        timestamp_end: int,
        offset: int,
        key: bytes | None,
        has_value: bool,
    ) -> None:
        self.start = start
        self.end = end
        self.timestamp_delta = timestamp_delta
        self.timestamp_end = timestamp_end
        self.offset = offset
        self.key = key
        self.has_value = has_value


def note_keys(keys: Keys, batch: Batch) -> None:
    """Note the keys of *batch*, which lies after all that were noted."""
    if batch.is_control:
        return
    try:
        data = _unpacked(batch)
        for piece in _pieces(batch, data):
            if piece.key is not None:
                keys.note(piece.key, piece.offset)
    except (Refused, IndexError):
        return  # a producer's own fault, passed on as it was sent: nobody can read a key in it


def cleaned(
    batch: Batch, keys: Keys, now_ms: int, tombstone_ms: int, *, keep_empty: bool
) -> bytes | memoryview | None:
    """*batch* without the records that later ones have replaced; None if none is left.

    With *keep_empty* its header is left even then: it is the last word of its
    producer, and tells which sequence comes next. What cannot be read stays as
    it is, and so do control batches, whatever they control.
    """
    if batch.is_control:
        return batch.data
    try:
        data = _unpacked(batch)
        pieces = _pieces(batch, data)
    except (Refused, IndexError):
        return batch.data
    horizon_ms = batch.base_timestamp_ms if batch.has_delete_horizon else None
    kept = [piece for piece in pieces if _stays(piece, keys, horizon_ms, now_ms)]
    if not kept:
        if not keep_empty:
            return None
        return _rebuilt(batch, b"", [], None) if pieces else batch.data
    if horizon_ms is None and any(not piece.has_value for piece in kept):
        return _rebuilt(batch, data, kept, now_ms + tombstone_ms)
    if len(kept) == len(pieces):
        return batch.data
    return _rebuilt(batch, data, kept, None)


def _stays(piece: Piece, keys: Keys, horizon_ms: int | None, now_ms: int) -> bool:
    if piece.key is None or not keys.is_latest(piece.key, piece.offset):
        return False
    return piece.has_value or horizon_ms is None or now_ms < horizon_ms


def _rebuilt(batch: Batch, data: bytes, kept: list[Piece], horizon_ms: int | None) -> bytes:
    """*batch* with *kept* of its records; with *horizon_ms*, tombstones among them stay until then."""
    attributes = batch.attributes if kept else batch.attributes & ~(CODEC_BITS | DELETE_HORIZON)
    base_timestamp_ms = batch.base_timestamp_ms
    if horizon_ms is None:
        body = b"".join([data[piece.start : piece.end] for piece in kept])
    else:
        attributes |= DELETE_HORIZON
        base_timestamp_ms = horizon_ms
        shift = batch.base_timestamp_ms - horizon_ms
        body = b"".join([_shifted(data, piece, shift) for piece in kept])
    if batch.log_append_time or not kept:
        max_timestamp_ms = batch.max_timestamp_ms
    else:
        max_timestamp_ms = batch.base_timestamp_ms + max([piece.timestamp_delta for piece in kept])
    out = bytearray(HEADER_SIZE)
    if kept:
        out += compress(batch.codec, body)
    _AFTER_CRC.pack_into(
        out,
        _AFTER_CRC_AT,
        attributes,
        batch.last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        len(kept),
    )
    seal(out, batch.base_offset, batch.leader_epoch)
    return bytes(out)


def _shifted(data: bytes, piece: Piece, shift: int) -> bytes:
    """The record with its timestamp *shift* later in relation to the batch's."""
    _, at = _varint(data, piece.start)
    rest = data[at : at + 1] + varint(piece.timestamp_delta + shift) + data[piece.timestamp_end : piece.end]
    return varint(len(rest)) + rest


def _unpacked(batch: Batch) -> bytes:
    if batch.record_count == 0:
        return b""
    return bounded_decompress(batch.codec, batch.data[HEADER_SIZE:], _UNPACKED_MAX)


def _pieces(batch: Batch, data: bytes) -> list[Piece]:
    """The records in *data*; IndexError if they do not fit in it."""
    pieces = []
    at = 0
    for _ in range(batch.record_count):
        start = at
        length, at = _varint(data, at)
        end = at + length
        timestamp_delta, at = _varint(data, at + 1)
        timestamp_end = at
        offset_delta, at = _varint(data, at)
        key_size, at = _varint(data, at)
        key = None if key_size < 0 else data[at : at + key_size]
        at += max(key_size, 0)
        value_size, at = _varint(data, at)
        if length < 0 or end > len(data) or at + max(value_size, 0) > end:
            raise IndexError
        offset = batch.base_offset + offset_delta
        pieces.append(Piece(start, end, timestamp_delta, timestamp_end, offset, key, value_size >= 0))
        at = end
    if at != len(data):
        raise IndexError
    return pieces


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint and where it ends."""
    n = data[at]
    at += 1
    number = n & 0x7F
    shift = 7
    while n > 0x7F:
        n = data[at]
        at += 1
        number |= (n & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise IndexError
    return (number >> 1) ^ -(number & 1), at
