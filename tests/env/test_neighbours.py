"""Clients on this machine are not paced, and may send ahead; for others it is the system's choice."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.env.test_outflow import Run, loops
from tests.gateways.test_connection import Client

from millstream.env import neighbours
from millstream.env.listening import listen
from millstream.env.neighbours import receive_ahead, unpace, unpace_all
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door

CONGESTION = getattr(socket, "TCP_CONGESTION", None)


def _chosen(there: socket.socket) -> bytes:
    assert CONGESTION is not None
    return there.getsockopt(socket.IPPROTO_TCP, CONGESTION, 16).rstrip(b"\0")


def _choose(there: socket.socket, name: bytes) -> None:
    if CONGESTION is None:
        pytest.skip("this system lets nobody choose")
    try:
        there.setsockopt(socket.IPPROTO_TCP, CONGESTION, name)
    except OSError:
        pytest.skip(f"this system has no {name.decode()}")


@contextmanager
def _listening(host: str, congestion: bytes) -> Iterator[socket.socket]:
    with socket.create_server((host, 0)) as listening:
        _choose(listening, congestion)
        yield listening


def _accepted(listening: socket.socket, to: str = "127.0.0.1") -> tuple[socket.socket, socket.socket]:
    client = socket.create_connection((to, listening.getsockname()[1]))
    return client, listening.accept()[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9"])
def test_who_comes_to_a_door_of_this_machine_is_not_paced(host: str) -> None:
    with _listening(host, b"bbr") as listening:
        unpace_all(listening)
        client, there = _accepted(listening, host)
        with client, there:
            assert _chosen(there) == b"reno"


def test_a_door_for_all_machines_is_left_to_the_system() -> None:
    with _listening("0.0.0.0", b"bbr") as listening:
        unpace_all(listening)
        assert _chosen(listening) == b"bbr"


def test_who_comes_from_this_machine_to_such_a_door_is_not_paced() -> None:
    with _listening("0.0.0.0", b"bbr") as listening:
        client, there = _accepted(listening)
        with client, there:
            unpace(there)
            assert _chosen(there) == b"reno"


def _elsewhere(there: socket.socket) -> object:
    """As *there*, of a client on another machine."""
    return SimpleNamespace(
        getsockname=there.getsockname,
        getpeername=lambda: ("192.0.2.7", 5000),
        getsockopt=there.getsockopt,
        setsockopt=there.setsockopt,
    )


def test_who_comes_from_elsewhere_is() -> None:
    with _listening("0.0.0.0", b"bbr") as listening:
        client, there = _accepted(listening)
        with client, there:
            unpace(_elsewhere(there))
            assert _chosen(there) == b"bbr"


def test_what_does_not_pace_stays_as_it_was_chosen() -> None:
    with _listening("127.0.0.1", b"cubic") as listening:
        unpace_all(listening)
        assert _chosen(listening) == b"cubic"


def test_a_client_that_has_gone_and_a_simulated_one_do_no_harm() -> None:
    gone = socket.socket()
    unpace(gone)  # never connected
    gone.close()
    unpace(gone)
    receive_ahead(gone)
    unpace(None)
    unpace_all(None)
    receive_ahead(None)


@loops
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_door_paces_nobody_on_this_machine(run: Run, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    with socket.socket() as some:
        usual = _chosen(some)
    _choose(socket.socket(), b"cubic")  # or there is nothing to see here
    monkeypatch.setattr(neighbours, "_PACES", usual)
    monkeypatch.setattr(neighbours, "_PLAIN", b"reno" if usual != b"reno" else b"cubic")

    async def story() -> None:
        seen: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        class Here(Client):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                seen.set_result(_chosen(transport.get_extra_info("socket")))

        door = Door("test", GatewayConfig)
        servers = await listen(lambda: Here(door), host, 0)
        port = servers[0].sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await seen == neighbours._PLAIN
        writer.close()
        for server in servers:
            server.close()

    run(story())


def test_a_client_of_another_address_of_this_machine_is_a_neighbour() -> None:
    """Who dials 127.0.0.9 comes from 127.0.0.1."""
    with _listening("0.0.0.0", b"bbr") as listening:
        client, there = _accepted(listening, "127.0.0.9")
        with client, there:
            assert there.getsockname()[0] != there.getpeername()[0]
            unpace(there)
            assert _chosen(there) == b"reno"


def _ahead_bytes(there: socket.socket) -> int:
    return there.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


@pytest.fixture
def pair() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client, there = _accepted(listening)
        with client, there:
            yield there


def test_who_is_on_this_machine_may_send_ahead(pair: socket.socket) -> None:
    if not neighbours._may_be_ahead():
        pytest.skip("this system gives no socket so much")
    receive_ahead(pair)
    assert _ahead_bytes(pair) >= 4 << 20


def test_who_is_not_may_send_as_much_as_the_system_says(pair: socket.socket) -> None:
    before = _ahead_bytes(pair)
    receive_ahead(_elsewhere(pair))
    assert _ahead_bytes(pair) == before


@pytest.mark.parametrize(("most", "may"), [("212992", False), ("4194304", True), ("?", False), (None, False)])
def test_a_system_that_would_give_less_than_by_itself_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str | None, may: bool
) -> None:
    if most is not None:
        (tmp_path / "rmem_max").write_text(most)
    monkeypatch.setattr(neighbours, "_MOST_RECEIVED", tmp_path / "rmem_max")
    assert neighbours._may_be_ahead.__wrapped__() is may
