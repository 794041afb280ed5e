"""Records pushed to browsers: by Server-Sent Events in raw HTTP, by WebSocket with a client of its own."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.broker.support import SESSION
from tests.gateways.http.support import Doors, doors, request_bytes
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from millstream.records.build import NewRecord


def run(story: Callable[[Doors], Awaitable[None]], **more: Any) -> None:
    async def told() -> None:
        async with doors(**{"topics": {"my-topic": 2}, **more}) as there:
            await story(there)

    asyncio.run(asyncio.wait_for(told(), 60))


async def put(there: Doors, partition: int, *values: object) -> None:
    records = [NewRecord(b"k", json.dumps(value).encode()) for value in values]
    await there.broker.write(SESSION, "my-topic", records, partition)


class Events:
    """An event source: what a browser's would hear."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, there: Doors, query: str = "", **headers: str) -> "Events":
        # A system may keep tens of megabytes for a client that does not read, unless it is told how much.
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", there.queue))
        reader, writer = await asyncio.open_connection(sock=client)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        writer.write(request_bytes("GET", f"/stream/my-topic{query}", None, named))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        assert b"content-type: text/event-stream" in head
        return cls(reader, writer)

    async def __aiter__(self) -> AsyncIterator[dict[str, str]]:
        text = b""
        while size := int(await self._reader.readline(), 16):
            text += (await self._reader.readexactly(size + 2))[:-2]
            while b"\n\n" in text:
                event, _, text = text.partition(b"\n\n")
                yield dict(line.split(": ", 1) for line in event.decode().split("\n") if line[0] != ":")

    async def hear(self, count: int) -> list[dict[str, str]]:
        """So many events with data."""
        heard = []
        async for event in self:
            if "data" in event:
                heard.append(event)
            if len(heard) == count:
                break
        return heard


def told(events: list[dict[str, str]]) -> list[Any]:
    return [json.loads(event["data"])["content"] for event in events]


def test_events_come_as_records_are_written() -> None:
    async def story(there: Doors) -> None:
        await put(there, 0, "old")
        events = await Events.open(there, "?from=latest&partition=0")
        hearing = asyncio.ensure_future(events.hear(2))
        await asyncio.sleep(0.05)
        await put(there, 0, {"a": 1}, "new")
        first, second = await asyncio.wait_for(hearing, 60)
        assert (first["id"], second["id"]) == ("0:2", "0:3")
        message = json.loads(first["data"])
        assert message["content"] == {"a": 1}
        assert (message["topicId"], message["partitionId"], message["offset"]) == ("my-topic", 0, 1)
        events.writer.close()

    run(story)


def test_a_stream_goes_on_where_the_last_one_broke_off() -> None:
    """Whichever event was the last, and over all partitions: nothing is missed and nothing comes twice."""

    async def story(there: Doors) -> None:
        await put(there, 0, *range(5))
        await put(there, 1, *range(10, 15))
        events = await Events.open(there, "?from=earliest")
        everything = await events.hear(10)
        assert sorted(told(everything)) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
        events.writer.close()
        for count in range(1, 10):
            again = await Events.open(there, "?from=earliest", last_event_id=everything[count - 1]["id"])
            rest = await again.hear(10 - count)
            assert sorted(told(everything[:count] + rest)) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
            again.writer.close()

    run(story)


def test_a_stream_begins_with_what_is_not_committed() -> None:
    async def story(there: Doors) -> None:
        await put(there, 0, *range(5))
        body = {"topicId": "my-topic", "partitionId": 0, "consumerId": "c", "offset": 3}
        assert (await there.ask("POST", "/commit", body)).status == 200
        events = await Events.open(there)
        assert told(await events.hear(2)) == [3, 4]
        events.writer.close()

    run(story)


def test_line_ends_in_a_value_do_not_break_an_event() -> None:
    async def story(there: Doors) -> None:
        await there.broker.write(SESSION, "my-topic", [NewRecord(b"k", b'{"a":\n"x\\ny",\r\n"b":2}')], 0)
        events = await Events.open(there, "?from=earliest")
        assert told(await events.hear(1)) == [{"a": "x\ny", "b": 2}]
        events.writer.close()

    run(story)


@pytest.mark.parametrize(
    ("query", "status"),
    [("?from=nonsense", 400), ("?from=0:x", 400), ("?partition=9", 404), ("?partition=x", 404)],
)
def test_places_that_are_none(query: str, status: int) -> None:
    async def story(there: Doors) -> None:
        answer = await there.ask("GET", f"/stream/my-topic{query}")
        assert (answer.status, answer.json["success"]) == (status, False)
        assert (await there.ask("GET", "/stream/nowhere")).status == 404

    run(story)


def test_a_listener_is_told_when_its_topic_goes_away() -> None:
    async def story(there: Doors) -> None:
        events = await Events.open(there, "?from=latest")
        hearing = asyncio.ensure_future(events.hear(1))
        await asyncio.sleep(0.05)
        await there.broker.delete_topic(SESSION, "my-topic")
        (event,) = await asyncio.wait_for(hearing, 60)
        assert event["event"] == "error"
        assert json.loads(event["data"])["errorCode"] == "UNKNOWN_TOPIC_OR_PARTITION"
        events.writer.close()

    run(story)


def test_a_slow_listener_costs_no_memory_and_loses_nothing() -> None:
    async def story(there: Doors) -> None:
        await put(there, 0, *["x" * 10_000] * 3000)
        events = await Events.open(there, "?from=earliest&partition=0")
        await asyncio.sleep(0.5)
        (connection,) = there.doors["queue"].connections
        assert connection.transport is not None
        assert connection.transport.get_write_buffer_size() < 4 << 20
        assert there.broker.sent.total < 40 << 20  # some of it read twice; all of it makes 120 MB
        assert len(await events.hear(3000)) == 3000
        events.writer.close()

    run(story)


def test_messages_come_over_a_websocket() -> None:
    async def story(there: Doors) -> None:
        await put(there, 0, "old", "older")
        async with connect(f"ws://127.0.0.1:{there.queue}/ws/my-topic?from=earliest") as socket:
            first = json.loads(await socket.recv())
            assert (first["id"], first["content"], first["offset"]) == ("0:1,1:0", "old", 0)
            await socket.send("whatever is said here")
            assert json.loads(await socket.recv())["content"] == "older"
            await put(there, 1, "new")
            assert json.loads(await socket.recv())["content"] == "new"
            await socket.ping()
        async with connect(f"ws://127.0.0.1:{there.queue}/ws/my-topic?from={first['id']}") as socket:
            again = [json.loads(await socket.recv())["content"] for _ in range(2)]
            assert sorted(again) == ["new", "older"]

    run(story)


def test_a_websocket_is_told_what_is_wrong() -> None:
    async def story(there: Doors) -> None:
        for path, code in (("nowhere", 4404), ("my-topic?from=x", 4400)):
            async with connect(f"ws://127.0.0.1:{there.queue}/ws/{path}") as socket:
                assert json.loads(await socket.recv())["success"] is False
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == code
        for path, headers in (("/ws/my-topic", {"origin": "https://evil.example"}), ("/nowhere", {})):
            with pytest.raises(InvalidStatus) as refused:
                async with connect(f"ws://127.0.0.1:{there.queue}{path}", additional_headers=headers):
                    pass
            assert refused.value.response.status_code == 403

    run(story)


def test_websockets_end_with_the_door_and_leave_nothing() -> None:
    async def story(there: Doors) -> None:
        socket = await connect(f"ws://127.0.0.1:{there.queue}/ws/my-topic?from=latest")
        events = await Events.open(there, "?from=latest")
        gone = await connect(f"ws://127.0.0.1:{there.queue}/ws/my-topic?from=latest")
        gone.transport.abort()
        door = there.doors["queue"]
        async with asyncio.timeout(60):
            while len(door.connections) != 2:  # noqa: ASYNC110  # the door tells nobody who left
                await asyncio.sleep(0.01)
        await asyncio.wait_for(door.close(300.0), 60)  # nobody is waited for
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
        events.writer.close()
        await asyncio.sleep(0.05)
        assert not there.broker._fetch._waiting

    run(story)


def test_a_large_message_from_a_websocket_closes_it() -> None:
    async def story(there: Doors) -> None:
        async with connect(f"ws://127.0.0.1:{there.queue}/ws/my-topic?from=latest") as socket:
            await socket.send(bytes(2 << 20))
            with pytest.raises(ConnectionClosed) as closed:
                await asyncio.wait_for(socket.recv(), 60)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009

    run(story)
