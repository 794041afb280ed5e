"""Clients that native code looks after: nobody can tell from the replies, nor from the log."""

import asyncio
import os
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.broker.support import SESSION, running
from tests.env.test_outflow import until
from tests.gateways.kafka.test_lanes import _all_of, counted, produce
from tests.storage.test_runs_on_disk import no_file_larger_than

from millstream.broker.broker import Broker
from millstream.broker.produce import Synced
from millstream.broker.topics import NewTopic
from millstream.broker.waiting import Hosted
from millstream.env.disk import DiskFailed, File, RealDisk, RealFile
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka import rounds as rounds_module
from millstream.gateways.kafka.connection import Dispatches, KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.gateways.kafka.faults import Faults, FaultyDispatch
from millstream.gateways.kafka.rounds import NATIVE, Rounds
from millstream.records.runs import NOBODY, Run, Sender
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.skipif(NATIVE is None, reason="no epoll, or the native part was not built")

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


@pytest.mark.parametrize("new_loop", LOOPS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("version", [7, 9, 12])
def test_replies_and_log_are_the_same(tmp_path: Path, new_loop: Loop, policy: str, version: int) -> None:
    many = [produce(number, b"x" * number, version=version) for number in range(100)]

    assert same(tmp_path, many, new_loop, flush_policy=policy) >= 50


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chunk", [50, 173, 999, 20_000])
def test_frames_of_any_size_may_arrive_in_any_pieces(tmp_path: Path, policy: str, chunk: int) -> None:
    many = [produce(number, b"x" * (number * 797 % 9_000)) for number in range(60)]

    assert same(tmp_path, many, uvloop.new_event_loop, chunk, flush_policy=policy) >= 50


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chunk", [1 << 20, 70_000, 9_000])
def test_large_frames_may_stand_among_small_ones(tmp_path: Path, policy: str, chunk: int) -> None:
    sizes = [3_000, 100_000, 3_000, 3_000, 65_000, 65_500, 900_000, 900_000, 0, 1_000_000, 70_000]
    many = [produce(number, b"x" * sizes[number % len(sizes)]) for number in range(40)]

    assert same(tmp_path, many, uvloop.new_event_loop, chunk, flush_policy=policy) >= 20


def test_frames_that_are_too_large_go_the_long_way(tmp_path: Path) -> None:
    many = [produce(number, b"x" * (1_200_000 if number % 9 == 8 else 3_000)) for number in range(40)]

    taken = same(tmp_path, many, uvloop.new_event_loop, flush_policy="os", max_message_bytes="2000000")

    assert 0 < taken < 40 - STEADY


def test_there_is_room_for_more_however_much_came_at_once(tmp_path: Path) -> None:
    """All that can be received in one go is the beginning of a request that is larger than that."""

    async def tell() -> None:
        async with serving(tmp_path, rounds=False, flush_policy="os", max_message_bytes="5000000") as desk:
            client = await desk.dial()
            (connection,) = desk.door.connections
            assert isinstance(connection, KafkaConnection)
            left = produce(1, b"x" * 4_000_000)
            while left:
                room = connection.get_buffer(-1)
                assert len(room)
                part, left = left[: len(room)], left[len(room) :]
                room[: len(part)] = part
                connection.buffer_updated(len(part))
            assert _offset((await client.replies(1))[0]) == 0

    run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_what_guests_have_begun_to_send_takes_up_little(tmp_path: Path, new_loop: Loop) -> None:
    """Of a dozen who send half of a megabyte, eight are waited for; the loop has a budget for the others."""
    large = produce(9, b"x" * 1_000_000)

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            clients = [await desk.guest(100 * each) for each in range(12)]
            for client in clients:
                await client.send(large[: len(large) // 2])
            await until(lambda: desk.rounds.guests == 8)
            for client in clients:
                await client.send(large[len(large) // 2 :])
            offsets = [_offset((await client.replies(1))[0]) for client in clients]
            assert sorted(offsets) == list(range(12 * STEADY, 13 * STEADY + 6))
            assert _all_of(desk.hosted).count(b"x" * 1_000_000) == 12
            for client in clients:  # all that was held was given back
                await client.send(large[: len(large) // 2])
                client.socket.close()
            await until(lambda: not desk.door.connections)
            again = [await desk.guest() for _ in range(8)]
            for client in again:
                await client.send(large[: len(large) // 2])
            for client in again:
                await client.send(large[len(large) // 2 :])
                await client.replies(1)
            assert desk.rounds.guests == 8

    run(tell(), new_loop)


@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_comes_between_is_answered_in_its_turn(tmp_path: Path, policy: str) -> None:
    metadata = bytes(request_frame(RequestHeader(3, 9, 77, "client"), MetadataRequest(topics=[])))
    between = [
        metadata,
        produce(50, spoil=True),
        produce(51, index=1),
        produce(52, index=9),
        produce(53, topic="none"),
        produce(54, sender=Sender(4, 0, 0)),
        produce(55, acks=1),
        produce(57, acks=2),
    ]
    frames: list[bytes] = []
    for number, other in enumerate(between):
        frames += [produce(number * 4 + each) for each in range(4)] + [other]

    same(tmp_path, frames, uvloop.new_event_loop, flush_policy=policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_of_a_producer_that_counts_each_batch_is_taken_once(tmp_path: Path, policy: str) -> None:
    """Resent, out of turn, of many records: as the long way has it."""
    frames = [counted(number, number) for number in range(20)]
    frames += [counted(19, 19), counted(21, 40), counted(22, 20, count=3), counted(23, 23), counted(24, 24)]

    same(tmp_path, frames, uvloop.new_event_loop, flush_policy=policy)


@pytest.mark.parametrize(("bytes", "index_bytes"), [("14000", "10485760"), ("1000000", "66000")])
def test_segments_end_where_they_would(tmp_path: Path, bytes: str, index_bytes: str) -> None:
    many = [produce(number, b"x" * 100) for number in range(300)]

    taken = same(
        tmp_path,
        many,
        uvloop.new_event_loop,
        flush_policy="os",
        index_interval_bytes="1",
        segment_bytes=bytes,
        segment_index_bytes=index_bytes,
    )

    assert taken > 0


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["next", "again", "skip", "other", "spoilt", "large"])),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, chunk=st.sampled_from([1 << 20, 100]), policy=st.sampled_from(POLICIES))
def test_whatever_a_producer_sends(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]], chunk: int, policy: str
) -> None:
    frames = [counted(number, number) for number in range(STEADY)]
    sequence = STEADY
    for number, (count, what) in enumerate(steps, start=10):
        match what:
            case "again":
                frames.append(counted(number, max(sequence - 1, 0)))
            case "skip":
                frames.append(counted(number, sequence + 5))
            case "other":
                frames.append(produce(number))
            case "spoilt":
                frames.append(counted(number, sequence, spoil=True))
            case "large":
                frames.append(produce(number, b"x" * 70_000, sender=Sender(4, 0, sequence)))
                sequence += 1
            case _:
                frames.append(counted(number, sequence, count=count + 1))
                sequence += count + 1

    same(tmp_path_factory.mktemp("story"), frames, uvloop.new_event_loop, chunk, flush_policy=policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_clients_of_one_partition_share_its_offsets(tmp_path: Path, policy: str) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy=policy) as desk:
            some = [
                await desk.guest(100 * each, sender=Sender(4, 0, 0) if not each else None)
                for each in range(9)
            ]
            before = desk.rounds.requests
            offsets: list[int] = []
            for turn in range(5):
                frames = [counted(STEADY + turn, STEADY + turn)] + [produce(turn)] * 8
                for client, frame in zip(some, frames, strict=True):
                    await client.send(frame)
                for client in some:
                    (reply,) = await client.replies(1)
                    offsets.append(_offset(reply))
            assert desk.rounds.requests == before + 45
            assert sorted(offsets) == list(range(9 * STEADY, 9 * STEADY + 45))
            assert desk.hosted.partition.high_watermark == 9 * STEADY + 45

    run(tell())


def _offset(reply: bytes) -> int:
    """Of version 9, for topic "t"."""
    error, offset = struct.unpack_from(">hq", reply, 4 + 4 + 1 + 1 + 2 + 1 + 4)
    assert error == 0
    return int(offset)


def test_a_batch_sent_again_on_another_connection_is_written_once(tmp_path: Path) -> None:
    """Both may be seen in the same round: what the first has sent must count for the second."""

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            first = await desk.guest(0, sender=Sender(4, 0, 0))
            second = await desk.dial()
            for sequence in range(STEADY, 2 * STEADY):
                await second.ask(counted(sequence, sequence))
            assert desk.rounds.guests == 2
            for client in (first, second):
                await client.send(counted(2 * STEADY, 2 * STEADY))
            offsets = [_offset((await client.replies(1))[0]) for client in (first, second)]
            assert offsets == [2 * STEADY, 2 * STEADY]
            assert desk.hosted.partition.log.end_offset == 2 * STEADY + 1

    run(tell())


def test_what_is_answered_is_synced_and_committed(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="fsync", linger_us=1000) as desk:
            client = await desk.guest()
            partition = desk.hosted.partition
            taken, syncs = desk.rounds.requests, desk.broker._commit.syncs
            for number in range(50):
                await client.ask(produce(number))
            assert desk.rounds.requests == taken + 50
            assert desk.broker._commit.syncs == syncs + 50
            await until(lambda: partition.high_watermark == STEADY + 50)
            assert partition.log.recovery_point == STEADY + 50
            file = partition.log.segments[-1].file
            assert isinstance(file, RealFile)
            assert not file.unsynced

    run(tell())


@pytest.mark.parametrize("good", [0, 1, 2])
def test_nobody_is_answered_after_a_sync_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int
) -> None:
    """A file that gives another descriptor when it is to be synced: one that cannot be."""
    seen: list[object] = []

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="fsync") as desk:
            clients = [await desk.guest(100 * each) for each in range(2)]
            file = desk.hosted.partition.log.segments[-1].file
            asked: list[int] = []
            ends = os.pipe()

            def descriptor(of: RealFile) -> int:
                fd = int(of.__dict__["fd"])
                if of is not file:
                    return fd
                asked.append(fd)
                return ends[1] if len(asked) == 2 * good + 2 else fd

            with monkeypatch.context() as patch:
                change = property(descriptor, lambda of, fd: of.__dict__.update(fd=fd))
                patch.setattr(RealFile, "fd", change, raising=False)
                for number in range(good):
                    await clients[0].ask(produce(number))
                for client in clients:
                    await client.send(produce(90))
                for client in clients:
                    seen.extend(await asyncio.gather(client.replies(1), return_exceptions=True))
            seen.append(desk.broker.broken.result())
            seen.append(desk.hosted.partition.high_watermark)
            for end in ends:
                os.close(end)

    with pytest.raises(DiskFailed):  # so does the goodbye
        run(tell())
    assert [type(each) for each in seen[:3]] == [ConnectionError, ConnectionError, DiskFailed]
    assert seen[3:] == [2 * STEADY + good]


def test_nobody_is_answered_once_another_sync_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of some other file, in a thread, while the round waits for its own."""
    seen: list[object] = []

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="fsync") as desk:
            client = await desk.guest()
            file = desk.hosted.partition.log.segments[-1].file
            asked: list[RealFile] = []

            def native(of: RealFile) -> File | None:
                asked.extend([of] if of is file else [])
                if len(asked) == 2:  # the first time it was lent
                    of._disk.fail(OSError(5, "another file's"))
                return of if of._disk.failure is None else None

            with monkeypatch.context() as patch:
                patch.setattr(RealFile, "native", property(native))
                await client.send(produce(90))
                seen.extend(await asyncio.gather(client.replies(1), return_exceptions=True))
            seen.append(desk.broker.broken.result())
            seen.append(desk.hosted.partition.high_watermark)

    with pytest.raises(DiskFailed):  # so does the goodbye
        run(tell())
    assert [type(each) for each in seen[:2]] == [ConnectionError, DiskFailed]
    assert seen[2] == STEADY


def test_after_a_failed_sync_nothing_is_done_to_the_disk_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even to take back a write that failed as well."""
    calls: list[str] = []

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="fsync") as desk:
            await desk.guest()
            hosted = desk.hosted
            lent = desk.broker.lend(hosted)
            assert lent is not None
            base = lent.place.base_offset
            written = Run(0, (), 100, 1, base, base + 1, (lent.place.newest_ms, -1), (), b"", NOBODY, ())
            with monkeypatch.context() as patch:
                for name in ("ftruncate", "fdatasync", "fsync"):
                    patch.setattr(os, name, lambda *_, name=name: calls.append(name))
                failed = hosted, OSError(28, "full")
                desk.broker.note_runs(
                    [(hosted, written)], failed, Synced(hosted, 1, 100, OSError(5, "broken"))
                )
            calls.append(str(desk.broker.broken.done()))

    with pytest.raises(DiskFailed):
        run(tell())
    assert calls == ["True"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("value", [b"x" * 100, b"x" * 5000, b"x" * 200_000], ids=["small", "middle", "large"])
def test_a_write_that_stops_half_way_takes_nothing_with_it_that_was_answered(
    tmp_path: Path, value: bytes, policy: str
) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy=policy, index_interval_bytes="1") as desk:
            clients = [await desk.guest(100 * each) for each in range(3)]
            log = desk.hosted.partition.log
            for client in clients:
                await client.ask(produce(50, value))
            before, end = log.size_bytes, log.end_offset
            # One more fits and is answered; what comes after it is cut in its midst.
            with no_file_larger_than(before + len(value) + 150):
                assert _offset((await clients[0].ask(produce(51, value)))[0]) == end
                for client in clients:
                    await client.send(produce(52, value))
                failed = [(await client.replies(1))[0] for client in clients]
            assert {struct.unpack_from(">h", reply, 17)[0] for reply in failed} == {56}
            assert log.end_offset == end + 1
            assert desk.broker.broken.done()  # EFBIG is no mood of a disk
            file = log.segments[-1].file
            assert file.read(0, 1 << 20)[: log.size_bytes].count(value) == 4

    run(tell())


async def _reads(desk: Desk, offset: int) -> list[bytes | None]:
    """What comes next for a consumer that has waited for it."""
    found = await desk.broker.read(
        SESSION, "t", 0, offset, max_records=10, max_bytes=1 << 20, max_wait_ms=30_000
    )
    return [record.value for record in found.records]


def test_a_consumer_that_waits_is_told_before_the_next_request(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os", linger_us=100_000) as desk:
            client = await desk.guest()
            for turn in range(20):
                waits = asyncio.ensure_future(_reads(desk, STEADY + 2 * turn))
                await asyncio.sleep(0)
                await client.send(produce(turn, b"%d" % turn) + produce(turn, b"again"))
                assert await waits == [b"%d" % turn, b"again"]
                await client.replies(2)
            assert desk.rounds.requests >= 40

    run(tell())


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
                waits = asyncio.ensure_future(_reads(desk, STEADY + turn))
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
            assert [_offset(reply) for reply in replies] == list(range(STEADY, 1500 + STEADY))

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
            assert _offset((await other.ask(produce(3)))[0]) == 2 * STEADY + 1

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
            assert _offset((await client.replies(1))[0]) == STEADY

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
                assert _offset((await slow.ask(produce(turns)))[0]) == 2 * STEADY - 1 + turns
                await asyncio.sleep(0.002)
            assert desk.rounds.guests == 0
            assert turns > 5
            await silent.send(produce(50)[30:])
            assert _offset((await silent.replies(1))[0]) == 2 * STEADY + turns

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
@pytest.mark.parametrize(("together", "most"), [(1, 18), (4, 4)])
def test_who_sends_one_after_the_other_is_looked_at_for_longer(
    tmp_path: Path, new_loop: Loop, together: int, most: int
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
            assert most - 3 < turns <= most

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
            offsets = [[_offset(reply) - end for reply in await client.replies(8)] for client in clients]
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
