"""The HTTP doors of a real process: killed under load, stopped, on taken ports, beside Kafka's."""

import asyncio
import contextlib
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.gateways.http.support import read_answer, request_bytes
from tests.support.server import Server

pytestmark = pytest.mark.system

QUEUE = "the HTTP queue"
ADMIN = "the admin API"


async def ask(server: Server, method: str, path: str, body: Any = None, door: str = QUEUE) -> Any:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[door])
    try:
        writer.write(request_bytes(method, path, body))
        return (await read_answer(reader)).json
    finally:
        writer.close()


async def produce(server: Server, writer_id: int, acked: dict[str, int], life: int) -> None:
    """Write for as long as anybody answers."""
    number = 0
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[QUEUE])
        while True:
            message_id = f"{life}-{writer_id}-{number}"
            message = {"messageId": message_id, "content": number}
            writer.write(request_bytes("POST", "/ingress/my-topic", {"brokerId": "b", "message": message}))
            answer = await read_answer(reader)
            if answer.status == 200:
                acked[message_id] = number
            number += 1


async def consume(server: Server, committed: dict[int, int], done: set[str], again: list[str]) -> None:
    """Take and commit; what comes again after its commit was answered is noted."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            for partition in range(3):
                path = f"/consume/b/my-topic/{partition}?b=t&max=50"
                data = (await ask(server, "GET", path))["data"]
                ids = [each["messageId"] for each in data["messages"]]
                again += [each for each in ids if each in done]
                if not ids:
                    continue
                body = {"topicId": "my-topic", "partitionId": partition, "consumerId": "c"}
                answer = await ask(server, "POST", "/commit", {**body, "offset": data["endOffset"]})
                assert answer["success"], answer
                committed[partition] = data["endOffset"]
                done.update(ids)
            await asyncio.sleep(0.01)


@pytest.mark.slow
def test_nothing_that_got_a_success_is_lost_and_nothing_committed_comes_again(tmp_path: Path) -> None:
    async def story() -> None:
        random = Random(5)
        acked: dict[str, int] = {}
        committed: dict[int, int] = {}
        done: set[str] = set()
        again: list[str] = []
        registered: dict[str, int] = {}
        for life in range(4):
            with Server(tmp_path) as server:
                if life == 0:
                    topic = {"name": "my-topic", "partitions": 3}
                    assert (await ask(server, "POST", "/api/v1/topics", topic, ADMIN))["success"]
                for name in ("a", "b"):
                    body = {"brokerId": "b", "consumerId": name}
                    partition = (await ask(server, "POST", "/register/my-topic", body))["data"]["partitionId"]
                    assert registered.setdefault(name, partition) == partition
                work = [asyncio.ensure_future(produce(server, n, acked, life)) for n in range(8)]
                work.append(asyncio.ensure_future(consume(server, committed, done, again)))
                await asyncio.sleep(1.0 + random.random())
                server.kill()
                await asyncio.gather(*work)
        assert len(acked) > 100
        assert done
        assert again == []
        with Server(tmp_path) as server:
            stats = (await ask(server, "GET", "/stats"))["data"]["topics"][0]["partitions"]
            for each in stats:
                assert each["readOffset"] >= committed.get(each["partitionId"], 0)
            found: dict[str, int] = {}
            for partition in range(3):
                start = {"topicId": "my-topic", "partitionId": partition, "consumerId": "c", "offset": 0}
                assert (await ask(server, "POST", "/commit", start))["success"]
                end = stats[partition]["logEndOffset"]
                at = 0
                while at < end:
                    data = (await ask(server, "GET", f"/consume/b/my-topic/{partition}?b=t"))["data"]
                    found |= {each["messageId"]: each["content"] for each in data["messages"]}
                    at = data["endOffset"]
                    assert (await ask(server, "POST", "/commit", {**start, "offset": at}))["success"]
            assert acked.items() <= found.items()

    asyncio.run(asyncio.wait_for(story(), 200))


def test_a_taken_port_names_the_setting(tmp_path: Path) -> None:
    with Server(tmp_path / "first") as first:
        for setting, door in (("http.queue.listener", QUEUE), ("admin.listener", ADMIN)):
            with pytest.raises(AssertionError) as told:
                Server(tmp_path / setting, {setting: f"127.0.0.1:{first.ports[door]}"})
            assert f"cannot listen on 127.0.0.1:{first.ports[door]}" in str(told.value)
            assert f"see the setting '{setting}'" in str(told.value)


def test_a_clean_stop_ends_streams_and_answers_long_polls(tmp_path: Path) -> None:
    async def story(server: Server) -> None:
        await ask(server, "POST", "/api/v1/topics", {"name": "t", "partitions": 1}, ADMIN)
        poll = asyncio.ensure_future(ask(server, "GET", "/consume/b/t/0?wait=60000"))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[QUEUE])
        writer.write(request_bytes("GET", "/stream/t"))
        await reader.readuntil(b"retry: 1000")
        assert await asyncio.to_thread(server.stop) == 0
        assert (await poll)["data"]["count"] == 0
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), 60)
        writer.close()

    with Server(tmp_path) as server:
        asyncio.run(asyncio.wait_for(story(server), 60))


@pytest.mark.compat
def test_a_record_is_the_same_through_kafkas_clients_and_http(tmp_path: Path) -> None:
    """Key, value, headers and time, both ways, and bytes that are no text."""
    from confluent_kafka import Consumer, Producer

    with Server(tmp_path) as server:
        topic = {"name": "both", "partitions": 1}
        asyncio.run(ask(server, "POST", "/api/v1/topics", topic, ADMIN))
        message = {"messageId": "from http ü", "content": {"a": [1, "ü"]}, "headers": {"trace": "42"}}
        written = asyncio.run(ask(server, "POST", "/ingress/both", {"brokerId": "b", "message": message}))
        producer = Producer({"bootstrap.servers": server.bootstrap})
        headers: list[tuple[str, str | bytes | None]] = [("bin", b"\xff\x00"), ("none", None)]
        producer.produce(
            "both", key=b"\x00\xff", value=b"from kafka", timestamp=1_700_000_000_123, headers=headers
        )
        producer.produce("both", key=b"json", value=b'{"n":1}', timestamp=1_700_000_000_124)
        assert producer.flush(20) == 0

        consumer = Consumer(
            {"bootstrap.servers": server.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["both"])
        heard: list[Any] = []
        while len(heard) < 3:
            found = consumer.poll(20)
            assert found is not None
            assert found.error() is None
            heard.append(found)
        consumer.close()
        assert heard[0].key() == "from http ü".encode()
        assert json.loads(heard[0].value() or b"") == {"a": [1, "ü"]}
        assert heard[0].headers() == [("trace", b"42")]

        data = asyncio.run(ask(server, "GET", "/consume/b/both/0?b=t&full=true"))["data"]["messages"]
        assert data[0]["timestamp"] == written["data"]["timestamp"]
        assert data[1] == {
            "topicId": "both",
            "messageId": "AP8=",
            "messageIdEncoding": "base64",
            "content": "ZnJvbSBrYWZrYQ==",
            "encoding": "base64",
            "partitionId": 0,
            "offset": 1,
            "timestamp": "2023-11-14T22:13:20.123Z",
            "headers": [["bin", "/wA=", "base64"], ["none", None]],
        }
        assert (data[2]["messageId"], data[2]["content"]) == ("json", {"n": 1})
