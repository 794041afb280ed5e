"""Shortcuts for the two requests that matter most.

`read_produce` makes no objects for topics and partitions, and reads the head
of the usual request (no transaction, one topic) by two calls. Whatever is
not usual is left to the generated code, so there is one place that refuses.

`fetch_frame_pieces` answers a Fetch without touching the records: a list to be sent
one after the other, in which a range of a file stays a range of a file.
"""

import struct
from typing import Final, TypeAlias

from millstream.wire.apis import write_response_header
from millstream.wire.message import read_message
from millstream.wire.messages.fetch import FetchResponse
from millstream.wire.messages.produce import ProduceRequest
from millstream.wire.primitives import Buffer, Piece, size_of

Part: TypeAlias = tuple[str | bytes, int, Buffer | None]
"""Topic (its name, or its id from version 13), partition, records."""
Produced: TypeAlias = tuple[str | None, int, int, list[Part]]
"""Transactional id, acks, timeout in ms, and what to append where, in the request's order."""

_TOPIC_IDS_FROM: Final = 13
_MANY: Final = 127  # partitions; beyond, a flexible count has a second byte and speed is not in the head
_SIZE: Final = struct.Struct(">i")

# No transactional id, acks, timeout, one topic, then its name's length or its id and its count.
_older_head: Final = struct.Struct(">hhiih").unpack_from
_named_head: Final = struct.Struct(">BhiBB").unpack_from
_id_head: Final = struct.Struct(">BhiB16sB").unpack_from
_older_first: Final = struct.Struct(">iii").unpack_from  # count of partitions, index, length of records
_older_next: Final = struct.Struct(">ii").unpack_from
_flexible_next: Final = struct.Struct(">iB").unpack_from


def read_produce(body: memoryview, version: int) -> Produced:
    """The Produce request in *body*, which is all that follows the header."""
    usual = None
    try:
        if ProduceRequest.FLEXIBLE_FROM <= version <= ProduceRequest.MAX_VERSION:
            usual = _flexible(body, version)
        elif ProduceRequest.MIN_VERSION <= version < ProduceRequest.FLEXIBLE_FROM:
            usual = _older(body)
    except (struct.error, IndexError, UnicodeDecodeError):
        pass  # refused below, with the reason
    return usual or _any(body, version)


def fetch_response_pieces(response: FetchResponse, version: int) -> list[Piece]:
    """*response* as pieces that, joined, are what its `write` would have written."""
    return response.write_pieces(bytearray(), version)


def fetch_frame_pieces(response: FetchResponse, version: int, correlation_id: int) -> list[Piece]:
    """As `fetch_response_pieces`, with the frame's size and the header in the first piece."""
    first = bytearray(_SIZE.size)
    write_response_header(first, response.KEY, version, correlation_id)
    pieces = response.write_pieces(first, version)
    _SIZE.pack_into(first, 0, sum(map(size_of, pieces)) - _SIZE.size)
    return pieces


def _older(body: memoryview) -> Produced | None:
    transaction, acks, timeout_ms, topics, length = _older_head(body, 0)
    if transaction != -1 or topics != 1 or length < 0:
        return None
    position = 14 + length
    topic = body[14:position].tobytes().decode()
    count, index, length = _older_first(body, position)
    position += 12
    if not 0 < count <= _MANY:
        return None
    parts: list[Part] = []
    for left in range(count - 1, -1, -1):
        if length < 0:
            return None
        stop = position + length
        parts.append((topic, index, body[position:stop]))
        position = stop
        if left:
            index, length = _older_next(body, position)
            position += 8
    return (None, acks, timeout_ms, parts) if position == len(body) else None


def _flexible(body: memoryview, version: int) -> Produced | None:
    topic: str | bytes
    if version >= _TOPIC_IDS_FROM:
        transaction, acks, timeout_ms, topics, topic, count = _id_head(body, 0)
        position = 25
    else:
        transaction, acks, timeout_ms, topics, length = _named_head(body, 0)
        position = 8 + length
        if length == 0 or length > 127:
            return None
        topic = body[9:position].tobytes().decode()
        count = body[position]
        position += 1
    if transaction or topics != 2 or not 0 < count <= _MANY:
        return None
    parts: list[Part] = []
    for _ in range(count - 1):
        index, length = _flexible_next(body, position)
        position += 5
        if length > 127:
            more = body[position]
            position += 1
            length += (more - 1) << 7
            if more > 127:
                more = body[position]
                position += 1
                length += (more - 1) << 14
                if more > 127:
                    return None
        elif length == 0:
            return None
        stop = position + length - 1
        parts.append((topic, index, body[position:stop]))
        if body[stop]:  # tags
            return None
        position = stop + 1
    if body[position] or body[position + 1] or position + 2 != len(body):
        return None
    return None, acks, timeout_ms, parts


def _any(body: memoryview, version: int) -> Produced:
    request = read_message(ProduceRequest, body, version)
    by_id = version >= _TOPIC_IDS_FROM
    parts: list[Part] = [
        (topic.topic_id if by_id else topic.name, partition.index, partition.records)
        for topic in request.topic_data
        for partition in topic.partition_data
    ]
    return request.transactional_id, request.acks, request.timeout_ms, parts
