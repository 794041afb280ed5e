"""Runs: the batches of many small requests as one, checked and stamped in one go.

A client that sends one message a request, many of them before it waits, sends
frames that differ in little but the batch itself:

    i32  size              of what follows
    4    call              which API, which version
    i32  correlation id    comes back in the reply
    ..   before            client, acks, topic, partition: the same in every one
    ..   length            of the batch: an i32, or a varint of one more
    ..   batch
    ..   after             so many empty tag lists

`join` takes as many of them as are alike and ordinary, and stops at the first
that is not: what is wrong with it, if anything, is for the long way to say. So
it refuses nothing, and what it was given stays as it was.
"""

import struct
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from millstream.env.disk import Buffer
from millstream.records.batch import CHECKED_FROM, CODEC_BITS, HEADER_SIZE, LENGTH_END, MAGIC, MAX_RECORDS
from millstream.records.batch import MIN_RECORD_SIZE as _RECORD
from millstream.records.compression import Codec
from millstream.records.crc import crc32c

if TYPE_CHECKING:
    from millstream.records import _native
else:
    try:
        from millstream.records import _native
    except ImportError:
        _native = None

NATIVE: Final[ModuleType | None] = _native  # None where it was not built

_SIZE: Final = struct.Struct(">i")
_OFFSET: Final = struct.Struct(">q")
_EPOCH_AT: Final = 12
_CORRELATION: Final = slice(4, 8)
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
assert _HEADER.size == HEADER_SIZE

Note = tuple[int, int, int, int]
"""Last offset and position of a batch, then what `Run.newest` is up to there."""


class Alike(NamedTuple):
    """What the frames of a run have in common, and the reply to one of them but for two numbers."""

    call: bytes
    before: bytes
    compact: bool  # how the length is written
    after: int
    reply: bytes  # with its size; the correlation id comes next
    offset_at: int  # in the reply: the offset its batch was given


class Limits(NamedTuple):
    """What holds for all that is appended to one file."""

    leader_epoch: int
    end_offset: int  # no offset may reach it
    end_position: int  # no batch may go beyond it
    max_batch_bytes: int
    interval: int  # bytes from one note in the index to the next


@final
class Place:
    """Where a run would go: the end of a log, and what it takes. It moves on with each run."""

    __slots__ = ("base_offset", "indexed_at", "latest_ms", "limits", "newest_ms", "now_ms", "position")

    def __init__(
        self,
        limits: Limits,
        *,
        base_offset: int,
        position: int,
        indexed_at: int,
        newest_ms: int,
        now_ms: int,
        latest_ms: int,
    ) -> None:
        self.limits = limits
        self.base_offset = base_offset
        self.position = position  # in the file
        self.indexed_at = indexed_at  # the position that the index last noted
        self.newest_ms = newest_ms  # the highest timestamp so far
        self.now_ms = now_ms  # when it was asked for
        self.latest_ms = latest_ms  # no batch may be of later


@final
class Run:
    """Batches one behind the other, ready to be written as they are.

    *data* is good until the next run is joined. *newest* is the highest
    timestamp with the offset that has it; the offset is -1 if it was there before.
    """

    __slots__ = ("base_offset", "batches", "data", "end_offset", "newest", "notes", "replies")

    def __init__(
        self,
        data: memoryview,
        batches: int,
        base_offset: int,
        end_offset: int,
        newest: tuple[int, int],
        notes: Sequence[Note],
        replies: bytes,
    ) -> None:
        self.data = data
        self.batches = batches
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.newest = newest
        self.notes = notes
        self.replies = replies


@final
class Joiner:
    """Joins runs in one buffer of its own. *plain* does without native code."""

    __slots__ = ("_join", "_room", "_view")

    def __init__(self, room_bytes: int, *, plain: bool = False) -> None:
        self._room = bytearray(room_bytes)
        self._view = memoryview(self._room)
        self._join = join if plain or _native is None else _native.join

    def join(
        self, view: memoryview, start: int, end: int, alike: Alike, place: Place, most: int
    ) -> tuple[int, Run | None]:
        """The run that begins at *start*, if there is one, and where what is not part of it begins."""
        joined = self._join(
            view,
            start,
            end,
            most,
            alike,
            place.limits,
            self._room,
            place.base_offset,
            place.position,
            place.indexed_at,
            place.newest_ms,
            place.latest_ms,
        )
        if joined is None:
            return start, None
        stop, size, batches, end_offset, newest_ms, newest_offset, notes, replies = joined
        newest = (newest_ms, newest_offset)
        return stop, Run(self._view[:size], batches, place.base_offset, end_offset, newest, notes, replies)


def join(
    view: Buffer,
    start: int,
    end: int,
    most: int,
    alike: Alike,
    limits: Limits,
    room: bytearray,
    base_offset: int,
    position: int,
    indexed_at: int,
    newest_ms: int,
    latest_ms: int,
    /,
) -> tuple[int, int, int, int, int, int, Sequence[Note], bytes] | None:
    """As the native `join`, in plain Python."""
    call, before, compact, after, reply, offset_at = alike
    leader_epoch, end_offset, end_position, max_batch_bytes, interval = limits
    offset, newest_offset, size, batches = base_offset, -1, 0, 0
    notes: list[Note] = []
    parts: list[bytes] = []
    replies: list[bytes] = []
    head = 8 + len(before)
    empty = bytes(after)
    view = memoryview(view)
    max_bytes = min(end_position - position, len(room))
    epoch = _SIZE.pack(leader_epoch)
    reply_head, reply_middle, reply_tail = reply[:4], reply[8:offset_at], reply[offset_at + 8 :]
    while batches < most and end - start >= _SIZE.size:
        (length,) = _SIZE.unpack_from(view, start)
        stop = start + _SIZE.size + length
        if length < head + HEADER_SIZE or stop > end:
            break
        frame = view[start + _SIZE.size : stop].tobytes()
        if frame[:4] != call or frame[8:head] != before or (after and frame[-after:] != empty):
            break
        at = _batch_at(frame, head, compact, length - after)
        if at is None:
            break
        batch = frame[at : length - after]
        counts = _ordinary(batch, min(max_batch_bytes, max_bytes - size), latest_ms)
        if counts is None:
            break
        delta, timestamp_ms = counts
        last = offset + delta
        if last >= end_offset:
            break
        if timestamp_ms > newest_ms:
            newest_ms, newest_offset = timestamp_ms, last
        if position + size - indexed_at > interval:
            indexed_at = position + size
            notes.append((last, indexed_at, newest_ms, newest_offset))
        stamped = _OFFSET.pack(offset)
        parts += stamped, batch[8:_EPOCH_AT], epoch, batch[_EPOCH_AT + 4 :]
        replies += reply_head, frame[_CORRELATION], reply_middle, stamped, reply_tail
        size += len(batch)
        offset = last + 1
        start = stop
        batches += 1
    if not batches:
        return None
    room[:size] = b"".join(parts)
    return start, size, batches, offset, newest_ms, newest_offset, notes or (), b"".join(replies)


def _batch_at(frame: bytes, position: int, compact: bool, end: int) -> int | None:
    """Where in *frame* the batch begins that must end at *end*; None if its length says otherwise."""
    if not compact:
        (length,) = _SIZE.unpack_from(frame, position)
        return position + _SIZE.size if position + _SIZE.size + length == end else None
    length = shift = 0
    for byte in frame[position : position + 5]:
        position += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return position if length and position + length - 1 == end else None
    return None


def _ordinary(batch: bytes, max_bytes: int, latest_ms: int) -> tuple[int, int] | None:
    """The delta of its last offset and its highest timestamp, if a client may append *batch* as it is."""
    size = len(batch)
    if not HEADER_SIZE <= size <= max_bytes:
        return None
    (_, length, _, magic, crc, attributes, delta, _, timestamp_ms, producer_id, _, sequence, count) = (
        _HEADER.unpack_from(batch)
    )
    if (
        length != size - LENGTH_END
        or magic != MAGIC
        or attributes & ~CODEC_BITS
        or attributes > Codec.ZSTD
        or not 1 <= count <= MAX_RECORDS
        or delta != count - 1
        or (attributes == Codec.NONE and count * _RECORD > size - HEADER_SIZE)
        or producer_id != -1
        or sequence < -1
        or timestamp_ms > latest_ms
        or crc32c(memoryview(batch)[CHECKED_FROM:]) != crc
    ):
        return None
    return delta, timestamp_ms
