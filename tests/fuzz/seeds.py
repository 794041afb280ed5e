"""Where fuzzing starts from: well-formed input of every kind, made when needed."""

from collections.abc import Callable
from typing import Final

from tests.fuzz.targets import KEYS
from tests.wire.strategies import encode, filled

from millstream.client.consumer_protocol import Subscription, encode_assignment
from millstream.client.topics import TopicPartition
from millstream.groups import changes
from millstream.queues import changes as queue_changes
from millstream.queues.queue import Saved
from millstream.records.batch import HEADER_SIZE
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec, compress
from millstream.wire.apis import APIS, RequestHeader
from millstream.wire.frame import request_frame

_RECORDS: Final = [
    NewRecord(b"key", b"value", (("trace", b"1234"), ("empty", None)), 1_700_000_000_000),
    NewRecord(None, b"a longer value, " * 20, (), 1_700_000_000_300),
    NewRecord(b"key", None, (), 1_600_000_000_000),
]


def _batches() -> list[bytes]:
    one = [bytes(build(_RECORDS, codec=codec, now_ms=0)) for codec in Codec]
    producer = build(_RECORDS, now_ms=0, producer_id=5, producer_epoch=1, base_sequence=9, transactional=True)
    marker = build([NewRecord(b"\0\0\0\1", bytes(6))], now_ms=0, control=True)
    return [*one, bytes(producer), bytes(marker), one[0] + one[1]]


def _records() -> list[bytes]:
    return [
        bytes((count - 1,)) + build(_RECORDS[:count], now_ms=0)[HEADER_SIZE:]
        for count in range(1, len(_RECORDS) + 1)
    ]


def _packed() -> list[bytes]:
    payloads = (b"", b"some words, " * 30, bytes(70_000))
    return [bytes((codec,)) + compress(codec, payload) for codec in Codec for payload in payloads]


def _frames() -> list[bytes]:
    frames = []
    for api in APIS.values():
        for version in {api.min, api.flexible_from - 1, api.max} & set(range(api.min, api.max + 1)):
            header = RequestHeader(api.key, version, 77, "a client")
            frames.append(b"\x3f" + request_frame(header, filled(api, "request", version)))
    return [*frames, b"\xff" + frames[0][1:] + frames[1][1:]]


def _messages(kind: str) -> list[bytes]:
    return [
        bytes((KEYS.index(api.key), version - api.min)) + encode(filled(api, kind, version), version)
        for api in APIS.values()
        for version in range(api.min, api.max + 1)
    ]


def _groups() -> list[bytes]:
    owned = (TopicPartition("topic", 0), TopicPartition("topic", 7), TopicPartition("other", 1))
    subscription = Subscription(("topic", "other"), owned, 5, b"data", "rack")
    return [subscription.encode(), encode_assignment(owned), *_kept()]


def _kept() -> list[bytes]:
    offset = changes.CommittedOffset(99, 3, "metadata", 1_700_000_000_000)
    member = changes.SavedMember("member", "instance", "client", "/host", 60_000, 45_000, b"topics", b"parts")
    group = changes.SavedGroup("consumer", 3, "range", "member", 1_700_000_000_000, (member, member))
    kept = []
    for change in (changes.OffsetSaved("topic", 1, offset), changes.GroupSaved(group)):
        key, value = changes.encode("group", change)
        kept.append(bytes((len(key),)) + key + (value or b""))
    return kept


def _json_lines() -> list[bytes]:
    return [
        b'{"type":"createTopic","topic":"events","partitions":2}\n{"type":"listTopics"}\n',
        b'{"type":"produce","topic":"events","value":"hello","key":"k1","partition":0}\r\n',
        b'{"type":"produce","topic":"e","value":"/w==","encoding":"base64","key":"","keyEncoding":"base64"}\n',
        b'{"type":"fetch","topic":"events","partition":1,"offset":0,"max":5}',
        b'{"type":"commit","groupId":"g","topic":"events","partition":0,"offset":3}\n\n',
        b'{"type":"metrics","topic":"events","partition":0,"groupId":"g"}\n',
        b'{"type":"joinGroup","groupId":"g","topic":"events","consumerId":"c"}\n',
        b'{"type":"heartbeat","groupId":"g","consumerId":"c"}\n{"type":"leaveGroup","groupId":"g","consumerId":"c"}\n',
    ]


def _text_lines() -> list[bytes]:
    return [
        b"PUB orders some text\nPING\r\n",
        b"SUB orders group=g window=5 timeout=100 from=latest info=true\n",
        b"ACK 2/0:17\nNACK 3 500\nAUTH joe secret\n",
        "PUB orders grüße\nPUB orders base64:/w==\n".encode(),
    ]


def _queues() -> list[bytes]:
    return [queue_changes.encode_value(saved) for saved in (Saved(0), Saved(100, {5: 1, 99: 3}))]


SEEDS: Final[dict[str, Callable[[], list[bytes]]]] = {
    "batch": _batches,
    "records": _records,
    "columns": _batches,
    "decompress": _packed,
    "frame": _frames,
    "request": lambda: _messages("request"),
    "response": lambda: _messages("response"),
    "groups": _groups,
    "json_lines": _json_lines,
    "text_lines": _text_lines,
    "queues": _queues,
}
