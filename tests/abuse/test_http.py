"""What strangers do to the HTTP doors: memory is bounded, and others are unhurt."""

import http.client
import json
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.abuse.raw import Raw
from tests.abuse.test_lines import rss, until
from tests.support.server import Server

pytestmark = pytest.mark.system

QUEUE = "the HTTP queue"
ADMIN = "the admin API"


def ask(server: Server, method: str, path: str, body: Any = None, door: str = QUEUE) -> tuple[int, Any]:
    client = http.client.HTTPConnection("127.0.0.1", server.ports[door], timeout=60)
    try:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        client.request(method, path, data)
        response = client.getresponse()
        return response.status, json.loads(response.read())
    finally:
        client.close()


def is_served(server: Server) -> bool:
    return ask(server, "GET", "/stats")[0] == 200 and ask(server, "GET", "/health", door=ADMIN)[0] == 200


@pytest.fixture
def topic(server: Server) -> str:
    assert ask(server, "POST", "/api/v1/topics", {"name": "t", "partitions": 1}, ADMIN)[0] in (201, 409)
    return "t"


@pytest.mark.slow
def test_huge_and_deep_json_is_refused_and_leaves_no_memory_behind(server: Server, topic: str) -> None:
    assert is_served(server)
    bodies = [
        b"[" * 4_000_000,
        b'{"a":' * 1_000_000,
        b'{"message":{"messageId":"m","content":' + b"[" * 500_000 + b"]" * 500_000 + b"}}",
        b'{"messages":[' + b"{}," * 1_000_000 + b"{}]}",
        b"9" * 5_000_000,
        b'"' + b"\\u0000" * 1_000_000 + b'"',
    ]
    for path in (f"/ingress/{topic}", f"/ingress/{topic}/batch", "/commit", f"/register/{topic}"):
        for body in bodies:
            status, answer = ask(server, "POST", path, body)
            assert status == 400, (path, body[:20], status)
            assert answer["errorCode"] == "INVALID_REQUEST"
    before = rss(server)
    for _ in range(5):
        for body in bodies:
            assert ask(server, "POST", f"/ingress/{topic}", body)[0] == 400
    assert rss(server) - before < 60 << 20
    assert is_served(server)


def test_a_thousand_kinds_of_rubbish(server: Server, topic: str) -> None:
    random = Random(3)
    body = b'{"message": {"messageId": "m", "content": 1}}'
    good = b"POST /ingress/t HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    before = rss(server)
    for number in range(1000):
        data = bytearray(good)
        for _ in range(random.randrange(1, 6)):
            data[random.randrange(len(data))] = random.randrange(256)
        if number % 3 == 0:
            data = bytearray(random.randbytes(random.randrange(1, 400)))
        with Raw(server.ports[QUEUE if number % 2 else ADMIN]) as raw:
            raw.send(bytes(data))
    assert is_served(server)
    assert rss(server) - before < 20 << 20


def test_broken_off_connections_leave_nothing(server: Server, topic: str) -> None:
    assert is_served(server)
    streams = [
        b"GET /stream/t HTTP/1.1\r\nhost: h\r\n\r\n",
        b"GET /consume/b/t/0?wait=60000 HTTP/1.1\r\n\r\n",
    ]
    before = rss(server)
    for number in range(300):
        with Raw(server.ports[QUEUE]) as raw:
            raw.send(streams[number % 2])
    figure = 'millstream_connections{door="the HTTP queue"} 0'

    def gone() -> bool:
        client = http.client.HTTPConnection("127.0.0.1", server.ports[ADMIN], timeout=60)
        client.request("GET", "/metrics")
        return figure in client.getresponse().read().decode()

    assert until(gone)
    assert rss(server) - before < 20 << 20


def test_json_of_very_many_things_takes_neither_memory_nor_time(server: Server, topic: str) -> None:
    assert is_served(server)
    before = rss(server)
    began = time.monotonic()
    for _ in range(3):
        status, answer = ask(server, "POST", f"/ingress/{topic}/batch", b'{"messages":[' + b"{}," * 2_600_000)
        assert (status, "more than" in answer["error"]) == (400, True)
    assert time.monotonic() - began < 3
    assert rss(server) - before < 40 << 20


@pytest.mark.slow
def test_many_clients_that_ask_for_much_and_take_nothing(server: Server, topic: str) -> None:
    """What the system does not buffer for them is little, and others are answered."""
    message = {"message": {"messageId": "m", "content": "x" * 100_000}}
    for _ in range(50):
        assert ask(server, "POST", f"/ingress/{topic}", message)[0] == 200
    before = rss(server)
    with ExitStack() as slow:
        for _ in range(60):
            raw = slow.enter_context(Raw(server.ports[QUEUE]))
            raw.send(b"GET /consume/b/t/0?b=t HTTP/1.1\r\nhost: h\r\n\r\n")
        assert ask(server, "GET", "/consume/b/t/0")[1]["data"]["count"] == 1
        assert rss(server) - before < 150 << 20


@pytest.mark.slow
def test_almost_ten_thousand_idle_connections_a_thousand_of_them_streams(tmp_path: Path) -> None:
    """As many as a node takes that may open 20,000 files: it keeps half of them for its logs."""
    settings = {"max.connections.per.ip": 20_000, "log.dir.ballast.bytes": 0}
    with Server(tmp_path, settings) as server, ExitStack() as idle:
        assert ask(server, "POST", "/api/v1/topics", {"name": "t", "partitions": 1}, ADMIN)[0] == 201
        assert is_served(server)
        before = rss(server)
        for number in range(9_900):
            raw = idle.enter_context(Raw(server.ports[QUEUE]))
            if number % 10 == 0:
                raw.send(b"GET /stream/t HTTP/1.1\r\nhost: h\r\n\r\n")
        assert rss(server) - before < 300 << 20
        began = time.monotonic()
        message = {"message": {"messageId": "m", "content": 1}}
        assert ask(server, "POST", "/ingress/t", message)[0] == 200
        assert is_served(server)
        assert time.monotonic() - began < 10
