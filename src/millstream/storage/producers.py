"""Who wrote which sequence last, so that a batch sent twice is written once.

A snapshot is one file, named after the offset it stands at:

    0   u32  magic
    4   u32  CRC-32C of everything from byte 8
    8   i32  producers, and then for each
        i64  id   i16 epoch   i64 last used, ms   i8 batches, and then for each
             i32  first sequence   i32 last sequence   i64 base offset   i64 append time, ms or -1
"""

import struct
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import Batch
from millstream.records.crc import crc32c

SNAPSHOT: Final = ".snapshot"
REMEMBERED: Final = 5  # batches: an idempotent client has no more than so many under way

_MAGIC: Final = 0x4D535001
_MAX_SEQUENCE: Final = 0x7FFFFFFF
_HEAD: Final = struct.Struct(">II")
_COUNT: Final = struct.Struct(">i")
_PRODUCER: Final = struct.Struct(">qhqb")
_WRITTEN: Final = struct.Struct(">iiqq")


@final
class Written:
    """A batch as its producer would send it again, and where it went."""

    __slots__ = ("append_time_ms", "base_offset", "first_sequence", "last_sequence")

    def __init__(
        self, first_sequence: int, last_sequence: int, base_offset: int, append_time_ms: int
    ) -> None:
        self.first_sequence = first_sequence
        self.last_sequence = last_sequence
        self.base_offset = base_offset
        self.append_time_ms = append_time_ms

    def astuple(self) -> tuple[int, int, int, int]:
        return self.first_sequence, self.last_sequence, self.base_offset, self.append_time_ms


@final
class Producer:
    """One producer in one log."""

    __slots__ = ("epoch", "last_ms", "written")

    def __init__(self, epoch: int, last_ms: int) -> None:
        self.epoch = epoch
        self.last_ms = last_ms
        self.written: list[Written] = []

    @property
    def next_sequence(self) -> int:
        return (self.written[-1].last_sequence + 1) & _MAX_SEQUENCE if self.written else 0


@final
class Producers:
    """The idempotent producers of one log."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, Producer] = {}

    def __len__(self) -> int:
        return len(self._known)

    def known(self) -> dict[int, tuple[int, list[tuple[int, int, int, int]]]]:
        """What is remembered: epoch and batches by producer id."""
        return {id: (one.epoch, [each.astuple() for each in one.written]) for id, one in self._known.items()}

    def last_batches(self) -> list[int]:
        """The base offset of each producer's last batch."""
        return [one.written[-1].base_offset for one in self._known.values() if one.written]

    def check(self, batch: Batch) -> Written | None:
        """Where *batch* went if it is here already; None if it comes next; else Refused.

        A producer of whom nothing is known may begin anywhere: what it wrote
        has expired, or was deleted.
        """
        producer = self._known.get(batch.producer_id)
        if producer is None or batch.is_control:
            return None
        first = batch.base_sequence
        if batch.producer_epoch < producer.epoch:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} has epoch {producer.epoch} by now, not {batch.producer_epoch}",
            )
        if batch.producer_epoch > producer.epoch:
            expected = 0
        else:
            for each in producer.written:
                if each.first_sequence == first and each.last_sequence == batch.last_sequence:
                    return each
            expected = producer.next_sequence
        if first != expected:
            raise Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {batch.producer_id} sends sequence {first} where {expected} comes next",
            )
        return None

    def expect(self, id: int, epoch: int, now_ms: int) -> None:
        """Producer *id*, if it is not known yet, has its first batch still to write."""
        self._known.setdefault(id, Producer(epoch, now_ms))

    def apply(self, batch: Batch, now_ms: int) -> None:
        """*batch* is in the log."""
        if batch.producer_id >= 0:
            self.note(
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                batch.last_sequence,
                batch.base_offset,
                batch.max_timestamp_ms if batch.log_append_time else -1,
                now_ms,
            )

    def note(
        self,
        id: int,
        epoch: int,
        first_sequence: int,
        last_sequence: int,
        base_offset: int,
        append_time_ms: int,
        now_ms: int,
    ) -> None:
        """Producer *id* has these sequences in the log; a control batch has none, only an epoch."""
        producer = self._known.get(id)
        if producer is None:
            producer = self._known[id] = Producer(epoch, now_ms)
        if epoch != producer.epoch:
            producer.epoch = epoch
            producer.written = []
        producer.last_ms = now_ms
        if first_sequence >= 0:
            producer.written.append(Written(first_sequence, last_sequence, base_offset, append_time_ms))
            del producer.written[:-REMEMBERED]

    def expire(self, now_ms: int, idle_ms: int) -> int:
        """Forget those who wrote nothing for *idle_ms*; return how many."""
        idle = [id for id, one in self._known.items() if now_ms - one.last_ms >= idle_ms]
        for id in idle:
            del self._known[id]
        return len(idle)

    def to_bytes(self) -> bytes:
        out = bytearray(_COUNT.pack(len(self._known)))
        for id, producer in self._known.items():
            out += _PRODUCER.pack(id, producer.epoch, producer.last_ms, len(producer.written))
            for each in producer.written:
                out += _WRITTEN.pack(*each.astuple())
        return _HEAD.pack(_MAGIC, crc32c(out)) + out

    @classmethod
    def from_bytes(cls, data: bytes) -> "Producers | None":
        """Those of a snapshot; None if *data* is none, or not as it was written."""
        if len(data) < _HEAD.size + _COUNT.size:
            return None
        magic, crc = _HEAD.unpack_from(data)
        if magic != _MAGIC or crc != crc32c(data[_HEAD.size :]):
            return None
        producers = cls()
        (count,) = _COUNT.unpack_from(data, _HEAD.size)
        at = _HEAD.size + _COUNT.size
        for _ in range(count):
            id, epoch, last_ms, batches = _PRODUCER.unpack_from(data, at)
            at += _PRODUCER.size
            producer = producers._known[id] = Producer(epoch, last_ms)
            for _ in range(batches):
                producer.written.append(Written(*_WRITTEN.unpack_from(data, at)))
                at += _WRITTEN.size
        return producers
