"""What compaction leaves of a batch.

Records are taken out, never changed: those that stay are the same bytes, at
the same offsets. A batch keeps its first and last offset and its producer's
sequence, so everything that goes by those still finds its way.

The tombstone of a deleted key stays for a while after the records it deletes
have gone, for readers that are slow; so does the marker of a transaction of which
nothing is left. Until when is written, as Kafka does it, in the place of the
batch's first timestamp, to which those of the records are relative: so for that
one time their timestamps are written anew.

A record that has expired goes, and with it, as for any newer record, what it
had replaced. This runs once for every record of a log, so what happens to most
of them is written out where it happens.
"""

import struct
from hashlib import blake2b
from typing import Final, final

from millstream.errors import Refused
from millstream.records.batch import CODEC_BITS, DELETE_HORIZON, HEADER_SIZE, Batch
from millstream.records.build import seal, varint
from millstream.records.compression import bounded_decompress, compress
from millstream.records.expiry import TTL_HEADER, expires_at
from millstream.records.pieces import Piece, pieces_of, varint_at
from millstream.records.read import read

NEVER: Final = (1 << 63) - 1

_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_AFTER_CRC_AT: Final = 21
assert _AFTER_CRC_AT + _AFTER_CRC.size == HEADER_SIZE

_SHORT: Final = 32  # bytes up to here take no more memory than a digest
_DIGEST: Final = 16
_ENTRY_BYTES: Final = 280  # of a dict's slot while it grows, a key and a number
_UNPACKED_MAX: Final = 256 << 20  # what was taken must be readable, whatever the limits are by now
_TTL: Final = TTL_HEADER.encode()


@final
class Keys:
    """The last offset of each key, as many as fit in *budget_bytes*.

    A long key is known by its digest: at 128 bits two that share one will not be
    met. A short one stands for itself, and no number is equal to it.
    """

    __slots__ = ("_most", "latest")

    def __init__(self, budget_bytes: int) -> None:
        self._most = max(budget_bytes // _ENTRY_BYTES, 1)
        self.latest: dict[bytes | int, int] = {}

    def __len__(self) -> int:
        return len(self.latest)

    @property
    def is_full(self) -> bool:
        return len(self.latest) >= self._most


def note_keys(keys: Keys, batch: Batch) -> None:
    """Note the keys of *batch*, which lies after all that were noted."""
    if batch.is_control:
        return
    latest = keys.latest
    base_offset = batch.base_offset
    try:
        for _, _, offset_delta, key, _ in pieces_of(batch.record_count, _unpacked(batch)):
            if key is not None:
                latest[key if len(key) < _SHORT else _digest(key)] = base_offset + offset_delta
    except (Refused, IndexError):
        return  # a producer's own fault, passed on as it was sent: nobody can read a key in it


@final
class Cleaner:
    """Takes out of batches what later ones have replaced, and what has had its time at *now_ms*.

    *due_ms* is when there will be more to take out of what was left. Nobody
    knows the time if *now_ms* is None: then nothing is taken out because of it.
    """

    __slots__ = ("_keep_ms", "_keys", "_now_ms", "due_ms")

    def __init__(self, keys: Keys, now_ms: int | None, keep_ms: int) -> None:
        """Tombstones, and markers that have nothing left to decide, are kept for *keep_ms*."""
        self.due_ms = NEVER
        self._keys = keys
        self._now_ms = now_ms
        self._keep_ms = keep_ms

    def left_of(self, batch: Batch, *, keep_empty: bool) -> bytes | memoryview | None:
        """*batch* without the records that need not stay; None if none is left.

        With *keep_empty* its header is left even then: it is the last word of its
        producer, and tells which sequence comes next. What cannot be read stays
        as it is.
        """
        try:
            data = _unpacked(batch)
            pieces = pieces_of(batch.record_count, data)
        except (Refused, IndexError):
            return batch.data
        kept = self._kept(batch, pieces)
        if kept and _TTL in data:
            kept = self._unexpired(batch, kept)
        if not kept:
            return emptied(batch) if keep_empty else None
        horizon_ms = self._new_horizon(batch) if _has_tombstone(kept) else None
        if horizon_ms is not None:
            return _rebuilt(batch, data, pieces, kept, horizon_ms)
        if len(kept) == len(pieces):
            return batch.data
        return _rebuilt(batch, data, pieces, kept, None)

    def left_of_marker(self, batch: Batch, *, is_last_word: bool) -> bytes | memoryview | None:
        """*batch*, a marker of a transaction of which nothing is left; None if it has stayed long enough."""
        horizon_ms = self._new_horizon(batch)
        if horizon_ms is not None:
            data = _unpacked(batch)
            pieces = pieces_of(batch.record_count, data)
            return _rebuilt(batch, data, pieces, pieces, horizon_ms)
        return None if self._is_up(batch) and not is_last_word else batch.data

    def _new_horizon(self, batch: Batch) -> int | None:
        """Until when what is in *batch* is to wait, if that is still to be written down; see to *due_ms*."""
        if batch.has_delete_horizon:
            if not self._is_up(batch):
                self.due_ms = min(self.due_ms, batch.base_timestamp_ms)
            return None
        if self._now_ms is None:
            self.due_ms = 0  # as soon as somebody knows the time
            return None
        horizon_ms = self._now_ms + self._keep_ms
        self.due_ms = min(self.due_ms, horizon_ms)
        return horizon_ms

    def _is_up(self, batch: Batch) -> bool:
        """Whether what waits in *batch* has done so long enough."""
        now_ms = self._now_ms
        return now_ms is not None and batch.has_delete_horizon and batch.base_timestamp_ms <= now_ms

    def _kept(self, batch: Batch, pieces: list[Piece]) -> list[Piece]:
        """Those of *pieces* that no later record has replaced, less tombstones whose time is up."""
        base_offset = batch.base_offset
        latest = self._keys.latest.get
        kept = [
            piece
            for piece in pieces
            if (key := piece[3]) is not None
            and latest(key if len(key) < _SHORT else _digest(key), -1) <= base_offset + piece[2]
        ]
        if self._is_up(batch):
            return [piece for piece in kept if piece[4]]
        return kept

    def _unexpired(self, batch: Batch, kept: list[Piece]) -> list[Piece]:
        """Those of *kept* that say of themselves that they are still of use, or do not say anything."""
        try:
            records = read(batch, max_bytes=_UNPACKED_MAX)
        except Refused:
            return kept
        expired = set()
        offsets = {batch.base_offset + piece[2] for piece in kept}
        for record in records:
            at_ms = expires_at(record)
            if at_ms is not None and record.offset in offsets:
                if self._now_ms is not None and at_ms <= self._now_ms:
                    expired.add(record.offset - batch.base_offset)
                else:
                    self.due_ms = min(self.due_ms, at_ms)
        return [piece for piece in kept if piece[2] not in expired]


def emptied(batch: Batch) -> bytes | memoryview:
    """*batch* without any record."""
    return _rebuilt(batch, b"", [], [], None) if batch.record_count else batch.data


def _has_tombstone(pieces: list[Piece]) -> bool:
    for piece in pieces:  # noqa: SIM110 - half the time of any(), and asked of every batch
        if not piece[4]:
            return True
    return False


def _rebuilt(
    batch: Batch, data: bytes, pieces: list[Piece], kept: list[Piece], horizon_ms: int | None
) -> bytes:
    """*batch* with *kept* of its *pieces*; with *horizon_ms*, tombstones among them stay until then."""
    attributes = batch.attributes if kept else batch.attributes & ~(CODEC_BITS | DELETE_HORIZON)
    base_timestamp_ms = batch.base_timestamp_ms
    ends = dict(zip([piece[0] for piece in pieces], [piece[0] for piece in pieces[1:]], strict=False))
    if horizon_ms is None:
        body = b"".join([data[piece[0] : ends.get(piece[0])] for piece in kept])
    else:
        attributes |= DELETE_HORIZON
        base_timestamp_ms = horizon_ms
        shift = batch.base_timestamp_ms - horizon_ms
        body = b"".join([_shifted(data[piece[0] : ends.get(piece[0])], piece[1] + shift) for piece in kept])
    if batch.log_append_time or not kept:
        max_timestamp_ms = batch.max_timestamp_ms
    else:
        max_timestamp_ms = batch.base_timestamp_ms + max([piece[1] for piece in kept])
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


def _shifted(record: bytes, timestamp_delta: int) -> bytes:
    """*record* with another time in relation to its batch's."""
    _, at = varint_at(record, 0)
    _, rest_at = varint_at(record, at + 1)
    rest = record[at : at + 1] + varint(timestamp_delta) + record[rest_at:]
    return varint(len(rest)) + rest


def _digest(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=_DIGEST).digest(), "big")


def _unpacked(batch: Batch) -> bytes:
    if batch.record_count == 0:
        return b""
    return bounded_decompress(batch.codec, batch.data[HEADER_SIZE:], _UNPACKED_MAX)
