"""Clients that native code looks after: nobody can tell from the replies, nor from the log."""

import asyncio
import os
import struct
from pathlib import Path

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.env.test_outflow import until
from tests.gateways.kafka.desk import (
    LOOPS,
    POLICIES,
    STEADY,
    Loop,
    offset_in,
    read_on,
    run,
    same,
    serving,
)
from tests.gateways.kafka.test_lanes import _all_of, counted, produce
from tests.storage.test_runs_on_disk import no_file_larger_than

from millstream.broker.produce import Synced
from millstream.env.disk import DiskFailed, File, RealFile
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.rounds import NATIVE
from millstream.records.runs import NOBODY, Run, Sender
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.skipif(NATIVE is None, reason="no epoll, or the native part was not built")


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
            assert offset_in((await client.replies(1))[0]) == 0

    run(tell())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_what_guests_have_begun_to_send_takes_up_little(tmp_path: Path, new_loop: Loop) -> None:
    """Of many who send half of a megabyte some are waited for; the loop has a budget for the others."""
    large = produce(9, b"x" * 1_000_000)
    many, waited_for = 40, (32 << 20) // len(large)

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            clients = [await desk.guest(100 * each) for each in range(many)]
            for client in clients:
                await client.send(large[: len(large) // 2])
            await until(lambda: desk.rounds.guests == waited_for)
            for client in clients:
                await client.send(large[len(large) // 2 :])
            offsets = [offset_in((await client.replies(1))[0]) for client in clients]
            assert sorted(offsets) == list(range(many * STEADY, many * (STEADY + 1)))
            assert _all_of(desk.hosted).count(b"x" * 1_000_000) == many
            for client in clients:  # all that was held was given back
                await client.send(large[: len(large) // 2])
                client.socket.close()
            await until(lambda: not desk.door.connections)
            again = [await desk.guest() for _ in range(waited_for)]
            for client in again:
                await client.send(large[: len(large) // 2])
            for client in again:
                await client.send(large[len(large) // 2 :])
                await client.replies(1)
            assert desk.rounds.guests == waited_for

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
                    offsets.append(offset_in(reply))
            assert desk.rounds.requests == before + 45
            assert sorted(offsets) == list(range(9 * STEADY, 9 * STEADY + 45))
            assert desk.hosted.partition.high_watermark == 9 * STEADY + 45

    run(tell())


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
            offsets = [offset_in((await client.replies(1))[0]) for client in (first, second)]
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
                assert offset_in((await clients[0].ask(produce(51, value)))[0]) == end
                for client in clients:
                    await client.send(produce(52, value))
                failed = [(await client.replies(1))[0] for client in clients]
            assert {struct.unpack_from(">h", reply, 17)[0] for reply in failed} == {56}
            assert log.end_offset == end + 1
            assert desk.broker.broken.done()  # EFBIG is no mood of a disk
            file = log.segments[-1].file
            assert file.read(0, 1 << 20)[: log.size_bytes].count(value) == 4

    run(tell())


def test_a_consumer_that_waits_is_told_before_the_next_request(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os", linger_us=100_000) as desk:
            client = await desk.guest()
            for turn in range(20):
                waits = asyncio.ensure_future(read_on(desk, STEADY + 2 * turn))
                await asyncio.sleep(0)
                await client.send(produce(turn, b"%d" % turn) + produce(turn, b"again"))
                assert await waits == [b"%d" % turn, b"again"]
                await client.replies(2)
            assert desk.rounds.requests >= 40

    run(tell())


def test_large_frames_that_are_there_are_written_together(tmp_path: Path) -> None:
    """How much of them is there when the node looks is TCP's to say; often it is more than one."""
    large = [produce(number, b"x" * 70_000) for number in range(4)]
    times = 20

    async def tell() -> None:
        async with serving(tmp_path, flush_policy="os") as desk:
            client = await desk.guest()
            await client.ask(large[0])  # the next are believed to be as large
            file = desk.hosted.partition.log.segments[-1].file
            assert isinstance(file, RealFile)
            before = file.written
            for _ in range(times):
                await client.ask(*large)
            assert desk.rounds.guests == 1
            assert file.written - before < times * len(large)

    run(tell())
