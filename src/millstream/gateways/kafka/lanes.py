"""Lanes: many requests that write to one partition in the same way, handled as one.

A lane is learnt from a request that was handled the long way, and names all
that those behind it must have in common with it. While they do, they are
appended together and answered together. Whatever is out of the ordinary goes the
long way: a lane refuses nothing.
"""

import asyncio
import struct
from typing import Final, final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.broker.waiting import Hosted
from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused
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
_PRODUCE: Final = ProduceRequest.KEY
_CORRELATION_AT: Final = 4
_FIRST_VERSION: Final = 7  # before, zstd is not taken
_TOPIC_IDS_FROM: Final = 13
_TAGS: Final = 3  # empty tag lists behind the records: of the partition, the topic, the request
_ROOM_BYTES: Final = 256 << 10


@final
class Lane:
    """What requests have in common that write to one partition."""

    __slots__ = (
        "acks",
        "alike",
        "client_id",
        "hosted",
        "index",
        "log_start_offset",
        "timeout_ms",
        "topic",
        "version",
    )

    def __init__(
        self,
        alike: Alike,
        version: int,
        client_id: str,
        topic: str | bytes,
        index: int,
        acks: int,
        timeout_ms: int,
    ) -> None:
        self.alike = alike
        self.version = version
        self.client_id = client_id
        self.topic = topic
        self.index = index
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.hosted: Hosted | None = None  # the partition, once it was found
        self.log_start_offset = -1  # as in the reply that *alike* has; -1: it has none yet

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

    def prepare(self, log_start_offset: int) -> None:
        """Have a reply ready that tells of that start of the log."""
        self.log_start_offset = log_start_offset
        # Written twice, it shows where the offset is, whatever the version.
        one, other = (
            self.answer(0, ProduceResponsePartition(self.index, 0, base_offset, -1, log_start_offset))
            for base_offset in (0, -1)
        )
        at = next(place for place in range(len(one)) if one[place] != other[place])
        self.alike = self.alike._replace(reply=bytes(one), offset_at=at)


@final
class Lanes:
    """Takes runs of requests, for all connections of a door."""

    def __init__(self, broker: Broker, calls: dict[int, int], *, plain: bool) -> None:
        """*calls* counts requests by API."""
        self._broker = broker
        self._calls = calls
        self._joiner = Joiner(_ROOM_BYTES, plain=plain)

    def learn(
        self, frame: memoryview, version: int, client_id: str, request: Produced, last: Lane | None
    ) -> Lane | None:
        """The lane that *request*, received as *frame*, is on; None if it is of a kind that has none."""
        transaction, acks, timeout_ms, parts = request
        if transaction is not None or acks == 0 or len(parts) != 1 or version < _FIRST_VERSION:
            return None
        topic, index, records = parts[0]
        if not records or len(records) > _ROOM_BYTES:
            return None
        compact = version >= ProduceRequest.FLEXIBLE_FROM
        after = _TAGS if compact else 0
        length_bytes = _varint_size(len(records) + 1) if compact else _SIZE.size
        end = len(frame) - after - len(records) - length_bytes
        call, before = bytes(frame[:4]), bytes(frame[8:end])
        if last is not None and last.alike.before == before and last.alike.call == call:
            return last
        if any(frame[len(frame) - after :]):
            return None  # tags that somebody may mean
        alike = Alike(call, before, compact, after, b"", 0)
        return Lane(alike, version, client_id, topic, index, acks, timeout_ms)

    def take(
        self, session: Session, lane: Lane, view: memoryview, start: int, end: int, most: int
    ) -> "tuple[int, int, bytes | asyncio.Future[Buffer] | None]":
        """Append what is on *lane* from *start* on: where it ends, how many requests it was, the replies."""
        if session.client_id != lane.client_id:
            return start, 0, None
        broker = self._broker
        try:
            hosted = lane.hosted
            if hosted is None or hosted.dropped:
                hosted = lane.hosted = self._hosted(lane)
            place = broker.place(hosted, lane.acks)
        except Refused:
            return start, 0, None
        if place is None:
            return start, 0, None
        start_offset = hosted.partition.log.start_offset
        if start_offset != lane.log_start_offset:
            lane.prepare(start_offset)
        stop, run = self._joiner.join(view, start, end, lane.alike, place, most)
        if run is None or not broker.produce_run(hosted, place, run):
            return start, 0, None
        self._calls[_PRODUCE] += run.batches
        safe = hosted.acked(run.end_offset)
        if safe is None:
            return stop, run.batches, run.replies
        return stop, run.batches, _Acks(lane, run, safe).answer

    def _hosted(self, lane: Lane) -> Hosted:
        topics = self._broker.topics
        topic = lane.topic if isinstance(lane.topic, str) else topics.name_of(lane.topic)
        return self._broker.open_to_clients(topic, lane.index)


@final
class _Acks:
    """Gives the replies of a run once it is safe, or the client's patience is over."""

    __slots__ = ("_lane", "_replies", "_safe", "_timer", "answer")

    def __init__(self, lane: Lane, run: Run, safe: "asyncio.Future[None]") -> None:
        loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Buffer] = loop.create_future()
        self._lane = lane
        self._replies = run.replies
        self._safe = safe
        self._timer = loop.call_later(max(lane.timeout_ms, 0) / 1000, self._finish)
        safe.add_done_callback(self._settled)

    def _settled(self, safe: "asyncio.Future[None]") -> None:
        self._finish()

    def _finish(self) -> None:
        self._timer.cancel()
        if self.answer.done():
            return  # the client has gone, or was told that it took too long
        if not self._safe.done():
            late = Refused(ErrorCode.REQUEST_TIMED_OUT, "written, but not known to be safe in time")
            self.answer.set_result(self._refused(late))
            return
        failure = self._safe.exception()
        if failure is None:
            self.answer.set_result(self._replies)
        elif isinstance(failure, Refused):
            self.answer.set_result(self._refused(failure))
        else:
            self.answer.set_exception(failure)

    def _refused(self, refusal: Refused) -> Buffer:
        lane, replies = self._lane, self._replies
        out = bytearray()
        for start in range(0, len(replies), len(lane.alike.reply)):
            (correlation_id,) = _SIZE.unpack_from(replies, start + _CORRELATION_AT)
            answer = ProduceResponsePartition(
                lane.index,
                refusal.code,
                -1,
                log_start_offset=lane.log_start_offset,
                error_message=refusal.detail,
            )
            out += lane.answer(correlation_id, answer)
        return out


def _varint_size(number: int) -> int:
    return max(1, (number.bit_length() + 6) // 7)
