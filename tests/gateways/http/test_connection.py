"""HTTP as it comes over the wire: in pieces, in rows, half-spoken, and from those who mean no good."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.broker.support import SESSION
from tests.gateways.http.support import Doors, doors, read_answer, request_bytes

from millstream.records.build import NewRecord
from millstream.security.quota import entity_of

Story = Callable[[Doors], Awaitable[None]]


def run(story: Story, **more: Any) -> None:
    async def told() -> None:
        async with doors(**{"topics": {"my-topic": 1}, **more}) as there:
            await story(there)

    asyncio.run(asyncio.wait_for(told(), 60))


CHUNKED = b"POST /commit HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"


def ingress(n: object, **headers: str) -> bytes:
    body = {"brokerId": "b", "message": {"messageId": f"m{n}", "content": n}}
    return request_bytes("POST", "/ingress/my-topic", body, headers)


async def connect(there: Doors) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", there.queue)


async def all_gone(there: Doors) -> None:
    while there.doors["queue"].connections:  # noqa: ASYNC110  # a door has no event for it
        await asyncio.sleep(0.01)


async def contents(there: Doors) -> list[Any]:
    found = await there.broker.read(SESSION, "my-topic", 0, 0, max_records=100_000, max_bytes=1 << 30)
    return [json.loads(record.value or b"null") for record in found.records]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(1, 600), max_size=12), st.lists(st.sampled_from("ics4"), min_size=1, max_size=8))
def test_requests_in_a_row_are_answered_in_order_however_they_are_cut(
    cuts: list[int], kinds: list[str]
) -> None:
    """Produce, which is answered when the disk has it, others before and after, and nonsense."""
    requests = {
        "i": ingress(1),
        "c": request_bytes("GET", "/consume/b/my-topic/0?b=t"),
        "s": request_bytes("GET", "/stats"),
        "4": request_bytes("GET", "/nowhere"),
    }
    data = b"".join(requests[kind] for kind in kinds)

    async def story(there: Doors) -> None:
        reader, writer = await connect(there)
        at = 0
        for cut in [*cuts, len(data)]:
            writer.write(data[at : at + cut])
            at += cut
            await asyncio.sleep(0)
        for kind in kinds:
            answer = await read_answer(reader)
            assert answer.status == (404 if kind == "4" else 200)
            shown = {"i": "messageId", "c": "messages", "s": "brokerId", "4": ""}[kind]
            assert shown in (answer.json.get("data") or [""])
        assert len(await contents(there)) == kinds.count("i")
        writer.close()

    run(story)


def test_a_body_may_come_in_chunks_and_be_announced() -> None:
    async def story(there: Doors) -> None:
        reader, writer = await connect(there)
        body = json.dumps({"message": {"messageId": "m", "content": "x" * 200_000}}).encode()
        head = b"POST /ingress/my-topic HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n"
        writer.write(head + b"expect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        for start in range(0, len(body), 30_000):
            part = body[start : start + 30_000]
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        assert (await read_answer(reader)).status == 200
        writer.write(ingress(2))
        assert (await read_answer(reader)).status == 200
        assert there.doors["queue"].budget.free == there.doors["queue"].config().queued_max_bytes
        writer.close()

    run(story)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_who_asks_for_one_answer_gets_one_and_the_door_shut(version: str) -> None:
    async def story(there: Doors) -> None:
        for data in (
            ingress(1, connection="close"),
            request_bytes("GET", "/stats", None, {"connection": "close"}),
        ):
            reader, writer = await connect(there)
            writer.write(data.replace(b"HTTP/1.1", f"HTTP/{version}".encode()) + ingress(2))
            answer = await read_answer(reader)
            assert (answer.status, answer.headers["connection"]) == (200, "close")
            assert await reader.read() == b""
            writer.close()
        assert await contents(there) == [1]

    run(story)


def test_who_closes_one_side_still_gets_what_it_asked_for() -> None:
    async def story(there: Doors) -> None:
        reader, writer = await connect(there)
        writer.write(ingress(1) + ingress(2))
        writer.write_eof()
        assert [(await read_answer(reader)).status for _ in range(2)] == [200, 200]
        assert await reader.read() == b""
        writer.close()

    run(story)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"\x00\x00\x00\x10\x00\x12\x00\x03\x00\x00\x00\x01", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"POST /commit HTTP/1.1\r\ncontent-length: 9\r\ncontent-length: 5\r\n\r\n", 400),
        (b"POST /commit HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", 400),
        (b"POST /commit HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST /commit HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n", 400),
        (b"POST /commit HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413),
        (b"GET /stats HTTP/1.1\r\nx: " + b"y" * 200_000, 431),
        (b"GET /" + b"y" * 200_000, 431),
        (b"GET /stats HTTP/1.1\r\n" + b"a: b\r\n" * 40_000, 431),
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * 40_000, 431),
        (CHUNKED + b"0\r\na: " + b"b" * 200_000, 431),
        (CHUNKED + b"1;" + b"b" * 200_000, 431),
        (
            CHUNKED + b"10000\r\n" + b"x" * 65536 + b"\r\n" * 1,
            None,
        ),
    ],
)
def test_what_is_no_request_is_refused_and_the_door_shut(data: bytes, status: int | None) -> None:
    async def story(there: Doors) -> None:
        reader, writer = await connect(there)
        writer.write(ingress(1) + data)
        assert (await read_answer(reader)).status == 200
        if status is not None:
            answer = await read_answer(reader)
            assert (answer.status, answer.headers["connection"]) == (status, "close")
            assert answer.json["success"] is False
            assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        probe, other = await connect(there)
        other.write(ingress(2))
        assert (await read_answer(probe)).status == 200
        other.close()

    run(story)


def test_a_body_of_no_end_is_refused_without_being_kept() -> None:
    async def story(there: Doors) -> None:
        reader, writer = await connect(there)
        writer.write(b"POST /commit HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                await writer.drain()
        answer = await read_answer(reader)
        assert (answer.status, answer.json["errorCode"]) == (413, "REQUEST_TOO_LARGE")
        writer.close()
        assert there.doors["queue"].budget.free == there.doors["queue"].config().queued_max_bytes

    run(story, settings={"http.request.max.bytes": 1 << 20})


def test_large_bodies_wait_for_memory_and_all_are_served() -> None:
    """Eight clients whose bodies do not fit at once, one of which never finishes."""

    async def story(there: Doors) -> None:
        body = json.dumps({"message": {"messageId": "m", "content": "x" * 400_000}}).encode()
        request = request_bytes("POST", "/ingress/my-topic", body)
        stuck = await connect(there)
        stuck[1].write(request[:-10])
        clients = [await connect(there) for _ in range(8)]
        for _, writer in clients:
            writer.write(request)
        answers = [(await read_answer(reader)).status for reader, _ in clients]
        assert answers == [200] * 8
        for _, writer in [*clients, stuck]:
            writer.close()
        await all_gone(there)
        assert there.doors["queue"].budget.free == 1 << 20

    run(story, settings={"queued.max.request.bytes": 1 << 20})


def test_a_request_that_does_not_arrive_is_given_up() -> None:
    async def story(there: Doors) -> None:
        for data in (b"POST /ing", ingress(1)[:-3]):
            reader, writer = await connect(there)
            writer.write(data)
            assert await asyncio.wait_for(reader.read(), 60) == b""
            writer.close()
        assert await contents(there) == []

    run(story, settings={"connections.frame.timeout.ms": 200})


def test_an_idle_connection_is_closed_and_a_waiting_one_is_not() -> None:
    async def story(there: Doors) -> None:
        idle, idle_writer = await connect(there)
        busy, busy_writer = await connect(there)
        busy_writer.write(request_bytes("GET", "/consume/b/my-topic/0?wait=1800"))
        assert await asyncio.wait_for(idle.read(), 60) == b""
        assert (await read_answer(busy)).status == 200
        idle_writer.close()
        busy_writer.close()

    run(story, settings={"connections.max.idle.ms": 1000})


def test_a_thousand_requests_without_reading_an_answer_do_not_make_the_node_grow() -> None:
    async def story(there: Doors) -> None:
        await there.broker.write(SESSION, "my-topic", [NewRecord(b"k", b'"%b"' % (b"x" * 1000))] * 2000)
        reader, writer = await connect(there)
        request = request_bytes("GET", "/consume/b/my-topic/0?b=t")
        for _ in range(1000):
            writer.write(request)
        await asyncio.sleep(0.5)
        (connection,) = there.doors["queue"].connections
        assert connection.transport is not None
        assert connection.transport.get_write_buffer_size() < 8 << 20
        answer = await read_answer(reader)
        assert answer.json["data"]["count"] == 2000
        writer.close()

    run(story)


def test_a_client_that_takes_nothing_is_closed() -> None:
    async def story(there: Doors) -> None:
        await there.broker.write(SESSION, "my-topic", [NewRecord(b"k", b'"%b"' % (b"x" * 1000))] * 4000)
        _, writer = await connect(there)
        writer.write(request_bytes("GET", "/consume/b/my-topic/0?b=t") * 50)
        await all_gone(there)
        writer.close()

    run(story, settings={"connections.write.timeout.ms": 300})


def test_clients_that_vanish_in_the_middle_leave_nothing_behind() -> None:
    async def story(there: Doors) -> None:
        there.broker.groups.describe("g")  # whoever looks after groups is there from the first on
        before = len(asyncio.all_tasks())
        parts = [
            ingress(1),
            ingress(1)[:-5],
            request_bytes("GET", "/consume/b/my-topic/0?wait=50000"),
            request_bytes("GET", "/stream/my-topic?from=latest"),
            request_bytes("GET", "/stats") * 20,
        ]
        for part in parts * 10:
            _, writer = await connect(there)
            writer.write(part)
            await asyncio.sleep(0.002)
            writer.transport.abort()
        await all_gone(there)
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) <= before
        assert not there.broker._fetch._waiting
        assert there.broker.writes.buffered_records == 0

    run(story)


def test_no_more_connections_than_there_may_be() -> None:
    async def story(there: Doors) -> None:
        clients = [await connect(there) for _ in range(7)]
        closed = 0
        for reader, _ in clients:
            with contextlib.suppress(TimeoutError, ConnectionError):
                closed += await asyncio.wait_for(reader.read(), 0.05) == b""
        assert len(there.doors["queue"].connections) == 5
        for _, writer in clients:
            writer.close()

    run(story, settings={"max.connections.per.ip": 5})


def test_quotas_hold_here_too() -> None:
    async def story(there: Doors) -> None:
        entity = entity_of([("client-id", "http")])
        await there.broker.change_quotas(
            SESSION, {entity: {"producer_byte_rate": 30_000.0}}, validate_only=False
        )
        loop = asyncio.get_running_loop()
        reader, writer = await connect(there)
        body = {"message": {"messageId": "m", "content": "x" * 40_000}}
        began = loop.time()
        for _ in range(2):
            writer.write(request_bytes("POST", "/ingress/my-topic", body))
            assert (await read_answer(reader)).status == 200
        assert loop.time() - began > 0.1
        writer.close()

    run(story)


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("https://evil.example", "localhost:3000", 403),
        ("null", "localhost:3000", 403),
        ("http://localhost:3000", "localhost:3000", 200),
        ("http://127.0.0.1:3000", "127.0.0.1:3000", 200),
        ("http://[::1]:3000", "[::1]:3000", 200),
        ("http://evil.example:3000", "evil.example:3000", 403),  # a name that was made to mean this machine
        ("http://localhost:8080", "localhost:3000", 403),
    ],
)
def test_web_pages_from_elsewhere_may_not_write(origin: str, host: str, status: int) -> None:
    async def story(there: Doors) -> None:
        reader, writer = await connect(there)
        writer.write(ingress(1, origin=origin).replace(b"host: localhost", f"host: {host}".encode()))
        assert (await read_answer(reader)).status == status
        assert len(await contents(there)) == (status == 200)
        writer.close()

    run(story)


def test_a_page_that_is_allowed_is_told_so_before_and_after() -> None:
    async def story(there: Doors) -> None:
        origin = {"origin": "https://shop.example"}
        asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        before = await there.ask("OPTIONS", "/ingress/my-topic", headers={**origin, **asks})
        assert before.status == 204
        assert before.headers["access-control-allow-origin"] == "https://shop.example"
        assert "content-type" in before.headers["access-control-allow-headers"]
        for path in ("/stats", "/nowhere"):
            after = await there.ask("GET", path, headers=origin)
            assert after.headers["access-control-allow-origin"] == "https://shop.example"

    run(story, settings={"http.allowed.origins": "https://shop.example"})


def test_a_body_in_many_chunks_with_something_behind_it_is_taken() -> None:
    async def story(there: Doors) -> None:
        whole = ingress(1)
        head, _, body = whole.partition(b"\r\n\r\n")
        kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
        chunks = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body)
        reader, writer = await connect(there)
        for _ in range(200):  # more framing than headers may have
            writer.write(b"\r\n".join([*kept, b"transfer-encoding: chunked"]) + b"\r\n\r\n")
            writer.write(chunks + b"0\r\ntrailer: told\r\n\r\n")
            assert (await read_answer(reader)).status == 200
        writer.close()

    run(story)
