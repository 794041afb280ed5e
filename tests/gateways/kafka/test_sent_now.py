"""Short replies go beside the transport, straight to the socket, and still arrive whole and in order."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest
import uvloop
from tests.broker.support import SESSION, running
from tests.gateways.kafka.test_lanes import produce
from tests.gateways.kafka.test_refrain import fetch

from millstream.broker.topics import NewTopic
from millstream.env.busy_poll import BusyPoll
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.sim.disk import SimDisk

LOOPS = [pytest.param(asyncio.new_event_loop, id="asyncio"), pytest.param(uvloop.new_event_loop, id="uvloop")]
Loop = Callable[[], asyncio.AbstractEventLoop]


def numbers(data: bytes) -> list[int]:
    """The correlation ids of the replies that are whole in *data*."""
    found, start = [], 0
    while len(data) - start >= 8:
        size, number = struct.unpack_from(">ii", data, start)
        start += 4 + size
        if start <= len(data):
            found.append(number)
    return found


def pair() -> tuple[socket.socket, socket.socket]:
    """A server's and a client's end of a connection that holds few replies."""
    with socket.socket() as listening, socket.socket() as dialled:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        dialled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        dialled.connect(listening.getsockname())
        ends = listening.accept()[0], dialled.dup()
    for each in ends:
        each.setblocking(False)
    return ends


@asynccontextmanager
async def served() -> AsyncIterator[tuple[KafkaConnection, socket.socket]]:
    """A connection, and the client's end of it."""
    ours, theirs = pair()
    async with asyncio.timeout(60), running(SimDisk(Random(1))) as broker:
        await broker.create_topics(SESSION, [NewTopic("t", 1, configs={"flush.policy": "os"})])
        door = Door("test", GatewayConfig)
        dispatch = Dispatch(broker, 10, Random(2))
        _, connection = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: KafkaConnection(door, dispatch, None), ours
        )
        yield connection, theirs
        theirs.close()
        await door.close(5)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_replies_that_the_socket_does_not_take_come_in_their_turn(new_loop: Loop) -> None:
    async def tell() -> None:
        loop = asyncio.get_running_loop()
        async with served() as (_, client):
            heard = b""
            for number in range(1500):
                await loop.sock_sendall(client, produce(number))
                if number >= 700:
                    heard += await loop.sock_recv(client, 100)
            while len(numbers(heard)) < 1500:
                heard += await loop.sock_recv(client, 1 << 16)
            assert numbers(heard) == list(range(1500))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_of_a_reply_that_the_socket_takes_a_part_of_the_rest_follows(new_loop: Loop) -> None:
    async def tell() -> None:
        async with served() as (connection, client):
            sent = [bytes([each]) * 100_000 for each in range(5)]
            for each in sent:
                connection.send(each)
            heard = b""
            while len(heard) < 500_000:
                heard += await asyncio.get_running_loop().sock_recv(client, 1 << 16)
            assert heard == b"".join(sent)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_client_that_has_gone_is_no_error_of_ours(new_loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    async def tell() -> None:
        loop = asyncio.get_running_loop()
        async with served() as (_, client):
            for number in range(3):
                await loop.sock_sendall(client, produce(number))
                await loop.sock_recv(client, 100)
            await loop.sock_sendall(client, b"".join(produce(number) for number in range(3, 50)))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(tell())
    assert "request failed" not in caplog.text


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_fetch_that_waits_is_no_reply_to_stay_awake_for(
    new_loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer asks again as soon as it was told: the loop would never sleep."""
    replied = 0
    as_ever = BusyPoll.replied

    def noted(poll: BusyPoll) -> None:
        nonlocal replied
        replied += 1
        as_ever(poll)

    async def tell() -> None:
        loop = asyncio.get_running_loop()
        async with served() as (connection, client):
            await loop.sock_sendall(client, produce(0))
            assert numbers(await loop.sock_recv(client, 1 << 16)) == [0]
            assert replied == 1
            await loop.sock_sendall(client, fetch(1, 1, wait_ms=60_000))
            while not connection._waiting:  # noqa: ASYNC110  # nobody is told when a fetch is parked
                await asyncio.sleep(0)
            assert replied == 1
            await loop.sock_sendall(client, produce(2))
            assert numbers(await loop.sock_recv(client, 1 << 16))[:1] == [1]
            assert replied > 1

    monkeypatch.setattr(BusyPoll, "replied", noted)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(tell())
