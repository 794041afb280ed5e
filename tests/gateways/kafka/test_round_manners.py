"""Who native code looks after, and for how long: nobody is kept waiting, and who leaves is let go."""

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from math import inf
from pathlib import Path

import pytest
from tests.broker.support import SESSION
from tests.env.test_outflow import until
from tests.gateways.kafka.desk import (
    LOOPS,
    POLICIES,
    STEADY,
    Loop,
    offset_in,
    read_on,
    run,
    serving,
)
from tests.gateways.kafka.test_lanes import produce

from millstream.env.neighbours import _may_be_ahead
from millstream.gateways.config import GatewayConfig
from millstream.gateways.kafka import rounds as rounds_module
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.rounds import NATIVE
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.skipif(NATIVE is None, reason="no epoll, or the native part was not built")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("new_loop", LOOPS)
def test_who_writes_one_by_one_what_a_consumer_waits_for_is_left_to_the_loop(
    tmp_path: Path, new_loop: Loop, policy: str
) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy=policy) as desk:
            client = await desk.guest()
            guests = []
            for turn in range(60):
                waits = asyncio.ensure_future(read_on(desk, STEADY + turn))
                await asyncio.sleep(0)
                await client.ask(produce(turn, b"%d" % turn))
                assert await waits == [b"%d" % turn]
                guests.append(desk.rounds.guests)
            assert 1 in guests[:8]
            assert 1 not in guests[20:]
            for turn in range(60, 80):  # nobody waits any more
                await client.ask(produce(turn, b"%d" % turn))
            assert desk.rounds.guests == 1

    run(tell(), new_loop)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_replies_that_the_socket_does_not_take_come_in_their_turn(tmp_path: Path, new_loop: Loop) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.guest(receive_bytes=4096)
            for number in range(1500):
                await client.send(produce(number))
            replies = await client.replies(1500)
            assert [struct.unpack_from(">i", reply, 4)[0] for reply in replies] == list(range(1500))
            assert [offset_in(reply) for reply in replies] == list(range(STEADY, 1500 + STEADY))

    run(tell(), new_loop)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_guest_that_leaves_is_none_any_more(tmp_path: Path, new_loop: Loop) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client, other = await desk.guest(), await desk.guest()
            await client.send(produce(1)[:30])
            client.socket.close()
            await other.ask(produce(2))
            await until(lambda: len(desk.door.connections) == 1)
            assert desk.rounds.guests == 1
            assert offset_in((await other.ask(produce(3)))[0]) == 2 * STEADY + 1

    run(tell(), new_loop)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_who_leaves_in_the_midst_of_a_frame_is_let_go(tmp_path: Path, new_loop: Loop) -> None:
    """However many requests it had sent at once: it is not taken for a guest again and again."""

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.dial()
            for _ in range(5):
                await client.ask(*[produce(number) for number in range(20)])
            assert desk.rounds.guests == 1
            await client.send(produce(1)[:30])
            client.socket.close()
            await until(lambda: not desk.door.connections)
            assert desk.rounds.guests == 0

    run(tell(), new_loop)


def test_rounds_take_nothing_larger_than_a_request_may_be(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os", max_message_bytes="2000000") as desk:
            desk.door.config = lambda: GatewayConfig(request_max_bytes=1 << 20)
            client = await desk.dial()
            for number in range(2 * STEADY):
                await client.ask(produce(number))
            with pytest.raises(ConnectionError):
                await client.ask(produce(99, b"x" * ((1 << 20) + 20_000)))

    run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_guest_whose_frame_never_ends_is_shown_out(tmp_path: Path, new_loop: Loop) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client, trickle = await desk.guest(), await desk.guest()
            await client.send(produce(1)[:30])
            with pytest.raises(ConnectionError):
                for each in produce(1):
                    await trickle.send(bytes([each]))
                    await asyncio.sleep(0.1)
            with pytest.raises(ConnectionError):
                await client.replies(1)
            assert desk.door.refused == 2

    run(tell(), new_loop)


def test_a_door_that_is_held_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.guest()
            frame = produce(1)
            await client.send(frame[:50])
            (connection,) = desk.door.connections
            await until(lambda: desk.rounds.look(connection._descriptor)[1] > 0)
            desk.door.hold()
            assert desk.rounds.guests == 0
            await client.send(frame[50:])
            await asyncio.sleep(0.05)
            assert desk.hosted.partition.log.end_offset == STEADY
            desk.door.closing = False
            connection.relax()
            assert offset_in((await client.replies(1))[0]) == STEADY

    run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_guests_that_are_slow_are_left_to_the_loop(tmp_path: Path, new_loop: Loop) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            slow, silent = await desk.guest(), await desk.guest()
            desk.rounds.brisk_us = 1000
            await silent.send(produce(50)[:30])
            turns = 0
            while desk.rounds.guests == 2:
                turns += 1
                assert offset_in((await slow.ask(produce(turns)))[0]) == 2 * STEADY - 1 + turns
                await asyncio.sleep(0.002)
            assert desk.rounds.guests == 0
            assert turns > 5
            await silent.send(produce(50)[30:])
            assert offset_in((await silent.replies(1))[0]) == 2 * STEADY + turns

    run(tell(), new_loop)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_guest_that_is_slow_every_other_time_is_left_to_the_loop(tmp_path: Path, new_loop: Loop) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.guest()
            for number in range(40):
                desk.rounds.brisk_us = 0 if number % 2 else inf
                await client.ask(produce(number))
                if not desk.rounds.guests:
                    break
            assert 10 < number < 30

    run(tell(), new_loop)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_many_who_were_kept_waiting_are_not_slow(tmp_path: Path, new_loop: Loop) -> None:
    """The loop may have had others to see to: what comes late, but comes together, is worth a round."""

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.guest()
            desk.rounds.brisk_us = 0
            for turn in range(40):
                frames = [produce(turn * 8 + each) for each in range(8)]
                assert client.socket.send(b"".join(frames)) == sum(map(len, frames))
                assert len(await client.replies(8)) == 8
            assert desk.rounds.guests == 1

    run(tell(), new_loop)


@pytest.mark.parametrize("new_loop", LOOPS)
@pytest.mark.parametrize(("together", "asked"), [(1, 17), (4, 2)])
def test_who_sends_one_after_the_other_is_looked_at_for_longer(
    tmp_path: Path, new_loop: Loop, together: int, asked: int
) -> None:
    """Two that send some hundred a second each, in step for a while, are better served by the loop."""

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            desk.rounds.brisk_requests = 16
            client = await desk.dial()
            turns = 0
            while not desk.rounds.guests:
                turns += 1
                await client.ask(*(produce(turns * together + each) for each in range(together)))
            assert turns == asked

    run(tell(), new_loop)


def test_a_quota_that_comes_later_holds_for_guests_too(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.guest()
            taken = desk.rounds.requests
            await desk.broker.change_quotas(
                SESSION, {(("client-id", "client"),): {"producer_byte_rate": 1e9}}, validate_only=False
            )
            await client.ask(produce(1), produce(2))
            assert desk.rounds.requests == taken

    run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_others_are_heard_while_a_guest_never_rests(tmp_path: Path, new_loop: Loop) -> None:
    def hammer(end: socket.socket, stop: threading.Event) -> None:
        end.setblocking(True)
        frame = produce(7)
        while not stop.is_set():
            end.sendall(frame)
            end.recv(1 << 16)

    async def tell() -> None:
        metadata = bytes(request_frame(RequestHeader(3, 9, 77, "client"), MetadataRequest(topics=[])))
        async with serving(tmp_path, flush_policy="os", linger_us=100_000) as desk:
            guest, other = await desk.guest(), await desk.dial()
            stop = threading.Event()
            thread = threading.Thread(target=hammer, args=(guest.socket, stop))
            thread.start()
            try:
                for _ in range(200):
                    await other.ask(metadata)
                    await asyncio.sleep(0.0001)  # timers, too
            finally:
                stop.set()
                await asyncio.get_running_loop().run_in_executor(None, thread.join)
            assert desk.rounds.requests > 0

    run(tell(), new_loop)


def test_who_is_not_visited_in_a_round_is_the_first_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round has time for one visit, and everybody always has something to say."""
    monkeypatch.setattr(rounds_module, "_LIMIT_US", 0)
    large = produce(9, b"x" * 100_000)  # such are taken one a visit

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            clients = [await desk.guest(100 * each) for each in range(3)]
            for client in clients:
                await client.ask(large)
            end = desk.hosted.partition.log.end_offset
            for client in clients:  # at once, so that nobody takes any of it meanwhile
                assert client.socket.send(large * 8) == 8 * len(large)
            offsets = [[offset_in(reply) - end for reply in await client.replies(8)] for client in clients]
            assert sorted(each for some in offsets for each in some) == list(range(24))
            assert max(each[0] for each in offsets) < 8

    run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_nobody_is_received_from_for_long_while_others_wait(tmp_path: Path, new_loop: Loop) -> None:
    """Whoever fills the buffer is left alone until everybody else had a turn."""

    async def tell() -> None:
        metadata = bytes(request_frame(RequestHeader(3, 9, 77, "client"), MetadataRequest(topics=[])))
        async with serving(tmp_path, rounds=False, flush_policy="os") as desk:
            desk.door.scratch = memoryview(bytearray(20_000))
            flood, other = await desk.dial(), await desk.dial()
            await flood.ask(produce(1))
            frame, sent = produce(7, b"x" * 4_000), 0
            with suppress(BlockingIOError):  # at once, so that nobody takes any of it meanwhile
                while True:
                    sent += flood.socket.send(frame * 5)
            await other.ask(metadata)
            assert sent > 500_000
            assert desk.hosted.partition.log.size_bytes < 100_000

    run(tell(), new_loop)


@pytest.mark.parametrize("rounds", [True, False])
@pytest.mark.parametrize(("value", "is_ahead"), [(60_000, False), (70_000, True), (1_000_000, True)])
def test_who_sends_large_requests_may_send_ahead(
    tmp_path: Path, value: int, is_ahead: bool, rounds: bool
) -> None:
    if not _may_be_ahead():
        pytest.skip("this system gives no socket so much")
    frame = produce(1, b"x" * value)

    async def tell() -> None:
        async with serving(tmp_path, rounds=rounds) as desk:
            client = await desk.dial()
            await client.ask(produce(0))
            (connection,) = desk.door.connections
            assert connection.transport is not None
            there = connection.transport.get_extra_info("socket")
            await client.send(frame[:1000])
            await until(lambda: connection.waiting_since() is not None)
            await client.send(frame[1000:])
            await client.replies(1)
            assert (there.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= 4 << 20) is is_ahead

    run(tell())


def test_who_sends_several_large_requests_at_once_and_whole_is_a_guest_too(tmp_path: Path) -> None:
    """They make several runs, and none of these is alone when it is answered."""
    several = b"".join(produce(number, b"x" * 100_000) for number in range(1, 6))

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.dial()
            await client.ask(produce(0))
            (connection,) = desk.door.connections
            assert isinstance(connection, KafkaConnection)
            for _ in range(STEADY):
                if desk.rounds.guests:
                    break
                room = connection.get_buffer(-1)
                room[: len(several)] = several
                connection.buffer_updated(len(several))
                await client.replies(5)
            assert desk.rounds.guests == 1

    run(tell())
