"""Runs: the batches of many small requests as one, checked and stamped in one go.

A client that sends one message a request, many of them before it waits, sends
frames that differ in little but the batch itself:

    i32  size              of what follows
    4    call              which API, which version
    i32  correlation id    comes back in the reply
    ..   before            client, acks, topic: the same in every one
    i32  index             of the partition: the same in all of a run
    ..   length            of the batch: an i32, or a varint of one more
    ..   batch
    ..   after             so many empty tag lists

`join` takes as many of them as are alike and ordinary, and stops at the first
that is not: what is wrong with it, if anything, is for the long way to say. So
it refuses nothing, and what it was given stays as it was. Native code appends them
to the file as well, if that is a real one.

All batches of a run are of one sender: nobody, or a producer that counts, whose
batches must have the sequences that come next.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from millstream.env.disk import Buffer, File
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
_STAMP: Final = struct.Struct(">qii")
_STAMPED: Final = _STAMP.size
_MAX_SEQUENCE: Final = 0x7FFFFFFF
_SMALL_BYTES: Final = 4096  # a batch that is copied sooner than two parts of it are written
_REMEMBERED: Final = 5  # of the last batches it is told where they went
_LAST_CODEC: Final = int(Codec.ZSTD)
_HEADER_FORMAT: Final = "qiibIhiqqqhii"
_HEADER: Final = struct.Struct(">" + _HEADER_FORMAT)
_CALL_BYTES: Final = 8  # of call and correlation id
_NO_TAGS: Final = bytes(16)
assert _HEADER.size == HEADER_SIZE

Note = tuple[int, int, int, int]
"""Last offset and position of a batch, then what `Run.newest` is up to there."""


class Alike(NamedTuple):
    """What the frames of a run have in common, and the reply to one of them but for four numbers."""

    call: bytes
    before: bytes
    compact: bool  # how the length is written
    after: int
    reply: bytes  # with its size; the correlation id comes next
    index_at: int  # in the reply: the partition
    offset_at: int  # the offset its batch was given
    start_at: int  # where the log starts


class Sender(NamedTuple):
    """Whose batches a run takes, and the sequence that comes next."""

    producer_id: int
    epoch: int
    sequence: int


NOBODY: Final = Sender(-1, -1, -1)


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

    *parts* are good until the next run is joined, or what it was joined from is
    overwritten; none are left if they are in the file already. What is not part of
    the run begins at *stop*. *newest* is the highest timestamp with the offset that has it; the
    offset is -1 if it was there before. *lasts* are the base offsets of the last few
    batches, if the *sender* counts.
    """

    __slots__ = (
        "base_offset",
        "batches",
        "end_offset",
        "lasts",
        "newest",
        "notes",
        "parts",
        "replies",
        "sender",
        "size",
        "stop",
    )

    def __init__(
        self,
        stop: int,
        parts: Sequence[Buffer],
        size: int,
        batches: int,
        base_offset: int,
        end_offset: int,
        newest: tuple[int, int],
        notes: Sequence[Note],
        replies: bytes,
        sender: Sender,
        lasts: Sequence[int],
    ) -> None:
        self.stop = stop
        self.parts = parts
        self.size = size
        self.batches = batches
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.newest = newest
        self.notes = notes
        self.replies = replies
        self.sender = sender
        self.lasts = lasts


Frames = tuple[Alike, memoryview, int, int, int]
"""What they have in common; where they are, from where and to where; how many of them may be taken."""

Joined = tuple[Sequence[Buffer] | int, int, int, int, int, int, int, Sequence[Note], bytes, Sequence[int]]
"""What to write, or where the one large batch is that stays where it is, or that all is written; then stop,
size, batches, end offset, newest timestamp and its offset, notes, replies, and the base offsets of the last
batches."""

_APPENDED: Final = -2


@final
class Joiner:
    """Joins runs in one buffer of its own. *plain* does without native code."""

    __slots__ = ("_join", "_room", "_view")

    def __init__(self, room_bytes: int, *, plain: bool = False) -> None:
        self._room = bytearray(room_bytes)
        self._view = memoryview(self._room)
        self._join = join if plain or _native is None else _native.join

    def join(
        self,
        frames: Frames,
        index: int,
        log_start_offset: int,
        place: Place,
        sender: Sender,
        file: File | None = None,
    ) -> Run | None:
        """The run that *frames* begin with; None if there is none.

        It may be appended to *file* already: then it has no parts. After an OSError it is there in part.
        """
        alike, view, start, end, most = frames
        base_offset = place.base_offset
        joined: Joined | None = self._join(
            file,
            view,
            start,
            end,
            most,
            alike,
            place.limits,
            sender,
            self._room,
            index,
            log_start_offset,
            base_offset,
            place.position,
            place.indexed_at,
            place.newest_ms,
            place.latest_ms,
        )
        if joined is None:
            return None
        parts, stop, size, batches, end_offset, newest_ms, newest_offset, notes, replies, lasts = joined
        if isinstance(parts, int):
            at, parts = parts, ()
            if at >= 0:
                parts = (self._view[:_STAMPED], view[at + _STAMPED : at + size])
            elif at != _APPENDED:
                parts = (self._view[:size],)
        newest = (newest_ms, newest_offset)
        return Run(stop, parts, size, batches, base_offset, end_offset, newest, notes, replies, sender, lasts)


def join(
    file: object,
    view: Buffer,
    start: int,
    end: int,
    most: int,
    alike: Alike,
    limits: Limits,
    sender: Sender,
    room: bytearray,
    index: int,
    log_start_offset: int,
    base_offset: int,
    position: int,
    indexed_at: int,
    newest_ms: int,
    latest_ms: int,
    /,
) -> Joined | None:
    """As the native `join`, in plain Python. It needs no *room*: it copies once, and a large batch never.

    Nor does it write to *file*: who gets the parts can do that as well.
    """
    call, _, compact, after, _, _, _, _ = alike
    leader_epoch, end_offset, end_position, max_batch_bytes, interval = limits
    producer_id, producer_epoch, sequence = sender
    offset, newest_offset, size, batches = base_offset, -1, 0, 0
    notes: list[Note] = []
    parts: list[Buffer] = []
    replies: list[bytes] = []
    lasts: list[int] = []
    before, reply_head, reply_middle, reply_tail = _told(alike, index, log_start_offset)
    empty = _NO_TAGS[:after]
    max_bytes = end_position - position
    usual = -1  # the length of the last frame, by which the next few are known
    written, batch_size, has_large = b"", 0, False
    top, from_call_on = 0, _HEADER
    # All in one loop, without calls of our own: they would take as long as what they do.
    while batches < most and end - start >= 4:
        (length,) = _SIZE.unpack_from(view, start)
        frame = start + 4
        stop = frame + length
        if stop > end:
            break
        if length != usual:
            written, batch_size, top, from_call_on = _shape(length - after, len(before), compact)
            if not HEADER_SIZE <= batch_size <= max_batch_bytes:
                break
            usual = length
        (
            its_call,
            correlation_id,
            its_before,
            its_length,
            _,
            inside,
            _,
            magic,
            crc,
            attributes,
            delta,
            _,
            timestamp_ms,
            by,
            epoch,
            first,
            count,
        ) = from_call_on.unpack_from(view, frame)
        after_batch = stop - after
        at = frame + top
        if (
            its_before != before
            or its_length != written
            or its_call != call
            or inside != batch_size - LENGTH_END
            or magic != MAGIC
            or batch_size > max_bytes - size
            or attributes & ~CODEC_BITS
            or attributes > _LAST_CODEC
            or not 1 <= count <= MAX_RECORDS
            or delta != count - 1
            or (not attributes and count * _RECORD > batch_size - HEADER_SIZE)
            or by != producer_id
            or (first < -1 if by < 0 else epoch != producer_epoch or first != sequence)
            or timestamp_ms > latest_ms
            or offset + delta >= end_offset
            or (after and view[after_batch:stop] != empty)
            or crc32c(view[at + CHECKED_FROM : after_batch]) != crc
        ):
            break
        last = offset + delta
        if timestamp_ms > newest_ms:
            newest_ms, newest_offset = timestamp_ms, last
        if position + size - indexed_at > interval:
            indexed_at = position + size
            notes.append((last, indexed_at, newest_ms, newest_offset))
        stamp = _STAMP.pack(offset, inside, leader_epoch)
        if batch_size <= _SMALL_BYTES:
            parts.append(stamp + view[at + _STAMPED : after_batch])
        else:
            has_large = True
            parts += (stamp, view[at + _STAMPED : after_batch])
        replies.append(reply_head + correlation_id + reply_middle + _OFFSET.pack(offset) + reply_tail)
        if by >= 0:
            sequence = (sequence + count) & _MAX_SEQUENCE
            lasts.append(offset)
        size += batch_size
        offset = last + 1
        start = stop
        batches += 1
    if not batches:
        return None
    if batches > 1 and not has_large:
        parts = [b"".join(parts)]
    return (
        parts,
        start,
        size,
        batches,
        offset,
        newest_ms,
        newest_offset,
        notes or (),
        replies[0] if batches == 1 else b"".join(replies),
        lasts[-_REMEMBERED:] or (),
    )


@lru_cache(maxsize=256)
def _told(alike: Alike, index: int, log_start_offset: int) -> tuple[bytes, bytes, bytes, bytes]:
    """What each frame of partition *index* has before its batch, and its reply but for id and offset."""
    reply = bytearray(alike.reply)
    _SIZE.pack_into(reply, alike.index_at, index)
    _OFFSET.pack_into(reply, alike.start_at, log_start_offset)
    before = alike.before + _SIZE.pack(index)
    return before, bytes(reply[:4]), bytes(reply[8 : alike.offset_at]), bytes(reply[alike.offset_at + 8 :])


@lru_cache(maxsize=4096)
def _shape(length: int, before: int, compact: bool) -> tuple[bytes, int, int, struct.Struct]:
    """Of a frame of *length* bytes but for what is after the batch, *before* of them the same in all.

    How the size of its batch is written there, that size, how much stands before the batch, and what reads
    all of that and the batch's header. The size is -1 if it is of no such frame. As nobody writes it in
    more bytes than it takes, it is known before it is read.
    """
    most = length - _CALL_BYTES - before
    for field in range(1, 6) if compact else (_SIZE.size,):
        size = most - field
        if size < HEADER_SIZE:
            break
        written = _varint(size + 1) if compact else _SIZE.pack(size)
        if len(written) == field:
            return written, size, length - size, _reader(before, field)
    return b"", -1, 0, _HEADER


@lru_cache(maxsize=256)
def _reader(before: int, field: int) -> struct.Struct:
    return struct.Struct(f">4s4s{before}s{field}s{_HEADER_FORMAT}")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number & 0x7F)
    return bytes(out)
