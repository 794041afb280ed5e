"""A Kafka door with a broker behind it, and clients at its sockets."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
import uvloop
from tests.broker.support import SESSION, running
from tests.gateways.kafka.test_lanes import _all_of, counted, produce

from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.broker.waiting import Hosted
from millstream.env.disk import RealDisk
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka.connection import Dispatches, KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.gateways.kafka.faults import Faults, FaultyDispatch
from millstream.gateways.kafka.rounds import Rounds
from millstream.records.runs import Sender

LOOPS = [pytest.param(asyncio.new_event_loop, id="asyncio"), pytest.param(uvloop.new_event_loop, id="uvloop")]
POLICIES = ["os", "fsync"]
Loop = Callable[[], asyncio.AbstractEventLoop]
STEADY = 6  # requests until a client is a guest
QUICK = {"sync.on.loop.us": 10_000}  # whatever the disk of these tests


class Client:
    """The other end of a connection."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.heard = b""

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def replies(self, count: int) -> list[bytes]:
        """The next *count* of them."""
        found: list[bytes] = []
        while len(found) < count:
            if len(self.heard) >= 4 and len(self.heard) >= 4 + (size := _size(self.heard)):
                found.append(self.heard[: 4 + size])
                self.heard = self.heard[4 + size :]
                continue
            more = await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
            if not more:
                raise ConnectionError("closed")
            self.heard += more
        return found

    async def ask(self, *frames: bytes) -> list[bytes]:
        await self.send(b"".join(frames))
        return await self.replies(len(frames))


def _size(data: bytes) -> int:
    return int(struct.unpack_from(">i", data)[0])


class Desk:
    """A broker behind a door that listens to sockets."""

    def __init__(self, broker: Broker, dispatch: Dispatches, rounds: Rounds | None) -> None:
        self.broker = broker
        self.door = Door("test", lambda: GatewayConfig(frame_timeout_ms=1000))
        self._dispatch = dispatch
        self._rounds = rounds

    @property
    def rounds(self) -> Rounds:
        assert self._rounds is not None
        return self._rounds

    @property
    def hosted(self) -> Hosted:
        return self.broker.topics.hosted("t", 0)

    async def dial(self, receive_bytes: int = 0) -> Client:
        with socket.socket() as listening:
            if receive_bytes:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, receive_bytes)
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            theirs = socket.socket()
            if receive_bytes:
                theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            theirs.connect(listening.getsockname())
            theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ours = listening.accept()[0]
        for end in (ours, theirs):
            end.setblocking(False)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: KafkaConnection(self.door, self._dispatch, ("here", 9092)), ours
        )
        return Client(theirs)

    async def guest(self, number: int = 1000, *, sender: Sender | None = None, **given: Any) -> Client:
        """A client that native code looks after from now on; it has sent STEADY requests."""
        client = await self.dial(**given)
        before = self.rounds.guests
        for each in range(STEADY):
            frame = produce(number + each)
            if sender is not None:
                frame = counted(number + each, sender.sequence + each)
            await client.ask(frame)
        assert self.rounds.guests == before + 1
        return client


@asynccontextmanager
async def serving(
    path: Path, *, rounds: bool = True, linger_us: int = 0, **configs: str
) -> AsyncIterator[Desk]:
    named: dict[str, str | None] = {name.replace("_", "."): value for name, value in configs.items()}
    async with asyncio.timeout(60), running(RealDisk(str(path)), QUICK) as broker:
        await broker.create_topics(SESSION, [NewTopic("t", 2, configs=named)])
        dispatch = Dispatch(broker, 10, Random(2), native=rounds, linger_us=linger_us)
        served: Dispatches = dispatch if rounds else FaultyDispatch(dispatch, Faults())
        desk = Desk(broker, served, dispatch.rounds)
        if dispatch.rounds is not None:
            dispatch.rounds.brisk_us = inf  # however slow these tests are
            dispatch.rounds.brisk_requests = 4
        yield desk
        await desk.door.close(5)
        if dispatch.rounds is not None:
            assert dispatch.rounds.guests == 0
            dispatch.rounds.close()


def run(told: Any, new_loop: Loop = uvloop.new_event_loop) -> Any:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(told)


async def story(
    path: Path, frames: list[bytes], *, chunk: int, rounds: bool, configs: dict[str, str], linger_us: int = 0
) -> tuple[list[bytes], bytes, int]:
    """The replies to *frames*, sent in pieces, what the log holds then, and how many were taken in rounds."""
    async with serving(path, rounds=rounds, linger_us=linger_us, **configs) as desk:
        client = await desk.dial()
        replies = [(await client.ask(frame))[0] for frame in frames[:STEADY]]
        data = b"".join(frames[STEADY:])

        async def send() -> None:
            for start in range(0, len(data), chunk):
                await client.send(data[start : start + chunk])
                await asyncio.sleep(0)  # that it arrives like this

        _, more = await asyncio.gather(send(), client.replies(len(frames) - STEADY))
        log = b"".join(_all_of(hosted) for hosted in desk.broker.topics.of("t"))
        return replies + more, log, desk.rounds.requests if rounds else 0


def same(tmp_path: Path, frames: list[bytes], new_loop: Loop, chunk: int = 1 << 20, **configs: str) -> int:
    """Check that rounds change nothing but the pace; how many requests they took."""
    slow = run(story(tmp_path / "slow", frames, chunk=chunk, rounds=False, configs=configs), new_loop)
    for linger_us in (0, 200):
        path = tmp_path / f"quick{linger_us}"
        told = story(path, frames, chunk=chunk, rounds=True, linger_us=linger_us, configs=configs)
        quick = run(told, new_loop)
        assert quick[0] == slow[0]
        assert quick[1] == slow[1]
    return int(quick[2])


def offset_in(reply: bytes) -> int:
    """Of version 9, for topic "t"."""
    error, offset = struct.unpack_from(">hq", reply, 4 + 4 + 1 + 1 + 2 + 1 + 4)
    assert error == 0
    return int(offset)


async def read_on(desk: Desk, offset: int) -> list[bytes | None]:
    """What comes next for a consumer that has waited for it."""
    found = await desk.broker.read(
        SESSION, "t", 0, offset, max_records=10, max_bytes=1 << 20, max_wait_ms=30_000
    )
    return [record.value for record in found.records]
