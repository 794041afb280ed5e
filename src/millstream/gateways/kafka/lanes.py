"""Lanes: many requests that write to one topic in the same way, handled as one.

A lane is learnt from a request that was handled the long way, and names all
that those behind it must have in common with it: everything but the partition
and the batch. While they do, those for one partition are appended together and
answered together. Whatever is out of the ordinary goes the long way: a lane
refuses nothing.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, final

from millstream.broker.broker import Broker
from millstream.broker.produce import ACKS_ALL, ACKS_LEADER
from millstream.broker.session import Session
from millstream.broker.waiting import Hosted
from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused
from millstream.gateways.connection import Replies
from millstream.records.batch import HEADER_SIZE
from millstream.records.runs import Alike, Joiner, Run
from millstream.wire.apis import write_response_header
from millstream.wire.fast import Produced
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)

_SIZE: Final = struct.Struct(">i")
_PRODUCER: Final = struct.Struct(">qh")
_PRODUCER_AT: Final = 43
_PRODUCE: Final = ProduceRequest.KEY
_CORRELATION_AT: Final = 4
_FIRST_VERSION: Final = 7  # before, zstd is not taken
_TAGS: Final = 3  # empty tag lists behind the records: of the partition, the topic, the request
_ANSWERED_ACKS: Final = (ACKS_LEADER, ACKS_ALL)
_ROOM_BYTES: Final = 256 << 10
_LOOK_SECONDS: Final = 1.0
_KNOWN_MAX: Final = 64
_BEFORE_MAX: Final = 1024


@final
class Lane:
    """What requests have in common that write to one topic."""

    __slots__ = (
        "acks",
        "alike",
        "client_id",
        "hosted",
        "index",
        "index_at",
        "is_steady",
        "partitions",
        "patience",
        "producer",
        "topic",
        "version",
    )

    def __init__(
        self,
        call: bytes,
        before: bytes,
        version: int,
        client_id: str,
        topic: str | bytes,
        acks: int,
        timeout_ms: int,
        alike: Alike | None = None,
    ) -> None:
        """*alike* is that of another lane with the same *call* and *before*, if there is one."""
        self.version = version
        self.client_id = client_id
        self.topic = topic
        self.acks = acks
        self.patience = Patience(timeout_ms)
        self.producer: tuple[int, int] | None = None  # id and epoch, if it counts
        self.partitions: Sequence[Hosted] = ()  # those of the topic, once it was found
        self.hosted: Hosted | None = None  # the last of them that was written to in a run
        self.index = -1  # of the last one that was written to at all
        self.is_steady = False  # the one before as well
        self.index_at = _SIZE.size + 8 + len(before)  # in a frame with its size
        self.alike = self._alike(call, before) if alike is None else alike

    def answer(self, correlation_id: int, answer: ProduceResponsePartition) -> bytearray:
        """The frame of a reply."""
        name = self.topic
        topic = ProduceResponseTopic(name) if isinstance(name, str) else ProduceResponseTopic(topic_id=name)
        topic.partition_responses.append(answer)
        frame = bytearray(_SIZE.size)
        write_response_header(frame, _PRODUCE, self.version, correlation_id)
        ProduceResponse([topic]).write(frame, self.version)
        _SIZE.pack_into(frame, 0, len(frame) - _SIZE.size)
        return frame

    def _alike(self, call: bytes, before: bytes) -> Alike:
        compact = self.version >= ProduceRequest.FLEXIBLE_FROM
        # Written again with one number changed, a reply shows where that number is, whatever the version.
        reply, *changed = (
            self.answer(0, ProduceResponsePartition(index, 0, base_offset, -1, log_start_offset))
            for index, base_offset, log_start_offset in ((0, 0, 0), (-1, 0, 0), (0, -1, 0), (0, 0, -1))
        )
        index_at, offset_at, start_at = (
            next(at for at in range(len(reply)) if reply[at] != other[at]) for other in changed
        )
        after = _TAGS if compact else 0
        return Alike(call, before, compact, after, bytes(reply), index_at, offset_at, start_at)


@final
class Lanes:
    """Takes runs of requests, for all connections of a door."""

    def __init__(self, broker: Broker, calls: dict[int, int], *, plain: bool) -> None:
        """*calls* counts requests by API."""
        self._broker = broker
        self._calls = calls
        self._joiner = Joiner(_ROOM_BYTES, plain=plain)
        self._known: dict[tuple[bytes, bytes], Alike] = {}  # clients of one program send alike

    def learn(
        self, frame: memoryview, version: int, client_id: str, request: Produced, last: Lane | None
    ) -> Lane | None:
        """The lane that *request*, received as *frame*, is on; None if it is of a kind that has none."""
        transaction, acks, timeout_ms, parts = request
        if (
            transaction is not None
            or acks not in _ANSWERED_ACKS
            or len(parts) != 1
            or version < _FIRST_VERSION
        ):
            return None
        topic, index, records = parts[0]
        if records is None or len(records) < HEADER_SIZE:
            return None
        compact = version >= ProduceRequest.FLEXIBLE_FROM
        after = _TAGS if compact else 0
        length_bytes = _varint_size(len(records) + 1) if compact else _SIZE.size
        end = len(frame) - after - len(records) - length_bytes - _SIZE.size
        call, before = bytes(frame[:4]), bytes(frame[8:end])
        if last is not None and last.alike.before == before and last.alike.call == call:
            lane = last
        elif any(frame[len(frame) - after :]):
            return None  # tags that somebody may mean
        else:
            alike = self._known.get((call, before))
            lane = Lane(call, before, version, client_id, topic, acks, timeout_ms, alike)
            self._keep(call, before, lane.alike)
        lane.index = index
        id, epoch = _PRODUCER.unpack_from(records, _PRODUCER_AT)
        lane.producer = (id, epoch) if id >= 0 and epoch >= 0 else None
        return lane

    def take(
        self, session: Session, lane: Lane, view: memoryview, start: int, end: int, most: int
    ) -> "tuple[int, int, bytes | Acks | None]":
        """Append what is on *lane* from *start* on: where it ends, how many requests it was, the replies."""
        at = start + lane.index_at
        if session.client_id != lane.client_id or at + _SIZE.size > end:
            return start, 0, None
        (index,) = _SIZE.unpack_from(view, at)  # whether it is one, `join` will tell
        partitions = lane.partitions
        try:
            if not 0 <= index < len(partitions) or (hosted := partitions[index]).dropped:
                hosted = self._found(lane, index)
            frames = (lane.alike, view, start, end, most)
            run = self._broker.produce_run(hosted, self._joiner, frames, lane.producer)
        except Refused:
            return start, 0, None
        if run is None:
            return start, 0, None
        batches = run.batches
        self._calls[_PRODUCE] += batches
        lane.is_steady = index == lane.index
        lane.index = index
        lane.hosted = hosted
        partition = hosted.partition
        if run.end_offset <= partition.high_watermark:
            return run.stop, batches, run.replies
        acks = Acks(lane, index, partition.log.start_offset, run)
        hosted.when_safe(run.end_offset, acks.settled)
        return run.stop, batches, acks

    def _keep(self, call: bytes, before: bytes, alike: Alike) -> None:
        """Remember *alike* for other clients: a few, and none that is large."""
        if len(before) > _BEFORE_MAX:
            return
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        self._known[call, before] = alike

    def _found(self, lane: Lane, index: int) -> Hosted:
        topics = self._broker.topics
        topic = lane.topic if isinstance(lane.topic, str) else topics.name_of(lane.topic)
        hosted = self._broker.open_to_clients(topic, index)
        lane.partitions = topics.partitions(topic)
        return hosted


@final
class Acks(Replies):
    """The replies of a run, known once it is safe or the client has lost patience: then *tell* is called."""

    __slots__ = ("_index", "_lane", "_log_start_offset", "_replies", "tell")

    def __init__(self, lane: Lane, index: int, log_start_offset: int, run: Run) -> None:
        self.pieces = None
        self.requests = run.batches
        self.tell: Callable[[], None] | None = None
        self._lane = lane
        self._index = index
        self._log_start_offset = log_start_offset
        self._replies = run.replies
        lane.patience.add(self)

    def settled(self, refusal: Refused | None) -> None:
        self._give(self._replies if refusal is None else self._refused(refusal))

    def too_late(self) -> None:
        late = Refused(ErrorCode.REQUEST_TIMED_OUT, "written, but not known to be safe in time")
        self._give(self._refused(late))

    def _give(self, replies: Buffer) -> None:
        if self.pieces is None:  # else it was told already
            self.pieces = (replies,)
            if self.tell is not None:
                self.tell()

    def _refused(self, refusal: Refused) -> Buffer:
        lane, replies = self._lane, self._replies
        out = bytearray()
        for start in range(0, len(replies), len(lane.alike.reply)):
            (correlation_id,) = _SIZE.unpack_from(replies, start + _CORRELATION_AT)
            answer = ProduceResponsePartition(
                self._index,
                refusal.code,
                -1,
                log_start_offset=self._log_start_offset,
                error_message=refusal.detail,
            )
            out += lane.answer(correlation_id, answer)
        return out


@final
class Patience:
    """Tells those who have waited for so long that it is too late; one timer serves all of a lane.

    It looks every second, however patient the client: who was told, and a lane whose
    client has gone, are not kept for longer.
    """

    __slots__ = ("_seconds", "_timer", "_waiting")

    def __init__(self, milliseconds: int) -> None:
        self._seconds = max(milliseconds, 0) / 1000
        self._waiting: deque[tuple[float, Acks]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, acks: Acks) -> None:
        loop, waiting = asyncio.get_running_loop(), self._waiting
        while waiting and waiting[0][1].pieces is not None:
            waiting.popleft()
        waiting.append((loop.time() + self._seconds, acks))
        if self._timer is None:
            self._look_later()

    @property
    def is_over(self) -> bool:
        """Whether nothing is kept."""
        return not self._waiting and self._timer is None

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(min(self._waiting[0][0], loop.time() + _LOOK_SECONDS), self._look)

    def _look(self) -> None:
        loop, waiting = asyncio.get_running_loop(), self._waiting
        self._timer = None
        while waiting and (waiting[0][1].pieces is not None or waiting[0][0] <= loop.time()):
            waiting.popleft()[1].too_late()
        if waiting and self._timer is None:
            self._look_later()


def _varint_size(number: int) -> int:
    return max(1, (number.bit_length() + 6) // 7)
