"""One record written at each door is read at every other, as the table of the contracts says."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.client.simulated import Sim
from tests.gateways.lines import JSONL, TEXT, LineClient, with_doors

from millstream.client.consumed import Consumed
from millstream.client.consumer import Consumer
from millstream.client.topics import TopicPartition
from millstream.gateways.iso import iso
from millstream.sim.host import BROKER

HTTP = 3000
TOPIC = "t"
BINARY = b"\xff\x00\n\xfe"
HEADERS = (("trace", b"1"), ("none", None))
MS = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z


async def http(method: str, path: str, body: object = None) -> Any:
    reader, writer = await asyncio.open_connection(BROKER, HTTP)
    data = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {BROKER}\r\nConnection: close\r\nContent-Length: {len(data)}\r\n"
    )
    writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + data)
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    told, _, content = answer.partition(b"\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 200"), answer
    return json.loads(content)["data"]


async def write_kafka(sim: Sim, key: bytes | None, value: bytes | None) -> None:
    async with sim.client() as client, sim.producer(client) as producer:
        await producer.send(TOPIC, value, key=key, headers=HEADERS, timestamp_ms=MS)


async def write_json(sim: Sim, key: str | None, value: str) -> None:
    client = await LineClient.connect(JSONL)
    await client.ok(type="produce", topic=TOPIC, key=key, value=value)


async def write_text(sim: Sim, text: str) -> None:
    client = await LineClient.connect(TEXT)
    assert await client.ask(f"PUB {TOPIC} {text}") == "OK"


async def write_http(sim: Sim, key: str, content: object) -> None:
    message = {"messageId": key, "content": content}
    await http("POST", f"/ingress/{TOPIC}", {"brokerId": "b", "message": message})


async def read_kafka(sim: Sim) -> Consumed:
    async with sim.client() as client, Consumer(client) as consumer:
        consumer.assign({TopicPartition(TOPIC, 0): 0})
        while not (records := await consumer.poll()):
            pass
        return records[0]


async def read_json(sim: Sim) -> dict[str, Any]:
    client = await LineClient.connect(JSONL)
    (record,) = (await client.ok(type="fetch", topic=TOPIC, partition=0, offset=0))["records"]
    assert isinstance(record, dict)
    return record


async def read_text(sim: Sim) -> str:
    client = await LineClient.connect(TEXT)
    assert await client.ask(f"SUB {TOPIC} group=reader") == f"SUBSCRIBED {TOPIC}"
    return (await client.hear())[0]


async def read_http(sim: Sim) -> dict[str, Any]:
    found = await http("GET", f"/consume/b/{TOPIC}/0")
    assert isinstance(found["messages"], dict)
    return found["messages"]


async def check(
    sim: Sim,
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...] = (),
    time_ms: int | None = None,
) -> None:
    """Read the one record at every door; each must show *key*, *value*, *headers* and time as it can."""
    record = await read_kafka(sim)
    assert (record.key, record.value, record.headers) == (key, value, headers)
    if time_ms is not None:
        assert record.timestamp_ms == time_ms

    shown = await read_json(sim)
    assert shown.pop("timestamp") == iso(record.timestamp_ms)
    expected: dict[str, Any] = {"offset": 0}
    for name, encoding, data in (("value", "encoding", value), ("key", "keyEncoding", key)):
        text = as_text(data)
        expected[name] = text if data is None or text is not None else b64encode(data).decode()
        if data is not None and text is None:
            expected[encoding] = "base64"
    assert shown == expected

    text = as_text(value)
    if value is None:
        line = ""
    elif text is None or "\n" in text or "\r" in text or text.startswith("base64:"):
        line = "base64:" + b64encode(value).decode()
    else:
        line = text
    assert await read_text(sim) == f"MSG {TOPIC} 0 {line}"

    content = await read_http(sim)
    assert content["topicId"] == TOPIC
    try:
        assert value is None or content["content"] == json.loads(value)
        assert "encoding" not in content
    except ValueError:
        assert value is not None
        assert (content["content"], content["encoding"]) == (b64encode(value).decode(), "base64")
    if key is None or as_text(key) is not None:
        assert content["messageId"] == as_text(key)


def as_text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def play(story: Callable[[Sim], Awaitable[None]]) -> None:
    async def with_topic(sim: Sim) -> None:
        client = await LineClient.connect(JSONL)
        await client.ok(type="createTopic", topic=TOPIC)
        await story(sim)

    with_doors(with_topic, {"http.queue.listener": f"{BROKER}:{HTTP}"})


@pytest.mark.parametrize(
    "value", [b"hello", b'{"a": [1, null]}', BINARY, b"", None, "grüße".encode(), b"two\nlines"]
)
@pytest.mark.parametrize("key", [b"k1", None, BINARY])
def test_written_by_kafka(key: bytes | None, value: bytes | None) -> None:
    async def story(sim: Sim) -> None:
        await write_kafka(sim, key, value)
        await check(sim, key, value, HEADERS, MS)

    play(story)


@pytest.mark.parametrize("value", ["hello", '{"a": 1}', "", "two\nlines", "base64:x", "\0"])
@pytest.mark.parametrize("key", ["k1", None, "schlüssel"])
def test_written_as_json_lines(key: str | None, value: str) -> None:
    async def story(sim: Sim) -> None:
        await write_json(sim, key, value)
        await check(sim, None if key is None else key.encode(), value.encode())

    play(story)


@pytest.mark.parametrize("text", ["hello world", "17", "", "base64:x", "grüße"])
def test_written_as_text(text: str) -> None:
    async def story(sim: Sim) -> None:
        await write_text(sim, text)
        await check(sim, None, text.encode())

    play(story)


@pytest.mark.parametrize("content", ["hello", {"a": [1, None, "ü"]}, 0, False, "two\nlines"])
def test_written_by_http(content: object) -> None:
    async def story(sim: Sim) -> None:
        await write_http(sim, "m1", content)
        record = await read_kafka(sim)
        assert record.value is not None
        assert json.loads(record.value) == content
        await check(sim, b"m1", record.value)

    play(story)
