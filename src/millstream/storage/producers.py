"""Who wrote which sequence last, so that a batch sent twice is written once; and who is in a transaction.

A snapshot is one file, named after the offset it stands at:

    0   u32  magic
    4   u32  CRC-32C of everything from byte 8
    8   i32  producers, and then for each
        i64  id   i16 epoch   i64 last used, ms   i8 batches
        i32  epoch of the coordinator that ended its last transaction, or -1
        i64  first offset of its open transaction, or -1; and then for each batch
             i32  first sequence   i32 last sequence   i64 base offset   i64 append time, ms or -1

The first version, which is still read, lacks the two fields on transactions.
"""

import struct
from typing import Final, NamedTuple, final

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import Batch
from millstream.records.control import Marker, read_marker
from millstream.records.crc import crc32c
from millstream.records.runs import Run, Sender

SNAPSHOT: Final = ".snapshot"
REMEMBERED: Final = 5  # batches: an idempotent client has no more than so many under way

_MAGIC: Final = 0x4D535002
_FIRST_MAGIC: Final = 0x4D535001
_MAX_SEQUENCE: Final = 0x7FFFFFFF
_HEAD: Final = struct.Struct(">II")
_COUNT: Final = struct.Struct(">i")
_PRODUCER: Final = struct.Struct(">qhqb")
_TRANSACTION: Final = struct.Struct(">iq")
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


class Described(NamedTuple):
    """What an administrator may know of a producer; -1 where there is nothing to tell."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_ms: int
    coordinator_epoch: int
    transaction_start: int


class LastWords(NamedTuple):
    """The base offset of each producer's last batches; and the epoch of those of whom only markers tell."""

    offsets: frozenset[int]
    epochs: dict[int, int]


class Ended(NamedTuple):
    """A transaction that a marker ends: *last_offset* is the marker's own.

    *last_stable_offset* is where the first of the others begins that are open
    still, and the offset after the marker if none is.
    """

    marker: Marker
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@final
class Producer:
    """One producer in one log; *transaction_start* is -1 outside a transaction."""

    __slots__ = ("coordinator_epoch", "epoch", "last_ms", "transaction_start", "written")

    def __init__(self, epoch: int, last_ms: int) -> None:
        self.epoch = epoch
        self.last_ms = last_ms
        self.coordinator_epoch = -1
        self.transaction_start = -1
        self.written: list[Written] = []

    @property
    def next_sequence(self) -> int:
        return (self.written[-1].last_sequence + 1) & _MAX_SEQUENCE if self.written else 0


@final
class Producers:
    """The producers of one log that count what they write."""

    __slots__ = ("_known", "_open")

    def __init__(self) -> None:
        self._known: dict[int, Producer] = {}
        self._open: dict[int, int] = {}  # producers in a transaction and its first offset, by that offset

    def __len__(self) -> int:
        return len(self._known)

    @property
    def first_open(self) -> int | None:
        """The first offset of all open transactions; None if none is open."""
        return next(iter(self._open.values())) if self._open else None

    def in_transaction(self, id: int, epoch: int) -> bool:
        """Whether producer *id* has a transaction open here, in this very *epoch*."""
        return id in self._open and self._known[id].epoch == epoch

    def open_transactions(self) -> dict[int, int]:
        """The first offset of each open transaction, by producer id."""
        return dict(self._open)

    def described(self) -> list[Described]:
        return [
            Described(
                id,
                one.epoch,
                one.written[-1].last_sequence if one.written else -1,
                one.last_ms,
                one.coordinator_epoch,
                one.transaction_start,
            )
            for id, one in self._known.items()
        ]

    def known(self) -> dict[int, tuple[int, list[tuple[int, int, int, int]]]]:
        """What is remembered: epoch and batches by producer id."""
        return {id: (one.epoch, [each.astuple() for each in one.written]) for id, one in self._known.items()}

    def last_words(self) -> LastWords:
        """What must stay in the log for all to be known that is known now."""
        known = self._known.items()
        return LastWords(
            # Not the last alone: any of those remembered may be sent again.
            frozenset([each.base_offset for _, one in known for each in one.written]),
            {id: one.epoch for id, one in known if not one.written},
        )

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
        if producer.transaction_start >= 0 and not batch.is_transactional:
            raise Refused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {batch.producer_id} writes outside the transaction it has open here",
            )
        return None

    def sender(self, id: int, epoch: int) -> Sender | None:
        """What `check` lets the producer write next; None if it takes more than a sequence to tell."""
        producer = self._known.get(id)
        if producer is None or producer.epoch != epoch or producer.transaction_start >= 0:
            return None
        return Sender(id, epoch, producer.next_sequence)

    def check_marker(self, id: int, epoch: int, coordinator_epoch: int) -> None:
        """Refuse a marker of an epoch that is over: the producer's, or the coordinator's."""
        producer = self._known.get(id)
        if producer is None:
            return
        if epoch < producer.epoch:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {id} has epoch {producer.epoch} by now, not {epoch}",
            )
        if coordinator_epoch < producer.coordinator_epoch:
            raise Refused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a coordinator of epoch {producer.coordinator_epoch} has spoken, after {coordinator_epoch}",
            )

    def ending(self, batch: Batch) -> Ended | None:
        """The transaction that the control batch *batch*, next in the log, ends; None if it ends none.

        A marker where nothing was written ends nothing that a reader could see.
        """
        found = read_marker(batch)
        first_offset = self._open.get(batch.producer_id)
        if found is None or first_offset is None:
            return None
        others = [first for id, first in self._open.items() if id != batch.producer_id]
        stable = others[0] if others else batch.last_offset + 1
        return Ended(found[0], batch.producer_id, first_offset, batch.last_offset, stable)

    def expect(self, id: int, epoch: int, now_ms: int) -> None:
        """Producer *id*, if it is not known yet, has its first batch still to write."""
        self._known.setdefault(id, Producer(epoch, now_ms))

    def apply(self, batch: Batch, now_ms: int) -> None:
        """*batch* is in the log."""
        if batch.producer_id < 0:
            return
        if batch.is_control:
            self._apply_control(batch, now_ms)
            return
        self.note(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.base_offset,
            batch.max_timestamp_ms if batch.log_append_time else -1,
            now_ms,
            transactional=batch.is_transactional,
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
        *,
        transactional: bool,
    ) -> None:
        """Producer *id* has these sequences in the log, unless it counts none."""
        producer = self._in_epoch(id, epoch, now_ms)
        if first_sequence >= 0:
            producer.written.append(Written(first_sequence, last_sequence, base_offset, append_time_ms))
            del producer.written[:-REMEMBERED]
        if transactional and producer.transaction_start < 0:
            producer.transaction_start = self._open[id] = base_offset

    def note_run(self, run: Run, now_ms: int) -> None:
        """The batches of *run*, whose sender was as `sender` says, are in the log."""
        id, _, sequence = run.sender
        producer = self._known[id]
        ahead = sequence - run.base_offset
        for base, end in zip(run.lasts, (*run.lasts[1:], run.end_offset), strict=True):
            first, last = (base + ahead) & _MAX_SEQUENCE, (end - 1 + ahead) & _MAX_SEQUENCE
            producer.written.append(Written(first, last, base, -1))
        del producer.written[:-REMEMBERED]
        producer.last_ms = now_ms

    def _apply_control(self, batch: Batch, now_ms: int) -> None:
        """A marker ends its producer's transaction; of any other control batch only the epoch is known."""
        producer = self._in_epoch(batch.producer_id, batch.producer_epoch, now_ms)
        found = read_marker(batch)
        if found is not None:
            producer.coordinator_epoch = found[1]
            producer.transaction_start = -1
            self._open.pop(batch.producer_id, None)

    def _in_epoch(self, id: int, epoch: int, now_ms: int) -> Producer:
        """Producer *id*, who has just written; what it wrote in another epoch is forgotten."""
        producer = self._known.get(id)
        if producer is None:
            producer = self._known[id] = Producer(epoch, now_ms)
        if epoch != producer.epoch:
            producer.epoch = epoch
            producer.written = []
        producer.last_ms = now_ms
        return producer

    def expire(self, now_ms: int, idle_ms: int) -> int:
        """Forget those who wrote nothing for *idle_ms* and are in no transaction; return how many."""
        idle = [
            id
            for id, one in self._known.items()
            if now_ms - one.last_ms >= idle_ms and one.transaction_start < 0
        ]
        for id in idle:
            del self._known[id]
        return len(idle)

    def to_bytes(self) -> bytes:
        out = bytearray(_COUNT.pack(len(self._known)))
        for id, producer in self._known.items():
            out += _PRODUCER.pack(id, producer.epoch, producer.last_ms, len(producer.written))
            out += _TRANSACTION.pack(producer.coordinator_epoch, producer.transaction_start)
            for each in producer.written:
                out += _WRITTEN.pack(*each.astuple())
        return _HEAD.pack(_MAGIC, crc32c(out)) + out

    @classmethod
    def from_bytes(cls, data: bytes) -> "Producers | None":
        """Those of a snapshot; None if *data* is none, or not as it was written."""
        if len(data) < _HEAD.size + _COUNT.size:
            return None
        magic, crc = _HEAD.unpack_from(data)
        if magic not in (_MAGIC, _FIRST_MAGIC) or crc != crc32c(data[_HEAD.size :]):
            return None
        producers = cls()
        (count,) = _COUNT.unpack_from(data, _HEAD.size)
        at = _HEAD.size + _COUNT.size
        for _ in range(count):
            id, epoch, last_ms, batches = _PRODUCER.unpack_from(data, at)
            at += _PRODUCER.size
            producer = producers._known[id] = Producer(epoch, last_ms)
            if magic == _MAGIC:
                producer.coordinator_epoch, producer.transaction_start = _TRANSACTION.unpack_from(data, at)
                at += _TRANSACTION.size
            for _ in range(batches):
                producer.written.append(Written(*_WRITTEN.unpack_from(data, at)))
                at += _WRITTEN.size
        producers._find_open()
        return producers

    def _find_open(self) -> None:
        found = [(one.transaction_start, id) for id, one in self._known.items() if one.transaction_start >= 0]
        self._open = {id: first_offset for first_offset, id in sorted(found)}
