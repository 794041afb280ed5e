"""Replies straight from the disk: whole, in order, and whatever becomes of the file meanwhile."""

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from millstream.env.disk import File, RealDisk
from millstream.env.memory import MemoryDisk
from millstream.env.outflow import Outflow, on_disk, plug_of
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Connection, Door
from millstream.storage.segment import Slice

SIZE = 12 << 20  # more than any socket takes at once
MIDDLE = 1 << 20


class Watched(File):
    """A file that counts who has it, and how often it is read."""

    def __init__(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self.path = path
        self.lent = 0
        self.reads = 0
        self._fd = os.open(path, os.O_RDWR)

    def read(self, position: int, size: int) -> bytes:
        self.reads += 1
        return os.pread(self._fd, size, position)

    def truncate(self, size: int) -> None:
        os.truncate(self.path, size)

    @property
    def lends(self) -> bool:
        return True

    def lend(self) -> int:
        self.lent += 1
        return self._fd

    def give_back(self) -> None:
        self.lent -= 1

    def close(self) -> None:
        os.close(self._fd)

    def append(self, *parts: object) -> None: ...
    def size(self) -> int:
        return self.path.stat().st_size

    def sync(self) -> None: ...
    def forget(self) -> None: ...


class Client(Connection):
    """Answers nothing by itself."""

    def proceed(self) -> None:
        self.read_on()

    def waiting_since(self) -> float | None:
        return None

    def tidy(self) -> None: ...

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.door.scratch

    def buffer_updated(self, nbytes: int) -> None: ...


def on_asyncio(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def on_uvloop(story: Coroutine[Any, Any, None]) -> None:
    uvloop = pytest.importorskip("uvloop")
    uvloop.run(story)


loops = pytest.mark.parametrize("run", [on_asyncio, on_uvloop])
Run = Callable[[Coroutine[Any, Any, None]], None]


async def served(talk: Callable[[Client, socket.socket], Awaitable[None]]) -> None:
    """Let *talk* have a connection and the socket at its other end."""
    loop = asyncio.get_running_loop()
    made: asyncio.Future[Client] = loop.create_future()
    door = Door("test", GatewayConfig)

    def factory() -> Client:
        client = Client(door)
        loop.call_soon(made.set_result, client)
        return client

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 << 10)  # not what it would grow to
    server = await loop.create_server(factory, sock=listening)
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    other.setblocking(False)
    await loop.sock_connect(other, server.sockets[0].getsockname())
    client = await made
    try:
        await talk(client, other)
    finally:
        other.close()
        client.abort()
        server.close()
        await server.wait_closed()
        await door.close(60)


async def received(other: socket.socket, size: int) -> bytes:
    """The next *size* bytes; fewer if the other side closes."""
    loop = asyncio.get_running_loop()
    data = bytearray()
    while len(data) < size:
        try:
            some = await asyncio.wait_for(loop.sock_recv(other, min(1 << 20, size - len(data))), 60)
        except ConnectionError:
            break
        if not some:
            break
        data += some
    return bytes(data)


async def until(happens: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if happens():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never happened")


@loops
def test_all_of_it_arrives_in_order_with_what_is_behind(run: Run, tmp_path: Path) -> None:
    data = Random(1).randbytes(SIZE)
    file = Watched(tmp_path / "f", data)
    slices = [
        Slice(file, 1000, 5 << 20, 0),
        Slice(file, 7 << 20, 100, 0),
        Slice(file, (5 << 20) + 3, 4 << 20, 0),
    ]

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [b"head", slices[0], bytearray(b"between"), slices[1], slices[2]]
        client.expect().pieces = (b"small",)
        client.expect().pieces = [b"next", slices[2]]
        client.expect().pieces = (b"last",)
        client.flush()
        assert client.busy  # whoever takes nothing gets nothing new begun
        parts = [slices[0], slices[1], slices[2], slices[2]]
        first, second, third, fourth = (data[each.position :][: each.size] for each in parts)
        expected = b"".join([b"head", first, b"between", second, third, b"small", b"next", fourth, b"last"])
        assert await received(other, len(expected)) == expected
        assert not client.busy

    run(served(talk))
    assert file.lent == 0


@loops
def test_what_waits_for_the_client_is_not_in_memory(run: Run, tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", bytes(SIZE))

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [Slice(file, 0, SIZE, 0)]
        client.flush()
        assert client.transport is not None
        assert client.transport.get_write_buffer_size() <= 16 << 10
        assert file.lent == 1
        assert len(await received(other, SIZE)) == SIZE
        await until(lambda: file.lent == 0)
        while not client.transport.get_write_buffer_size():
            client.expect().pieces = (bytes(256 << 10),)
            client.flush()
        assert not client.busy  # the transport's limits are what they were

    run(served(talk))
    assert file.reads == 0


@loops
def test_a_file_that_is_deleted_meanwhile_is_sent_whole(run: Run, tmp_path: Path) -> None:
    data = Random(2).randbytes(SIZE)
    disk = RealDisk(str(tmp_path))
    file = disk.open("f", create=True)
    file.append(data)
    file.sync()

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [Slice(file, 0, SIZE, 0)]
        client.flush()
        disk.remove("f")
        file.close()
        disk.open("f", create=True).append(b"another of this name")
        assert await received(other, SIZE) == data

    run(served(talk))


@loops
def test_a_file_that_is_cut_meanwhile_ends_the_connection(run: Run, tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", b"x" * SIZE)

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [Slice(file, 0, SIZE, 0)]
        client.expect().pieces = (b"must not follow",)
        client.flush()
        file.truncate(SIZE - 1)
        got = await received(other, SIZE)
        assert len(got) < SIZE
        assert not got.strip(b"x")
        assert client.door.refused == 1
        await until(lambda: client.transport is None)

    run(served(talk))
    assert file.lent == 0


@loops
def test_a_cached_file_that_is_shorter_than_was_said_ends_the_connection(run: Run, tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", b"x" * 100)

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [b"head", Slice(file, 0, 101, 0)]
        client.flush()
        assert await received(other, 1) == b""

    run(served(talk))


@loops
def test_a_client_that_leaves_gives_the_file_back(run: Run, tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", bytes(SIZE))

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [Slice(file, 0, SIZE, 0)]
        client.flush()
        assert file.lent == 1
        other.close()
        await until(lambda: client.transport is None)

    run(served(talk))
    assert file.lent == 0


@loops
def test_a_client_that_closes_its_own_side_still_gets_it_all(run: Run, tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", bytes(SIZE))

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [Slice(file, 0, SIZE, 0)]
        client.flush()
        other.shutdown(socket.SHUT_WR)
        assert len(await received(other, SIZE + 1)) == SIZE
        await until(lambda: client.transport is None)

    run(served(talk))


def test_nothing_goes_past_tls_nor_to_what_is_no_socket() -> None:
    class Wrapped:
        def __init__(self, **info: object) -> None:
            self.info = info

        def get_extra_info(self, name: str) -> object:
            return self.info.get(name)

    with socket.socket() as plain:
        plug = plug_of(Wrapped(socket=plain))
        assert plug is not None
        assert plug.descriptor == plain.fileno()
        assert plug_of(Wrapped(socket=plain, sslcontext=object())) is None
    assert plug_of(Wrapped(socket=None)) is None


def test_a_programs_time_out_for_its_sockets_is_not_for_ours() -> None:
    class Shown:
        def get_extra_info(self, name: str) -> object:
            return ours if name == "socket" else None

    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    socket.setdefaulttimeout(60)
    try:
        plug = plug_of(Shown())
        assert plug is not None
        began = time.monotonic()
        with pytest.raises(BlockingIOError):
            while True:
                plug.send(memoryview(bytes(1 << 16)), more=False)
        assert time.monotonic() - began < 30
    finally:
        socket.setdefaulttimeout(None)
        ours.close()
        theirs.close()


def test_what_could_not_be_begun_is_given_back(tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", bytes(200_000))
    short = Slice(file, 0, 1000, 0)
    short.position = 199_999

    with pytest.raises(OSError, match="cut"):
        Outflow(cast(Any, None), [Slice(file, 0, 100_000, 0), short], 101_000)
    assert file.lent == 0


@loops
def test_one_client_does_not_keep_the_loop_however_fast_it_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that gives less than the client takes never lets the socket fill up."""
    file = Watched(tmp_path / "f", bytes(SIZE))
    sent = 0

    def taken(socket: int, descriptor: int, position: int, count: int) -> int:
        nonlocal sent
        part = min(count, 1 << 20)
        sent += part
        return part

    async def talk(client: Client, other: socket.socket) -> None:
        nonlocal sent
        for _ in range(3):
            client.expect().pieces = [Slice(file, 0, SIZE, 0)]
        client.flush()
        turns = 0
        while file.lent or sent < 3 * SIZE:
            assert 0 < sent <= 3 * SIZE
            before, turns = sent, turns + 1
            await asyncio.sleep(0)
            assert sent - before <= 4 << 20
        assert turns >= 8
        assert not client.busy

    monkeypatch.setattr(os, "sendfile", taken)
    run(served(talk))


@loops
@pytest.mark.parametrize("part", [40_000, 900_000, SIZE])
@pytest.mark.parametrize("size", [MIDDLE, SIZE])
def test_a_large_reply_is_not_kept_in_memory_though_it_is_cached(
    run: Run, tmp_path: Path, size: int, part: int
) -> None:
    disk = RealDisk(str(tmp_path))
    file = disk.open("f", create=True)
    data = Random(3).randbytes(size)
    file.append(data)
    part = min(part, size)
    parts = [Slice(file, start, part, 0) for start in range(0, size - part + 1, part)]

    async def talk(client: Client, other: socket.socket) -> None:
        client.expect().pieces = [b"head", *parts, b"tail"]
        client.flush()
        assert client.transport is not None
        assert client.transport.get_write_buffer_size() <= 16 << 10
        expected = b"head" + data[: len(parts) * part] + b"tail"
        assert await received(other, len(expected)) == expected

    run(served(talk))
    disk.close()


def test_what_is_in_memory_anyway_is_sent_from_there() -> None:
    disk = MemoryDisk(100 << 20)
    file = disk.open("f", create=True)
    file.append(bytes(SIZE))
    assert not on_disk([b"head", Slice(file, 0, SIZE, 0)])


def test_what_is_on_disk_is_told(tmp_path: Path) -> None:
    file = Watched(tmp_path / "f", bytes(200_000))
    parts = [
        Slice(file, 0, 70_000, 0),
        Slice(file, 70_000, 100_000, 0),
        Slice(file, 170_000, 30_000, 0),
    ]
    assert on_disk([b"head", *parts]) == 200_000
