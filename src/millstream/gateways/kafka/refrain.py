"""Fetches like the last one: a consumer of one partition asks the same again and again, but for the offset.

The first of them is read, handled and answered as any. Of it are kept the
bytes that stay the same, in the request and in the answer, so that for the
next only an offset is taken out, and three offsets and a size are put in.

As with lanes (`lanes.py`), nobody can tell from the answers, and a new version
needs nothing: where the offsets are is learned by writing them twice.
"""

import struct
from collections.abc import Sequence
from typing import Final, final

from millstream.broker.broker import Broker
from millstream.broker.fetch import Found, Wanted
from millstream.env.outflow import Piece, read_whole
from millstream.errors import ErrorCode, Refused
from millstream.wire.apis import RequestHeader, response_header_version, write_response_header
from millstream.wire.frame import request_frame
from millstream.wire.message import Message
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from millstream.wire.primitives import write_uvarint

_FETCH: Final = 1
_START_OFFSET_FROM: Final = 5
_IDS_FROM: Final = 13
_READ_COMMITTED: Final = 1
_SIZE: Final = struct.Struct(">i")
_OFFSET: Final = struct.Struct(">q")
_OFFSETS: Final = struct.Struct(">qqq")
_SIZE_AND_ID: Final = struct.Struct(">ii")
_VERSION_END: Final = 4  # of a frame: then comes the correlation id
_ID_END: Final = 8
_SHORT_BYTES: Final = 4 << 10


@final
class Again:
    """The request that *refrain* knows, now from *offset* on."""

    __slots__ = ("offset", "refrain")

    def __init__(self, refrain: "Refrain", offset: int) -> None:
        self.refrain = refrain
        self.offset = offset


@final
class Repeated(Message):
    """The answer that *refrain* knows, now with what was *found*."""

    __slots__ = ("found", "refrain", "throttle_time_ms")
    FIELDS = ("throttle_time_ms",)

    def __init__(self, refrain: "Refrain", found: Found) -> None:
        self.refrain = refrain
        self.found = found
        self.throttle_time_ms = 0


@final
class Refrain:
    """What one consumer asks again and again, and how it is answered. *used* once it was."""

    __slots__ = (
        "_answer",
        "_at",
        "_behind",
        "_behind_records",
        "_between",
        "_is_flexible",
        "_name",
        "_offsets_at",
        "_read_committed",
        "_size",
        "_start",
        "_throttle_at",
        "_topic_id",
        "header",
        "request",
        "used",
    )

    def __init__(self, frame: bytes, at: int, header: RequestHeader, request: FetchRequest) -> None:
        """*request* came as *frame*, with its offset *at* this place."""
        self.used = False
        self.header = header
        self.request = request
        self._size = len(frame)
        self._at = at
        self._start = frame[:_VERSION_END]
        self._between = frame[_ID_END:at]
        self._behind = frame[at + _OFFSET.size :]
        version = header.api_version
        topic = request.topics[0]
        self._name = topic.topic
        self._topic_id = topic.topic_id if version >= _IDS_FROM else None
        self._read_committed = request.isolation_level == _READ_COMMITTED
        self._is_flexible = version >= FetchResponse.FLEXIBLE_FROM
        self._throttle_at = 8 + response_header_version(_FETCH, version)
        zeros, self._behind_records = _answer(request, version, 0)
        self._offsets_at = _difference(zeros, _answer(request, version, -1)[0], _OFFSETS.size)
        self._answer = zeros

    def match(self, frame: memoryview) -> Again | None:
        """What *frame* asks, if that is the same again."""
        if len(frame) != self._size:
            return None
        data, at = frame.tobytes(), self._at
        if (
            data[_ID_END:at] != self._between
            or data[at + 8 :] != self._behind
            or data[:_VERSION_END] != self._start
        ):
            return None
        self.used = True
        self.header.correlation_id = _SIZE.unpack_from(data, _VERSION_END)[0]
        return Again(self, _OFFSET.unpack_from(data, at)[0])

    def wanted(self, broker: Broker, offset: int) -> Wanted:
        name, refused = self._name, None
        if self._topic_id is not None:
            try:
                name = broker.topics.name_of(self._topic_id)
            except Refused as refusal:
                refused = refusal.code
        partition = self.request.topics[0].partitions[0]
        return Wanted(
            name,
            partition.partition,
            offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
            refused,
            self._read_committed,
        )

    def fits(self, found: Found) -> bool:
        """Whether *found* can be told by the answer that is known."""
        return found.error == ErrorCode.NONE and found.diverging is None and not found.aborted

    def pieces(self, repeated: Repeated, correlation_id: int) -> Sequence[Piece]:
        """The answer as it is sent."""
        found = repeated.found
        records = found.records
        size = 0 if records is None else records.size
        out = bytearray(self._answer)
        if self._is_flexible:
            write_uvarint(out, size + 1)
        else:
            out += _SIZE.pack(size)
        behind = self._behind_records
        _SIZE_AND_ID.pack_into(out, 0, len(out) + size + len(behind) - _SIZE.size, correlation_id)
        if repeated.throttle_time_ms:
            _SIZE.pack_into(out, self._throttle_at, repeated.throttle_time_ms)
        _OFFSETS.pack_into(
            out, self._offsets_at, found.high_watermark, found.last_stable_offset, found.start_offset
        )
        if records is None:
            out += behind
            return (out,)
        if size <= _SHORT_BYTES:  # as most are for who waits: read now, it is sent in one piece
            return (b"".join((out, read_whole(records), behind)),)
        return (out, records, behind) if behind else (out, records)


def learn(frame: memoryview, version: int, client_id: str, request: FetchRequest) -> Refrain | None:
    """What later requests may repeat of this one, which came as *frame*; None if it is not of that kind."""
    if version < _START_OFFSET_FROM or request.session_id or request.session_epoch != -1:
        return None
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.forgotten_topics_data:
        return None
    data = frame.tobytes()
    partition = request.topics[0].partitions[0]
    header = RequestHeader(_FETCH, version, _SIZE.unpack_from(data, _VERSION_END)[0], client_id)
    asked, written = partition.fetch_offset, []
    for offset in (0, -1, asked):
        partition.fetch_offset = offset
        written.append(bytes(request_frame(header, request))[_SIZE.size :])
    if written[-1] != data:
        return None  # it says the same in another way, or more
    return Refrain(data, _difference(written[0], written[1], _OFFSET.size), header, request)


def _difference(zeros: bytes | bytearray, ones: bytes | bytearray, size: int) -> int:
    """Where the bytes begin in which both differ, which are *size* in a row."""
    places = [place for place, (zero, one) in enumerate(zip(zeros, ones, strict=True)) if zero != one]
    assert places == list(range(places[0], places[0] + size)), places
    return places[0]


@final
class _OneByte:
    """Records that take one byte to tell how many."""

    size = 1


def _answer(request: FetchRequest, version: int, offset: int) -> tuple[bytearray, bytes]:
    """An answer with *offset* for all of its offsets: up to the size of the records, and from behind them."""
    topic = request.topics[0]
    told = FetchResponsePartition(
        partition_index=topic.partitions[0].partition,
        high_watermark=offset,
        last_stable_offset=offset,
        log_start_offset=offset,
        aborted_transactions=[] if request.isolation_level == _READ_COMMITTED else None,
        records=_OneByte(),
    )
    out = bytearray(_SIZE.size)
    write_response_header(out, _FETCH, version, 0)
    response = FetchResponse(responses=[FetchResponseTopic(topic.topic, topic.topic_id, [told])])
    first, _, *last = response.write_pieces(out, version)
    assert isinstance(first, bytearray)
    del first[-1 if version >= FetchResponse.FLEXIBLE_FROM else -_SIZE.size :]
    assert len(last) <= 1
    behind = last[0] if last else b""
    assert isinstance(behind, bytes | bytearray)
    return first, bytes(behind)
