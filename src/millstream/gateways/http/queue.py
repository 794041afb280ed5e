"""The HTTP queue API (Panda-Q), as calls of the broker.

Offsets here count: `logEndOffset` is how many offsets of a partition are
taken, `readOffset` how many of them are done with. A count is also the Kafka
offset of what comes next, so the two views need no translation; where offsets
were left out (a transaction's marker, a compacted record), a count passes over
them, and so do `endOffset` and what a client commits. What retention has taken
counts as read. The read offset of a partition is the one that the group
READ_GROUP has committed there, and is never forgotten for its age.
"""

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, final

from millstream.broker.broker import Broker
from millstream.broker.read import Records
from millstream.broker.registrations import READ_GROUP
from millstream.broker.session import Session
from millstream.broker.waiting import Hosted
from millstream.broker.write import Placed
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.json import json_bytes, loads
from millstream.gateways.http.values import parse_object
from millstream.gateways.http.wrong import Wrong, wrong
from millstream.gateways.iso import iso
from millstream.records.build import Headers, NewRecord
from millstream.records.expiry import TTL_HEADER

if TYPE_CHECKING:
    from millstream.gateways.http import _native
else:
    try:
        from millstream.gateways.http import _native
    except ImportError:
        _native = None

BATCH_RECORDS: Final = 5_000
READ_BYTES: Final = 4 << 20  # of records in one reply; the first comes whatever its size
CROWDED_READ_BYTES: Final = 64 << 10  # while many clients do not take the replies that they asked for
PRODUCE_RECORDS: Final = 10_000
ID_CHARACTERS: Final = 1_000  # of a consumer

_SCAN: Final = getattr(_native, "scan", None)  # None where it was not built
_INVALID: Final = "INVALID_REQUEST"
_IDS: Final = (
    str,
    int,
    float,
)  # a number is as good an id as its text; true is none, though Python counts it
_PARTITIONS_A_SLICE: Final = 500


@final
class Queue:
    """Every call of the API; an answer is the `data` of a success, and Wrong is any other."""

    def __init__(
        self,
        broker: Broker,
        clock: Clock,
        config: Callable[[], HttpConfig],
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        """*is_crowded* tells when replies must be small, since much is waiting to be taken."""
        self.broker = broker
        self._clock = clock
        self._config = config
        self._is_crowded = is_crowded

    async def register(self, session: Session, topic: str, body: bytes | bytearray) -> dict[str, Any]:
        asked = parse_object(body)
        broker_id = _name(asked, "brokerId")
        consumer = _name(asked, "consumerId")
        self.partition_count(topic)
        try:
            index = await self.broker.registrations.register(topic, consumer, self._config().release_ms)
        except Refused as refusal:
            raise wrong(refusal) from None
        if index is None:
            raise Wrong(
                409,
                "NO_PARTITION_AVAILABLE",
                f"every partition of topic {topic} has a consumer; release one, or give it more partitions",
            )
        return {
            "topicId": topic,
            "brokerId": broker_id,
            "consumerId": consumer,
            "partitionId": index,
            "timestamp": self._now(),
        }

    def ingress(
        self, session: Session, topic: str, body: bytes | bytearray
    ) -> "tuple[object, asyncio.Future[list[Placed]]]":
        """Take the message in *body*: its id as it was given, and where it is once it is durable."""
        message_id, record, hosted = self.message(topic, body)
        try:
            done = self.broker.write(session, topic, [record], hosted.partition.index)
        except Refused as refusal:
            raise wrong(refusal) from None
        return loads(message_id), done

    def scan(self, topic: str, data: bytes, start: int) -> tuple[bytes, NewRecord, Hosted]:
        """As `message`, of a body that begins at *start*; quicker, where `_native.c` was built."""
        scanned: tuple[bytes, bytes, bytes] | None = None if _SCAN is None else _SCAN(data, start)
        if scanned is None:
            return self.message(topic, data[start:])
        message_id, key, value = scanned
        return message_id, NewRecord(key, value), self._place(topic, key, self.partition_count(topic))

    def message(self, topic: str, body: bytes | bytearray) -> tuple[bytes, NewRecord, Hosted]:
        """The message in *body*: its id as JSON, the record that it becomes, and its partition."""
        asked = parse_object(body)
        if not isinstance(asked.get("brokerId", ""), str):
            raise Wrong(400, _INVALID, "brokerId is a string")
        count = self.partition_count(topic)
        message_id, record = _record(asked.get("message"), "message")
        assert record.key is not None
        return json_bytes(message_id), record, self._place(topic, record.key, count)

    async def ingress_batch(
        self, session: Session, topic: str, body: bytes | bytearray
    ) -> tuple[int, dict[str, Any]]:
        """Take many messages; the status tells whether all of them could be."""
        asked = parse_object(body)
        messages = asked.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Wrong(400, _INVALID, "messages is a list of { messageId, content }")
        if len(messages) > PRODUCE_RECORDS:
            raise Wrong(400, _INVALID, f"{len(messages)} messages at once; {PRODUCE_RECORDS} may be")
        count = self.partition_count(topic)
        records = [_record(each, f"messages[{number}]") for number, each in enumerate(messages)]
        calls: list[asyncio.Future[list[Placed]] | Wrong] = []
        for _, record in records:
            try:
                calls.append(self._write(session, topic, count, record))
            except Wrong as refused:
                calls.append(refused)
        results = []
        for (message_id, _), call in zip(records, calls, strict=True):
            results.append({"messageId": message_id, **await _told(call)})
        failed = sum("error" in result for result in results)
        data = {"topicId": topic, "count": len(results) - failed, "failed": failed, "messages": results}
        return 207 if failed else 200, data

    async def consume(
        self, session: Session, topic: str, partition: str, max_records: int, max_wait_ms: int = 0
    ) -> tuple[int, Records]:
        """The read offset, and records from there on; they come again until a commit."""
        hosted = self.hosted(topic, partition)
        index = hosted.partition.index
        try:
            read_offset = (await self.read_offsets(session, topic, [index]))[index]
            found = await self.broker.read(
                session,
                topic,
                index,
                read_offset,
                max_records=max_records,
                max_bytes=CROWDED_READ_BYTES if self._is_crowded() else READ_BYTES,
                max_wait_ms=max_wait_ms,
            )
        except Refused as refusal:
            raise wrong(refusal) from None
        return read_offset, found

    async def commit(self, session: Session, body: bytes | bytearray) -> dict[str, Any]:
        asked = parse_object(body)
        topic = _name(asked, "topicId")
        consumer = _name(asked, "consumerId")
        offset = _whole_number(asked.get("offset"), "offset")
        index = asked.get("partitionId")
        if isinstance(index, bool) or not isinstance(index, int | str):
            raise Wrong(400, _INVALID, "partitionId is a number")
        hosted = self.hosted(topic, str(index))
        index = hosted.partition.index
        end = hosted.partition.high_watermark
        if not 0 <= offset <= end:
            raise Wrong(400, "INVALID_OFFSET", f"offset {offset} is not within 0 and logEndOffset {end}")
        try:
            await self.broker.commit_offsets(session, READ_GROUP, {(topic, index): offset}, forever=True)
        except Refused as refusal:
            raise wrong(refusal) from None
        self.broker.registrations.heard_from(topic, consumer)
        return {
            "committed": True,
            "offset": offset,
            "topicId": topic,
            "partitionId": index,
            "consumerId": consumer,
            "logEndOffset": end,
            "newReadOffset": max(offset, hosted.partition.log.start_offset),
            "timestamp": self._now(),
        }

    async def stats(self, session: Session) -> dict[str, Any]:
        try:
            committed = await self.broker.committed_offsets(session, READ_GROUP)
        except Refused as refusal:
            raise wrong(refusal) from None
        topics = []
        looked_at = 0
        for name, topic in sorted(self.broker.topics.by_name().items()):
            if topic.is_internal:
                continue
            partitions = []
            for index in range(topic.partitions):
                try:
                    hosted = self.broker.topics.hosted(name, index)
                except Refused:
                    break  # deleted while we looked
                partitions.append(_stats(hosted, committed.get((name, index), 0)))
                looked_at += 1
                if looked_at % _PARTITIONS_A_SLICE == 0:
                    await asyncio.sleep(0)
            topics.append({"topicId": name, "partitionCount": len(partitions), "partitions": partitions})
        writes = self.broker.writes
        return {
            "brokerId": self._config().broker_id,
            "topicCount": len(topics),
            "topics": topics,
            "ingressBuffer": {
                "bufferSize": writes.buffered_records,
                "logEndOffset": writes.records + writes.buffered_records,
                "readOffset": writes.records,
            },
            "timestamp": self._now(),
        }

    async def read_offsets(self, session: Session, topic: str, indexes: list[int]) -> dict[int, int]:
        """How far each of these partitions has been read."""
        places = [(topic, index) for index in indexes]
        committed = await self.broker.committed_offsets(session, READ_GROUP, places)
        return {
            index: _read_offset(self.broker.topics.hosted(topic, index), committed.get((topic, index), 0))
            for index in indexes
        }

    def _write(
        self, session: Session, topic: str, count: int, record: NewRecord
    ) -> "asyncio.Future[list[Placed]]":
        assert record.key is not None
        try:
            return self.broker.write(session, topic, [record], partition_of(record.key, count))
        except Refused as refusal:
            raise wrong(refusal) from None

    def _place(self, topic: str, key: bytes, count: int) -> Hosted:
        try:
            return self.broker.topics.hosted(topic, partition_of(key, count))
        except Refused as refusal:  # it is just being deleted
            raise wrong(refusal) from None

    def partition_count(self, topic: str) -> int:
        found = self.broker.topics.by_name().get(topic)
        if found is None or found.is_internal:
            raise Wrong(404, "TOPIC_NOT_FOUND", f"Topic {topic} not found")
        return found.partitions

    def hosted(self, topic: str, partition: str) -> Hosted:
        count = self.partition_count(topic)
        if not (
            partition.isascii() and partition.isdecimal() and len(partition) < 10 and int(partition) < count
        ):
            raise Wrong(404, "PARTITION_NOT_FOUND", f"Partition {partition} not found in topic {topic}")
        return self.broker.topics.hosted(topic, int(partition))

    def _now(self) -> str:
        return iso(self._clock.now_ms())


def partition_of(key: bytes, count: int) -> int:
    """Where a message with this id belongs: by its SHA-256, as Panda-Q has it."""
    return int.from_bytes(sha256(key).digest()[:4], "big") % count


def _record(message: object, where: str) -> tuple[object, NewRecord]:
    """A message's id as it was given, and the record that it becomes."""
    if not isinstance(message, dict):
        raise Wrong(400, _INVALID, f"{where} is {{ messageId, content }}")
    message_id = message.get("messageId")
    if type(message_id) not in _IDS or message_id == "":
        raise Wrong(400, _INVALID, f"{where}.messageId is a string")
    content = message.get("content")
    if content is None:
        raise Wrong(400, _INVALID, f"{where}.content is any JSON value but null")
    try:
        key = message_id.encode() if isinstance(message_id, str) else json_bytes(message_id)
    except UnicodeEncodeError:
        raise Wrong(400, _INVALID, f"{where}.messageId is no text") from None
    headers: Headers = ()
    if len(message) > 2:
        headers = _headers(message, where)
    return message_id, NewRecord(key, json_bytes(content), headers)


def _headers(message: Mapping[str, Any], where: str) -> Headers:
    given = message.get("headers", {})
    ttl_ms = message.get("ttlMs")
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Wrong(400, _INVALID, f"{where}.headers has strings for values")
    try:
        headers = [(name, value.encode()) for name, value in given.items()]
    except UnicodeEncodeError:
        raise Wrong(400, _INVALID, f"{where}.headers are no text") from None
    if ttl_ms is not None:
        headers.append((TTL_HEADER, b"%d" % _whole_number(ttl_ms, f"{where}.ttlMs")))
    return tuple(headers)


async def _told(call: "asyncio.Future[list[Placed]] | Wrong") -> dict[str, Any]:
    try:
        if isinstance(call, Wrong):
            raise call
        (placed,) = await call
    except Refused as refusal:
        return {"error": refusal.detail, "errorCode": refusal.code.name}
    except Wrong as refused:
        return {"error": refused.message, "errorCode": refused.code}
    return {
        "partitionId": placed.partition,
        "offset": placed.offset,
        "timestamp": iso(placed.timestamp_ms),
    }


def _stats(hosted: Hosted, committed: int) -> dict[str, int]:
    end = hosted.partition.high_watermark
    read_offset = _read_offset(hosted, committed)
    return {
        "partitionId": hosted.partition.index,
        "logEndOffset": end,
        "readOffset": read_offset,
        "bufferSize": end - read_offset,
        "pendingMessages": end - read_offset,
    }


def _read_offset(hosted: Hosted, committed: int) -> int:
    partition = hosted.partition
    return min(max(committed, partition.log.start_offset), partition.high_watermark)


def _name(asked: Mapping[str, Any], field: str) -> str:
    value = asked.get(field)
    if not isinstance(value, str) or not value:
        raise Wrong(400, _INVALID, f"{field} is missing, or not a string")
    if len(value) > ID_CHARACTERS:
        raise Wrong(400, _INVALID, f"{field} has {len(value)} characters; {ID_CHARACTERS} may be")
    if not value.isprintable():
        raise Wrong(400, _INVALID, f"{field} has characters that cannot be printed")
    return value


def _whole_number(value: object, field: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(400, _INVALID, f"{field} is a whole number")
    return value


def refused(error: BaseException) -> Wrong:
    """What to answer for a write that did not become durable."""
    if isinstance(error, Refused):
        return wrong(error)
    if isinstance(error, asyncio.CancelledError):
        return wrong(Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the node is stopping"))
    raise error
