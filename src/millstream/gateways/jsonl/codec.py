"""TinyMQ's requests and replies: one JSON object a line.

`{"type": "produce", …}` in, `{"ok": true, "data": {…}}` or `{"ok": false,
"error": "…"}` out. Field names and messages are those that clients of the
original know. Bytes that are not UTF-8 are written as base64, with
`"encoding": "base64"` beside them (`"keyEncoding"` for a key), and are
taken in the same way.
"""

import binascii
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, final

import orjson

from millstream.errors import ErrorCode, Refused
from millstream.gateways.iso import iso
from millstream.records.read import Record

BASE64: Final = "base64"
DEFAULT_MAX: Final = 100
_INT64_MAX: Final = (1 << 63) - 1
_ENCODINGS: Final = ("encoding", "keyEncoding")
_SHOWN_CHARS: Final = 100


class CreateTopic(NamedTuple):
    topic: str
    partitions: int


@final
class Produce:
    """*fields* are the request as it came, for the reply repeats some of it."""

    __slots__ = ("fields", "key", "partition", "topic", "value")

    def __init__(
        self, topic: str, key: bytes | None, value: bytes, partition: int | None, fields: dict[str, Any]
    ) -> None:
        self.topic = topic
        self.key = key
        self.value = value
        self.partition = partition
        self.fields = fields


class Fetch(NamedTuple):
    topic: str
    partition: int
    offset: int
    max: int


class Commit(NamedTuple):
    group: str
    topic: str
    partition: int
    offset: int


class Metrics(NamedTuple):
    topic: str
    partition: int
    group: str | None


class ListTopics(NamedTuple):
    pass


class JoinGroup(NamedTuple):
    group: str
    topic: str
    consumer: str


class LeaveGroup(NamedTuple):
    group: str
    consumer: str


class Heartbeat(NamedTuple):
    group: str
    consumer: str


Request = CreateTopic | Produce | Fetch | Commit | Metrics | ListTopics | JoinGroup | LeaveGroup | Heartbeat


def read_request(line: bytes) -> Request | None:
    """The request on *line*; None if it is blank. Refused says what is wrong with it."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if not line.strip():
            return None
        raise _bad(f"Not JSON: {error}") from None
    if type(fields) is not dict:
        raise _bad('Not a JSON object: write one a line, such as {"type":"listTopics"}')
    kind = fields.get("type")
    if kind == "produce":
        return _produce(fields)
    if kind is None:
        raise _bad("Missing type")
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is None:
        shown = kind if type(kind) is str else orjson.dumps(kind).decode()
        raise _bad(f"Unknown type: {shown[:_SHOWN_CHARS]}")
    return reader(fields)


def ok(data: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"ok": True, "data": data}, option=orjson.OPT_APPEND_NEWLINE)


def error(text: str) -> bytes:
    # What was said by a client may hold surrogates by now; what is sent must not.
    text = text.encode(errors="replace").decode()
    return orjson.dumps({"ok": False, "error": text}, option=orjson.OPT_APPEND_NEWLINE)


def produced(request: Produce, partition: int, offset: int, timestamp: bytes) -> bytes:
    """The reply to *request*; *timestamp* is as `iso` tells it."""
    fields = request.fields
    said = b'"value":%b,"key":%b' % (orjson.dumps(fields["value"]), orjson.dumps(fields.get("key")))
    for name in _ENCODINGS:
        if name in fields:
            said += b',"%b":"base64"' % name.encode()
    return b'{"ok":true,"data":{"offset":%d,"timestamp":"%b",%b,"partition":%d}}\n' % (
        offset,
        timestamp,
        said,
        partition,
    )


def shown(record: Record) -> dict[str, Any]:
    """A record as `fetch` gives it."""
    fields: dict[str, Any] = {"offset": record.offset, "timestamp": iso(record.timestamp_ms)}
    _show(fields, "value", "encoding", record.value)
    _show(fields, "key", "keyEncoding", record.key)
    return fields


def _show(fields: dict[str, Any], name: str, encoding: str, data: bytes | None) -> None:
    if data is None:
        fields[name] = None
        return
    try:
        fields[name] = data.decode()
    except UnicodeDecodeError:
        fields[name] = b64encode(data).decode()
        fields[encoding] = BASE64


def _create_topic(fields: dict[str, Any]) -> CreateTopic:
    topic = _text(fields, "topic")
    if not topic:
        raise _bad("Missing topic")
    partitions = _whole(fields, "partitions")
    return CreateTopic(topic, 1 if partitions is None else partitions)


def _produce(fields: dict[str, Any]) -> Produce:
    topic, value = fields.get("topic"), fields.get("value")
    if topic is None or value is None:
        raise _bad("Missing topic or value")
    if type(topic) is not str:
        raise _bad("topic must be a string")
    data = _bytes(fields, "value", "encoding")
    assert data is not None, "value was there"
    key = _bytes(fields, "key", "keyEncoding") if "key" in fields else None
    return Produce(topic, key, data, _whole(fields, "partition") if "partition" in fields else None, fields)


def _fetch(fields: dict[str, Any]) -> Fetch:
    topic, partition, offset = _text(fields, "topic"), _whole(fields, "partition"), _whole(fields, "offset")
    if topic is None or partition is None or offset is None:
        raise _bad("Missing topic/partition/offset")
    most = _whole(fields, "max")
    if most is not None and most < 0:
        raise _bad("max must not be negative")
    return Fetch(topic, partition, offset, DEFAULT_MAX if most is None else most)


def _commit(fields: dict[str, Any]) -> Commit:
    group, topic = _text(fields, "groupId"), _text(fields, "topic")
    partition, offset = _whole(fields, "partition"), _whole(fields, "offset")
    if group is None or topic is None or partition is None or offset is None:
        raise _bad("Missing groupId/topic/partition/offset")
    return Commit(group, topic, partition, offset)


def _metrics(fields: dict[str, Any]) -> Metrics:
    topic, partition = _text(fields, "topic"), _whole(fields, "partition")
    if topic is None or partition is None:
        raise _bad("Missing topic/partition")
    return Metrics(topic, partition, _text(fields, "groupId"))


def _join_group(fields: dict[str, Any]) -> JoinGroup:
    group, topic, consumer = _text(fields, "groupId"), _text(fields, "topic"), _text(fields, "consumerId")
    if group is None or topic is None or consumer is None:
        raise _bad("Missing groupId/topic/consumerId")
    return JoinGroup(group, topic, consumer)


def _member(fields: dict[str, Any]) -> tuple[str, str]:
    group, consumer = _text(fields, "groupId"), _text(fields, "consumerId")
    if group is None or consumer is None:
        raise _bad("Missing groupId/consumerId")
    return group, consumer


_READERS: Final[dict[str, Callable[[dict[str, Any]], Request]]] = {
    "createTopic": _create_topic,
    "fetch": _fetch,
    "commit": _commit,
    "metrics": _metrics,
    "listTopics": lambda fields: ListTopics(),
    "joinGroup": _join_group,
    "leaveGroup": lambda fields: LeaveGroup(*_member(fields)),
    "heartbeat": lambda fields: Heartbeat(*_member(fields)),
}


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and type(value) is not str:
        raise _bad(f"{name} must be a string")
    return value


def _whole(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is not None and (type(value) is not int or not -_INT64_MAX <= value <= _INT64_MAX):
        raise _bad(f"{name} must be a whole number")
    return value


def _bytes(fields: dict[str, Any], name: str, encoding: str) -> bytes | None:
    """What *name* stands for."""
    value = fields.get(name)
    if value is None:
        return None
    if type(value) is not str:
        raise _bad(f"{name} must be a string")
    if encoding not in fields:
        return value.encode()
    if fields[encoding] != BASE64:
        raise _bad(f'{encoding} must be "base64", or not be there')
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError):
        raise _bad(f"{name} is not base64") from None


def _bad(text: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, text)
