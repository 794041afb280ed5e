"""Listening: all who come at once are taken in soon, whatever the loop."""

import asyncio
import errno
import socket

import pytest
from tests.env.test_outflow import Run, loops

from millstream.env.listening import listen

COME = 200


class Counted(asyncio.Protocol):
    here = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Counted.here += 1
        transport.close()


async def _turns_until_all_are_in(address: tuple[str, int]) -> int:
    Counted.here = 0
    clients = [socket.socket() for _ in range(COME)]
    try:
        for client in clients:
            client.connect(address)  # the system takes them in: nobody has looked yet
        turns = 0
        while Counted.here < COME:
            turns += 1
            assert turns < 10 * COME
            await asyncio.sleep(0)
        return turns
    finally:
        for client in clients:
            client.close()


@loops
def test_many_who_come_at_once_are_not_taken_in_one_a_turn(run: Run) -> None:
    async def story() -> None:
        servers = await listen(Counted, "127.0.0.1", 0)
        try:
            address = servers[0].sockets[0].getsockname()
            assert await _turns_until_all_are_in(address) < COME / 4
        finally:
            for server in servers:
                server.close()

    run(story())


@loops
def test_the_address_is_free_again_once_all_are_closed(run: Run) -> None:
    async def story() -> None:
        servers = await listen(Counted, "127.0.0.1", 0)
        host, port = servers[0].sockets[0].getsockname()
        with pytest.raises(OSError, match=r"(?i)in use") as taken:
            await listen(Counted, host, port)
        assert taken.value.errno == errno.EADDRINUSE
        for server in servers:
            server.close()
        await asyncio.sleep(0.01)  # uvloop closes in a later turn
        again = await listen(Counted, host, port)
        for server in again:
            server.close()

    run(story())


def test_a_start_that_fails_half_way_leaves_nobody_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = pytest.importorskip("uvloop")
    real = socket.fromfd
    made: list[socket.socket] = []

    def few(fd: int, family: int, kind: int) -> socket.socket:
        if len(made) == 3:
            raise OSError(errno.EMFILE, "Too many open files")
        made.append(real(fd, family, kind))
        return made[-1]

    async def story() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            host, port = probe.getsockname()
        with monkeypatch.context() as patched, pytest.raises(OSError, match="Too many"):
            patched.setattr(socket, "fromfd", few)
            await listen(Counted, host, port)
        await asyncio.sleep(0.01)  # uvloop closes in a later turn
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, port), 1)

    uvloop.run(story())
