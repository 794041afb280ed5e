"""What strangers do to the doors of lines: memory is bounded, and others are unhurt."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from tests.abuse.raw import Raw
from tests.support.server import Server

pytestmark = pytest.mark.system

DOORS = ["JSON lines", "text"]
PING = {"JSON lines": b'{"type":"listTopics"}\n', "text": b"PING\n"}
PUBLISH = {
    "JSON lines": lambda text: b'{"type":"produce","topic":"t","value":"%b"}\n' % text,
    "text": lambda text: b"PUB t %b\n" % text,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "connections.frame.timeout.ms": 1500,
        "connections.write.timeout.ms": 2000,
        "max.connections.per.ip": 20_000,
        "queued.max.request.bytes": 64 << 20,
        "log.dir.ballast.bytes": 0,
        "flush.policy": "os",
    }
    with Server(tmp_path_factory.mktemp("data"), settings) as running:
        with Raw(running.ports["text"]) as raw:
            raw.send(b"PUB t first\n")
            assert line(raw) == b"OK"
        yield running
        assert running.process.poll() is None, "the server died:\n" + "\n".join(running.log[-20:])
        assert not [each for each in running.log if "Traceback" in each]


def line(raw: Raw) -> bytes:
    found = bytearray()
    while not found.endswith(b"\n"):
        data = raw.socket.recv(1 if len(found) < 64 else 1 << 16)
        assert data, f"closed after {bytes(found[:100])!r}"
        found += data
    return bytes(found[:-1])


def is_served(server: Server, door: str) -> bool:
    with Raw(server.ports[door]) as raw:
        raw.send(PING[door])
        return line(raw).startswith((b'{"ok":true', b"PONG"))


def rss(server: Server) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)  # another process's state: nothing to await
    return False


@pytest.mark.parametrize("door", DOORS)
def test_an_endless_line_takes_no_memory_and_ends(server: Server, door: str) -> None:
    before = rss(server)
    with Raw(server.ports[door]) as raw, pytest.raises(OSError):  # reset or broken pipe
        block = b"x" * (1 << 20)
        while True:
            raw.send(block)
            assert rss(server) - before < 64 << 20
    assert is_served(server, door)


@pytest.mark.parametrize("door", DOORS)
def test_a_line_too_long_is_answered_and_the_next_one_too(server: Server, door: str) -> None:
    with Raw(server.ports[door]) as raw:
        raw.send(b"x" * (5 << 20) + b"\n" + PING[door])
        assert b"too long" in line(raw)
        assert line(raw).startswith((b'{"ok":true', b"PONG"))


def test_json_of_many_things_and_deep_json(server: Server) -> None:
    before = rss(server)
    with Raw(server.ports["JSON lines"]) as raw:
        for _ in range(20):
            for data in (
                b"[" * 2_000_000,
                b'{"type":' * 200_000,
                b"[" + b"[]," * 600_000 + b"[]]",
                b'{"type":"produce","topic":"t","value":[' + b"0," * 900_000 + b"0]}",
                b'{"a":' + b"9" * 1_000_000 + b"}",
            ):
                raw.send(data + b"\n")
                assert json.loads(line(raw))["ok"] is False
    assert rss(server) - before < 150 << 20
    assert is_served(server, "JSON lines")


@pytest.mark.parametrize("door", DOORS)
def test_a_line_that_does_not_end_in_time_ends_the_connection(server: Server, door: str) -> None:
    with Raw(server.ports[door]) as raw:
        raw.send(b"PUB t never en")
        assert raw.is_closed()
    assert is_served(server, door)


@pytest.mark.parametrize("door", DOORS)
def test_who_reads_no_replies_is_not_read_from(server: Server, door: str) -> None:
    """Requests whose replies nobody takes stay with whoever sent them, until it is cut off."""
    before = rss(server)
    ask = PING[door] if door == "text" else b'{"type":"fetch","topic":"t","partition":0,"offset":0}\n'
    with Raw(server.ports[door], timeout=20) as raw, pytest.raises(OSError):
        while True:
            raw.send(ask * 10_000)
            assert rss(server) - before < 64 << 20
    assert is_served(server, door)


def test_a_subscriber_that_reads_nothing_costs_no_memory(server: Server) -> None:
    with Raw(server.ports["text"]) as slow, Raw(server.ports["text"]) as publisher:
        slow.send(b"SUB big window=100000\n")
        assert line(slow) == b"SUBSCRIBED big"
        text = b"PUB big " + b"x" * 500_000 + b"\n"
        publisher.send(text)
        assert line(publisher) == b"OK"
        before = rss(server)
        for _ in range(100):
            publisher.send(text)
            assert line(publisher) == b"OK"
        assert rss(server) - before < 40 << 20
    assert is_served(server, "text")


@pytest.mark.parametrize("door", DOORS)
def test_connections_broken_off_leave_nothing(server: Server, door: str) -> None:
    process = psutil.Process(server.process.pid)
    before = process.num_fds()
    for n in range(300):
        raw = Raw(server.ports[door])
        raw.send(
            PUBLISH[door](b"x" * 1000) * 3 + (b"SUB t group=g%d\n" % (n % 5) if door == "text" else b"{")
        )
        raw.reset()
    assert until(lambda: process.num_fds() <= before + 3)
    assert is_served(server, door)


@pytest.mark.parametrize("door", DOORS)
def test_a_thousand_kinds_of_rubbish(server: Server, door: str) -> None:
    before = rss(server)
    for n in range(1000):
        with Raw(server.ports[door]) as raw:
            raw.send(
                (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\xa5\x01\n", bytes(range(256)) + b"\n")[n % 3]
            )
            assert line(raw).startswith((b'{"ok":false', b"ERR"))
    assert rss(server) - before < 20 << 20


@pytest.mark.parametrize("door", DOORS)
def test_an_endless_pipeline_hurts_nobody_else(server: Server, door: str) -> None:
    ended = threading.Event()

    def pour() -> None:
        with Raw(server.ports[door]) as raw:
            block = PUBLISH[door](b"x" * 100) * 500
            threading.Thread(target=lambda: drain(raw.socket), daemon=True).start()
            while not ended.is_set():
                raw.send(block)

    pouring = threading.Thread(target=pour)
    pouring.start()
    try:
        waits = []
        with Raw(server.ports[door]) as probe:
            for _ in range(100):
                began = time.monotonic()
                probe.send(PING[door])
                line(probe)
                waits.append(time.monotonic() - began)
        assert sorted(waits)[90] < 1.0, sorted(waits)[-10:]
    finally:
        ended.set()
        pouring.join(30)


def drain(there: socket.socket) -> None:
    try:
        while there.recv(1 << 20):
            pass
    except OSError:
        pass


@pytest.mark.slow
def test_ten_thousand_idle_connections(tmp_path: Path) -> None:
    """Half at each door, half of the text ones subscribed; one more client is served as ever."""
    settings = {"max.connections.per.ip": 20_000, "log.dir.ballast.bytes": 0, "flush.policy": "os"}
    with Server(tmp_path / "data", settings) as server, ExitStack() as idle:
        assert all(is_served(server, door) for door in DOORS)
        before = rss(server)
        for n in range(10_000):
            raw = idle.enter_context(Raw(server.ports[DOORS[n % 2]]))
            if n % 4 == 1:
                raw.send(b"SUB t\n")
                assert line(raw) == b"SUBSCRIBED t"
        assert rss(server) - before < 400 << 20
        began = time.monotonic()
        assert all(is_served(server, door) for door in DOORS)
        assert time.monotonic() - began < 5
