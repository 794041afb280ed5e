"""Records as the HTTP queue shows them, and JSON as it takes it.

A value that is JSON is shown as it lies in the log, byte for byte: what is
read is looked at only to be sure of that. Anything else is a string of base64,
and says so.
"""

import base64
from typing import Any, Final

from millstream.gateways.http.json import is_json, json_bytes, loads
from millstream.gateways.http.wrong import Wrong
from millstream.gateways.iso import iso
from millstream.records.read import Record

_LARGE_BYTES: Final = 256 << 10
_MOST_VALUES: Final = 500_000  # in memory each takes many times the two bytes it may take here


def parse(body: bytes | bytearray) -> Any:
    """The JSON in a request's *body*; Wrong if it is none, or of more things than any message has."""
    if len(body) > _LARGE_BYTES and sum(map(body.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise Wrong(400, "INVALID_REQUEST", f"the JSON has more than {_MOST_VALUES} values")
    try:
        return loads(body)
    except RecursionError:
        raise Wrong(400, "INVALID_REQUEST", "the JSON is nested too deeply") from None
    except ValueError as error:
        raise Wrong(400, "INVALID_REQUEST", f"the body is not JSON: {error}") from None


def parse_object(body: bytes | bytearray) -> dict[str, Any]:
    value = parse(body)
    if not isinstance(value, dict):
        raise Wrong(400, "INVALID_REQUEST", "the body is JSON, but no object")
    return value


def message_bytes(topic: str, partition: int, record: Record, *, full: bool = False) -> bytes:
    """A record as one message: `{topicId, messageId, content}`, and all there is to tell if *full*."""
    key_text, key_base64 = _text(record.key)
    out = b'{"topicId":%b,"messageId":%b' % (json_bytes(topic), key_text)
    if key_base64:
        out += b',"messageIdEncoding":"base64"'
    value = record.value
    if value is None:
        out += b',"content":null'
    elif is_json(value):
        out += b',"content":' + value
    else:
        out += b',"content":"%b","encoding":"base64"' % base64.b64encode(value)
    if full:
        headers = [[name, *_header(header)] for name, header in record.headers]
        out += b',"partitionId":%d,"offset":%d,"timestamp":"%b","headers":%b' % (
            partition,
            record.offset,
            iso(record.timestamp_ms).encode(),
            json_bytes(headers),
        )
    return out + b"}"


def _text(data: bytes | None) -> tuple[bytes, bool]:
    if data is None:
        return b"null", False
    try:
        return json_bytes(data.decode()), False
    except UnicodeDecodeError:
        return b'"%b"' % base64.b64encode(data), True


def _header(value: bytes | None) -> list[str | None]:
    if value is None:
        return [None]
    try:
        return [value.decode()]
    except UnicodeDecodeError:
        return [base64.b64encode(value).decode(), "base64"]
