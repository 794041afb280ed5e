"""Write: records, rather than batches, into partitions.

For doors whose clients know of no batches. Records that arrive together, in
one turn of the loop and for one partition, become one batch: one checksum,
one append, one sync. A record that will not do never takes its neighbours with
it: a batch that is refused is tried again caller by caller.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, final

from millstream.broker.produce import Produce
from millstream.broker.waiting import Hosted
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Appended
from millstream.records.batch import HEADER_SIZE
from millstream.records.build import NewRecord, build

BUFFER_BYTES: Final = 64 << 20  # of records accepted and not yet durable, over all partitions

_MOST_RECORDS: Final = 10_000  # in one batch, built in one go before others get the loop
_RECORD_BYTES: Final = 40  # the most that lengths, times and counts add to a record's own bytes
_HEADER_BYTES: Final = 10  # likewise for each of its headers
_INT64_MAX: Final = (1 << 63) - 1
_LIES_IN_RECORDS: Final = frozenset(
    {
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
    }
)


class Placed(NamedTuple):
    """Where one record went, and the time it has there."""

    partition: int
    offset: int
    timestamp_ms: int


class Waiter(Protocol):
    """A record to be written, and who is told what became of it: once, by one of two calls.

    They come from the midst of a write, with others still to be told: neither may
    raise. *size* is for `Write` to set, and to ask.
    """

    size: int

    @property
    def record(self) -> NewRecord: ...

    def written(self, partition: int, offset: int, timestamp_ms: int) -> None:
        """It is safe, and this is its place."""
        ...

    def refused(self, error: BaseException) -> None:
        """It is not safe. Refused, if the reason lies with the client or the disk."""
        ...


@final
class _Call:
    """One caller's records on their way; *left* counts those not yet safe."""

    __slots__ = ("done", "left", "placed")

    def __init__(self, count: int) -> None:
        self.done: asyncio.Future[list[Placed]] = asyncio.get_running_loop().create_future()
        self.placed: list[Placed | None] = [None] * count
        self.left = count


@final
class _Entry:
    """One record of a call, at *position* in it."""

    __slots__ = ("call", "position", "record", "size")

    def __init__(self, call: _Call, position: int, record: NewRecord, size: int) -> None:
        self.call = call
        self.position = position
        self.record = record
        self.size = size

    def written(self, partition: int, offset: int, timestamp_ms: int) -> None:
        call = self.call
        call.placed[self.position] = Placed(partition, offset, timestamp_ms)
        call.left -= 1
        if not call.left and not call.done.done():
            call.done.set_result([each for each in call.placed if each is not None])

    def refused(self, error: BaseException) -> None:
        done = self.call.done
        if not done.done():
            done.set_exception(error)
            done.exception()  # seen: a caller that has gone must not make the loop complain


@final
class Write:
    """Gathers records for a turn of the loop and appends them by partition.

    *buffered_records* and *buffered_bytes* are of those accepted and not yet
    durable; beyond BUFFER_BYTES callers are refused, and may wait with `room`.
    """

    def __init__(self, produce: Produce, clock: Clock) -> None:
        self.records = 0
        self.buffered_records = 0
        self.buffered_bytes = 0
        self._produce = produce
        self._clock = clock
        self._gathered: dict[Hosted, list[Waiter]] = {}
        self._for_room: deque[asyncio.Future[None]] = deque()

    def add(self, records: Sequence[tuple[Hosted, NewRecord]]) -> "tuple[int, asyncio.Future[list[Placed]]]":
        """Take *records*; their size, and where they went once that is safe.

        None is taken if one of them is too large, or lacks the key that its topic
        needs. What only their partition can tell is refused a batch at a time.
        """
        sizes = [_checked_size(hosted, record) for hosted, record in records]
        if self.buffered_bytes >= BUFFER_BYTES:
            raise self._no_room()
        call = _Call(len(records))
        for position, (hosted, record) in enumerate(records):
            self._gather(hosted, _Entry(call, position, record, sizes[position]))
        if not records:
            call.done.set_result([])
        return sum(sizes), call.done

    def add_one(self, hosted: Hosted, waiter: Waiter) -> int:
        """Take *waiter*'s record; its size. For callers of many, who need no future for each."""
        size = waiter.size = _checked_size(hosted, waiter.record)
        if self.buffered_bytes >= BUFFER_BYTES:
            raise self._no_room()
        self._gather(hosted, waiter)
        return size

    @property
    def is_full(self) -> bool:
        return self.buffered_bytes >= BUFFER_BYTES

    async def room(self) -> None:
        """Return when there is room for more; whoever asked first gets it first."""
        while self.is_full:
            room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._for_room.append(room)
            await room

    def flush(self) -> None:
        """Append all that was gathered."""
        gathered, self._gathered = self._gathered, {}
        for hosted, waiters in gathered.items():
            config = hosted.partition.log.config
            for part, size in _parts(waiters, min(config.max_message_bytes, config.segment_bytes)):
                self._append(hosted, part, size)

    def _gather(self, hosted: Hosted, waiter: Waiter) -> None:
        gathered = self._gathered
        if not gathered:
            asyncio.get_running_loop().call_soon(self.flush)
        waiters = gathered.get(hosted)
        if waiters is None:
            gathered[hosted] = [waiter]
        else:
            waiters.append(waiter)
        self.buffered_records += 1
        self.buffered_bytes += waiter.size

    def _append(self, hosted: Hosted, waiters: list[Waiter], size: int) -> None:
        now_ms = self._clock.now_ms()
        try:
            if hosted.dropped:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{hosted.partition.topic} has just gone")
            batch = build([waiter.record for waiter in waiters], now_ms=now_ms)
            appended = self._produce.append(hosted, memoryview(batch))
        except Refused as refusal:
            if refusal.code in _LIES_IN_RECORDS and _caller(waiters[0]) is not _caller(waiters[-1]):
                for part in _by_caller(waiters):
                    self._append(hosted, part, sum(waiter.size for waiter in part))
            else:
                self._refuse(waiters, size, refusal)
            return
        except Exception as error:  # a bug of ours, but its callers wait: their doors will log it
            self._refuse(waiters, size, error)
            return
        index = hosted.partition.index
        safe = hosted.acked(appended.end_offset)
        if safe is None:
            self._safe(waiters, size, index, appended, now_ms)
        else:
            safe.add_done_callback(partial(self._settled, waiters, size, index, appended, now_ms))

    def _settled(
        self,
        waiters: list[Waiter],
        size: int,
        index: int,
        appended: Appended,
        now_ms: int,
        safe: "asyncio.Future[None]",
    ) -> None:
        error = safe.exception()
        if error is None:
            self._safe(waiters, size, index, appended, now_ms)
        else:
            self._refuse(waiters, size, error)

    def _safe(self, waiters: list[Waiter], size: int, index: int, appended: Appended, now_ms: int) -> None:
        self._release(len(waiters), size)
        self.records += len(waiters)
        offset = appended.base_offset
        append_time_ms = appended.append_time_ms
        for waiter in waiters:
            timestamp_ms = waiter.record.timestamp_ms
            if append_time_ms >= 0:
                timestamp_ms = append_time_ms
            elif timestamp_ms is None:
                timestamp_ms = now_ms
            waiter.written(index, offset, timestamp_ms)
            offset += 1

    def _refuse(self, waiters: list[Waiter], size: int, error: BaseException) -> None:
        self._release(len(waiters), size)
        for waiter in waiters:
            # One each: a traceback grows with everyone who raises it.
            waiter.refused(Refused(error.code, error.detail) if isinstance(error, Refused) else error)

    def _release(self, count: int, size: int) -> None:
        self.buffered_records -= count
        self.buffered_bytes -= size
        while self._for_room and not self.is_full:
            room = self._for_room.popleft()
            if not room.done():
                room.set_result(None)

    def _no_room(self) -> Refused:
        return Refused(
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
            f"{self.buffered_bytes} bytes wait for the disk; try again in a moment",
        )


def _checked_size(hosted: Hosted, record: NewRecord) -> int:
    """The most bytes that *record* takes in a batch; Refused if no batch could hold it."""
    size = _RECORD_BYTES
    if record.key is not None:
        size += len(record.key)
    if record.value is not None:
        size += len(record.value)
    for name, value in record.headers:
        try:
            size += _HEADER_BYTES + len(name.encode()) + len(value or b"")
        except UnicodeEncodeError:
            raise Refused(ErrorCode.INVALID_RECORD, f"a header's name {name!r} is not text") from None
    if record.timestamp_ms is not None and not 0 <= record.timestamp_ms <= _INT64_MAX:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, f"{record.timestamp_ms} is no time of a record")
    config = hosted.partition.log.config
    if record.key is None and config.compacts:
        raise Refused(ErrorCode.INVALID_RECORD, f"{hosted.partition.topic} is compacted: it needs keys")
    limit = config.max_message_bytes
    if size + HEADER_SIZE > limit and len(build([record], now_ms=_INT64_MAX)) > limit:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a record of {size} bytes; {hosted.partition.log.name} takes {limit}",
        )
    return size


def _parts(waiters: list[Waiter], max_bytes: int) -> list[tuple[list[Waiter], int]]:
    """*waiters* in order, cut where a batch would become too large; each part with its size."""
    total = sum([waiter.size for waiter in waiters])
    if total + HEADER_SIZE <= max_bytes and len(waiters) <= _MOST_RECORDS:
        return [(waiters, total)]
    parts: list[tuple[list[Waiter], int]] = []
    part: list[Waiter] = []
    size = 0
    for waiter in waiters:
        if part and (HEADER_SIZE + size + waiter.size > max_bytes or len(part) == _MOST_RECORDS):
            parts.append((part, size))
            part, size = [], 0
        part.append(waiter)
        size += waiter.size
    parts.append((part, size))
    return parts


def _by_caller(waiters: list[Waiter]) -> list[list[Waiter]]:
    parts: list[list[Waiter]] = []
    last: object = None
    for waiter in waiters:
        if _caller(waiter) is not last:
            parts.append([])
            last = _caller(waiter)
        parts[-1].append(waiter)
    return parts


def _caller(waiter: Waiter) -> object:
    return waiter.call if isinstance(waiter, _Entry) else waiter
