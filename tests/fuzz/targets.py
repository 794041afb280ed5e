"""What is fuzzed: functions of bytes, out of which nothing may come but an answer or `Refused`.

Where an answer comes, it is held to more than that: what was read can be
written, and written, reads the same; a shortcut finds what the long way finds.
"""

import contextlib
import json
from collections.abc import Callable
from typing import Final

from millstream.client.consumer_protocol import Subscription, decode_assignment
from millstream.errors import Refused
from millstream.gateways.jsonl import codec as jsonl
from millstream.gateways.lines import Lines, said
from millstream.gateways.text import codec as text
from millstream.groups import changes
from millstream.groups.subscription import topics_of
from millstream.queues import changes as queue_changes
from millstream.records.batch import HEADER_SIZE, Batch, split
from millstream.records.build import NewRecord, build, seal
from millstream.records.columns import Decoder
from millstream.records.compression import Codec, bounded_decompress
from millstream.records.read import Record, read
from millstream.records.verify import recompress, verify_records
from millstream.wire.apis import APIS, RequestHeader
from millstream.wire.fast import Produced, read_produce
from millstream.wire.frame import FrameBuffer
from millstream.wire.message import Message, read_message
from millstream.wire.primitives import Reader

PRODUCE: Final = 0
MAX_UNPACKED: Final = 1 << 20
MAX_FRAME: Final = 1 << 16
KEYS: Final = sorted(APIS)

for _api in APIS.values():
    assert _api.request, "loaded now, while imports are instrumented"
    assert _api.response

for _plain in (False, True):  # pyarrow loads half of itself when first used, which no input is to blame for
    assert list(Decoder("", 0, plain=_plain).decode(build([NewRecord(None, None)], now_ms=0)))


def batch(data: bytes) -> None:
    """A run of batches; if it is none, one batch, given the checksum without which nothing is looked at."""
    whole = 0
    with contextlib.suppress(Refused):
        for found in split(data):
            found.check()
            _look_into(found)
            whole += found.size
    if whole < len(data) and len(data) >= HEADER_SIZE:
        sealed = bytearray(data)
        seal(sealed, 0, 0)
        _look_into(Batch(sealed))


def records(data: bytes) -> None:
    """A batch's records, eight at most, as the first byte says, under a header that is right."""
    sealed = build([NewRecord(None, None)] * (data[0] % 8 + 1 if data else 1), now_ms=0)
    sealed[HEADER_SIZE:] = data[1:]
    seal(sealed, 0, 0)
    _look_into(Batch(sealed))


def columns(data: bytes) -> None:
    """A run of batches, sealed or not, as columns: natively and plainly the same, or the same refusal."""
    for run in (data, _sealed(data)):
        native, plain = (
            Decoder("topic", 1, headers=True, max_bytes=MAX_UNPACKED, plain=plain) for plain in (False, True)
        )
        assert _outcome(native, run) == _outcome(plain, run)


def decompress(data: bytes) -> None:
    """A codec, named by the first byte, and what it is given."""
    codec = Codec(data[0] % len(Codec)) if data else Codec.NONE
    assert len(bounded_decompress(codec, data[1:], MAX_UNPACKED)) <= MAX_UNPACKED


def frame(data: bytes) -> None:
    """A connection's first bytes, in pieces whose size the first byte gives, read as requests."""
    size = data[0] + 1 if data else 1
    buffer = FrameBuffer(MAX_FRAME)
    for start in range(1, len(data), size):
        buffer.feed(data[start : start + size])
        while (found := buffer.next()) is not None:
            _request_in(found)


def request(data: bytes) -> None:
    """A request's key and version, a byte each, and its body."""
    found = _message(data, "request")
    if found is not None and found[0].KEY == PRODUCE:
        message, version, body = found
        _shortcut_agrees(message, version, body)


def response(data: bytes) -> None:
    """A response's key and version, a byte each, and its body: our own client reads these."""
    _message(data, "response")


def groups(data: bytes) -> None:
    """What members of a group say to each other, and what is kept of a group; key and value in halves."""
    topics_of([data])
    with contextlib.suppress(Refused):
        written = Subscription.decode(data).encode()
        assert Subscription.decode(written).encode() == written
    with contextlib.suppress(Refused):
        decode_assignment(data)
    size = data[0] if data else 0
    with contextlib.suppress(Refused):
        changes.decode(data[1 : 1 + size], data[1 + size :])


def json_lines(data: bytes) -> None:
    """What arrives at the JSON lines door; what is refused is told in JSON again."""
    for line in _lines(data):
        told = b""
        found = None
        try:
            found = jsonl.read_request(line)
        except Refused as refusal:
            told = jsonl.error(said(refusal))
        assert not told or json.loads(told)["ok"] is False
        repr(found)
        if isinstance(found, jsonl.Produce):
            reply = json.loads(jsonl.produced(found, 0, 7, b"now"))["data"]
            assert (reply["offset"], reply["value"]) == (7, found.fields["value"])
            shown = jsonl.shown(Record(7, -1, found.key, found.value))
            assert json.loads(jsonl.ok(shown))["data"] == shown


def text_lines(data: bytes) -> None:
    """What arrives at the text door; any value can be told on one line."""
    for line in _lines(data):
        told = text.message(b"MSG t ", "0", line)
        assert told.count(b"\n") == 1
        assert told.isascii() or told.decode()
        answer = text.OK
        try:
            repr(text.read_command(line))
        except Refused as refusal:
            answer = text.error(said(refusal))
        assert answer.count(b"\n") == 1


def queues(data: bytes) -> None:
    """A queue's state and its key."""
    with contextlib.suppress(Refused):
        key = queue_changes.decode_key(data)
        assert queue_changes.decode_key(queue_changes.encode_key(key)) == key
    saved = queue_changes.decode_value(data)
    assert queue_changes.decode_value(queue_changes.encode_value(saved)) == saved


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "batch": batch,
    "records": records,
    "columns": columns,
    "decompress": decompress,
    "frame": frame,
    "request": request,
    "response": response,
    "groups": groups,
    "json_lines": json_lines,
    "text_lines": text_lines,
    "queues": queues,
}


def _lines(data: bytes) -> list[bytes]:
    lines = Lines(1024)
    found = [line for at in range(0, len(data), 100) for line in lines.feed(data[at : at + 100])]
    assert len(found) == data.count(b"\n")
    return [line for line in (*found, *lines.end()) if line is not None]


def _sealed(data: bytes) -> bytes:
    if len(data) < HEADER_SIZE:
        return data
    sealed = bytearray(data)
    seal(sealed, 0, 0)
    return bytes(sealed)


def _outcome(decoder: Decoder, run: bytes) -> object:
    try:
        return list(decoder.decode(run))
    except Refused as refusal:
        return refusal.code, refusal.detail


def _look_into(found: Batch) -> None:
    repr(found)
    for check in (found.check, found.check_from_client):
        with contextlib.suppress(Refused):
            check()
    inside = read(found, max_bytes=MAX_UNPACKED)
    offsets = [record.offset for record in inside]
    assert offsets == sorted(set(offsets))
    if found.record_count > 0:
        again = Batch(recompress(found, Codec.NONE, MAX_UNPACKED))
        again.check()
        assert read(again, max_bytes=MAX_UNPACKED) == inside
    with contextlib.suppress(Refused):
        verify_records(found, max_bytes=MAX_UNPACKED, need_keys=True)


def _request_in(found: memoryview) -> None:
    reader = Reader(found)
    header = RequestHeader.read(reader)
    repr(header)
    api = APIS.get(header.api_key)
    if api is not None and api.serves(header.api_version):
        message = api.request.read(reader, header.api_version)
        reader.finish()
        repr(message)


def _message(data: bytes, kind: str) -> tuple[Message, int, bytes] | None:
    if len(data) < 2:
        return None
    api = APIS[KEYS[data[0] % len(KEYS)]]
    version = api.min + data[1] % (api.max - api.min + 1)
    body = data[2:]
    message = read_message(api.request if kind == "request" else api.response, body, version)

    written = bytearray()
    message.write(written, version)
    again = bytearray()
    read_message(type(message), written, version).write(again, version)
    assert written == again
    return message, version, body


def _shortcut_agrees(message: Message, version: int, body: bytes) -> None:
    long_way: Produced = (
        message.transactional_id,  # type: ignore[attr-defined]
        message.acks,  # type: ignore[attr-defined]
        message.timeout_ms,  # type: ignore[attr-defined]
        [
            (topic.topic_id if version >= 13 else topic.name, partition.index, partition.records)
            for topic in message.topic_data  # type: ignore[attr-defined]
            for partition in topic.partition_data
        ],
    )
    assert read_produce(memoryview(body), version) == long_way
