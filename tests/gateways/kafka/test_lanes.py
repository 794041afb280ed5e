"""Requests handled together: nobody can tell from the replies, nor from the log."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.broker.support import NOW_MS, SESSION, running

from millstream.broker import commit
from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.broker.waiting import Hosted
from millstream.env.disk import Disk, RealDisk
from millstream.errors import ErrorCode
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.gateways.kafka.faults import Faults, FaultyDispatch
from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build
from millstream.records.runs import NATIVE, NOBODY, Alike, Sender
from millstream.sim.disk import SimDisk
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.metadata import MetadataRequest
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)
from millstream.wire.primitives import Reader

needs_native = pytest.mark.skipif(NATIVE is None, reason="the native part was not built: no C compiler?")
WAYS = [pytest.param(False, id="plain"), pytest.param(True, id="native", marks=needs_native)]


class Wire:
    """The transport of a connection that nobody is at the other end of."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.closed = False

    def write(self, data: bytes) -> None:
        self.sent += data

    def writelines(self, parts: Sequence[bytes]) -> None:
        for part in parts:
            self.sent += part

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return "127.0.0.1", 9092

    def set_write_buffer_limits(self, high: int) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def replies(self) -> list[bytes]:
        found, start = [], 0
        while start < len(self.sent):
            (size,) = struct.unpack_from(">i", self.sent, start)
            found.append(bytes(self.sent[start : start + 4 + size]))
            start += 4 + size
        return found


class Counted:
    """A dispatch that counts what was taken together."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.together = 0
        self.dispatch = dispatch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dispatch, name)

    def take(self, *args: Any) -> Any:
        taken = self.dispatch.take(*args)
        self.together += taken[1]
        return taken


def produce(
    number: int,
    value: bytes = b"v",
    *,
    version: int = 9,
    topic: str | bytes = "t",
    index: int = 0,
    acks: int = -1,
    sender: Sender = NOBODY,
    count: int = 1,
    transactional: bool = False,
    spoil: bool = False,
    timeout_ms: int = 30_000,
) -> bytes:
    records = build(
        [NewRecord(None, value)] * count,
        now_ms=NOW_MS + number,
        producer_id=sender.producer_id,
        producer_epoch=sender.epoch,
        base_sequence=sender.sequence,
        transactional=transactional,
    )
    if spoil:
        records[-1] ^= 1
    part = ProduceRequestPartitionData(index, records)
    named = (
        ProduceRequestTopicData(topic, partition_data=[part])
        if isinstance(topic, str)
        else ProduceRequestTopicData(topic_id=topic, partition_data=[part])
    )
    request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[named])
    return bytes(request_frame(RequestHeader(0, version, number, "client"), request))


async def story(
    frames: Callable[[Broker], list[bytes]],
    *,
    lanes: bool,
    native: bool = True,
    chunk: int = 1 << 30,
    configs: dict[str, str | None] | None = None,
    before: Callable[[SimDisk, Broker], None] = lambda disk, broker: None,
    config: GatewayConfig | None = None,
    between: Callable[[Broker], Awaitable[None]] | None = None,
    real: str | None = None,
) -> tuple[list[bytes], bytes, int]:
    """The replies to *frames*, what the log holds afterwards, and how many were taken together.

    On a simulated disk, or in the directory *real*, where native code writes by itself.
    """
    simulated = SimDisk(Random(1))
    disk: Disk = simulated if real is None else RealDisk(real)
    async with running(disk) as broker:
        await broker.create_topics(SESSION, [NewTopic("t", 2, configs=configs or {})])
        dispatch = Counted(Dispatch(broker, 10, Random(2), native=native))
        served = dispatch if lanes else FaultyDispatch(dispatch.dispatch, Faults())
        limits = config or GatewayConfig()
        connection = KafkaConnection(Door("test", lambda: limits), cast(Any, served), None)
        wire = Wire()
        connection.connection_made(cast(asyncio.Transport, wire))
        sent = frames(broker)
        data = b"".join(sent)
        before(simulated, broker)
        if between is not None:
            half = len(sent) // 2
            for each in sent[:half]:
                _feed(connection, each)
            await _answered(wire, half)
            await between(broker)
            data = b"".join(sent[half:])
        for start in range(0, len(data), chunk):
            _feed(connection, data[start : start + chunk])
        await _answered(wire, len(sent))
        simulated.capacity = None
        for hosted in broker.topics.of("t"):
            hosted.partition.log.failure = None
        log = b"".join(_all_of(hosted) for hosted in broker.topics.of("t"))
        return wire.replies(), log, dispatch.together


async def _answered(wire: Wire, count: int) -> None:
    for _ in range(12_000):
        if wire.closed or len(wire.replies()) == count:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{len(wire.replies())} of {count} replies in a minute")


def _all_of(hosted: Hosted) -> bytes:
    """What is in the partition, where it lies, and what is known of its producers."""
    partition = hosted.partition
    segments, producers = partition.log.segments, partition.log.producers
    told = [(each.base_offset, each.size_bytes, each.newest, each.known) for each in segments]
    read = repr((told, producers.known(), producers.described())).encode()
    offset = partition.log.start_offset
    while (found := partition.read(offset, 1 << 20)) is not None:
        read += found.read()
        offset = found.end_offset
    return read


def _feed(connection: KafkaConnection, data: bytes) -> None:
    while data:
        room = connection.get_buffer(-1)
        size = min(len(room), len(data))
        room[:size] = data[:size]
        connection.buffer_updated(size)
        data = data[size:]


def connected(broker: Broker, limits: GatewayConfig | None = None) -> tuple[KafkaConnection, Wire]:
    """A connection without native code, and its other end."""
    dispatch = Dispatch(broker, 10, Random(2), native=False)
    config = limits or GatewayConfig()
    connection, wire = KafkaConnection(Door("test", lambda: config), dispatch, None), Wire()
    connection.connection_made(cast(asyncio.Transport, wire))
    return connection, wire


def same(
    frames: Callable[[Broker], list[bytes]], *, at_least: int = 0, native: bool = True, **given: Any
) -> int:
    """Check that lanes change nothing but the pace; how many requests were taken together."""
    slow = asyncio.run(story(frames, lanes=False, **given))
    fast = asyncio.run(story(frames, lanes=True, native=native, **given))

    assert fast[0] == slow[0]
    assert fast[1] == slow[1]
    assert slow[2] == 0
    assert fast[2] >= at_least
    if native and "before" not in given:
        with TemporaryDirectory() as directory:
            real = asyncio.run(story(frames, lanes=True, real=directory, **given))
        assert real[:2] == slow[:2]
    return fast[2]


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("policy", ["os", "fsync"])
@pytest.mark.parametrize("version", [7, 8, 9, 12])
def test_replies_and_log_are_the_same(native: bool, policy: str, version: int) -> None:
    many = [produce(number, b"x" * number, version=version) for number in range(100)]

    taken = same(lambda broker: many, native=native, configs={"flush.policy": policy})

    assert taken == 99  # all but the one they were learnt from


@pytest.mark.parametrize("native", WAYS)
def test_topics_may_be_named_by_id(native: bool) -> None:
    def frames(broker: Broker) -> list[bytes]:
        raw = broker.topics.topic("t").id.bytes
        return [produce(number, version=13, topic=raw) for number in range(20)]

    fast = asyncio.run(story(frames, lanes=True, native=native))

    assert fast[2] == 19
    assert len(fast[0]) == 20


@pytest.mark.parametrize("chunk", [1, 7, 100, 173, 1000])
def test_frames_may_arrive_in_any_pieces(chunk: int) -> None:
    same(
        lambda broker: [produce(number) for number in range(40)], chunk=chunk, configs={"flush.policy": "os"}
    )


@pytest.mark.parametrize("chunk", [999, 20_000, 70_000])
def test_frames_of_any_size_may_arrive_in_any_pieces(chunk: int) -> None:
    many = [produce(number, b"x" * (number * 7919 % 90_000)) for number in range(40)]

    same(lambda broker: many, chunk=chunk, at_least=38, configs={"flush.policy": "os"})


@pytest.mark.parametrize("native", WAYS)
def test_whatever_comes_between_is_answered_in_its_turn(native: bool) -> None:
    metadata = bytes(request_frame(RequestHeader(3, 9, 77, "client"), MetadataRequest(topics=[])))
    between = [
        metadata,
        produce(50, spoil=True),
        produce(51, index=1),
        produce(52, index=9),
        produce(53, topic="none"),
        produce(54, sender=Sender(4, 0, 0)),
        produce(55, acks=1),
        produce(56, acks=2),
        produce(57, acks=2),
    ]
    frames: list[bytes] = []
    for number, other in enumerate(between):
        frames += [produce(number * 3), produce(number * 3 + 1), other, produce(number * 3 + 2)]

    same(lambda broker: frames, native=native, at_least=8, configs={"flush.policy": "os"})


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("policy", ["os", "fsync"])
@pytest.mark.parametrize("version", [7, 9, 12])
def test_requests_may_go_round_the_partitions(native: bool, policy: str, version: int) -> None:
    many = [produce(number, b"x" * number, version=version, index=number % 2) for number in range(60)]

    taken = same(lambda broker: many, native=native, configs={"flush.policy": policy})

    assert taken == 58  # all but the first of each partition


@pytest.mark.parametrize("native", WAYS)
def test_partitions_that_were_added_since_are_found(native: bool) -> None:
    async def add(broker: Broker) -> None:
        await broker.topics.grow("t", 3)

    half = [produce(number, index=number % 2) for number in range(10)]
    many = half + [produce(number, index=number % 3) for number in range(10, 20)]

    same(lambda broker: many, native=native, at_least=16, between=add, configs={"flush.policy": "os"})


@pytest.mark.parametrize("native", WAYS)
def test_acks_that_there_are_not_are_refused_each_time(native: bool) -> None:
    many = [produce(number, acks=2) for number in range(5)]

    assert same(lambda broker: many, native=native, configs={"flush.policy": "os"}) == 0


def counted(number: int, sequence: int, count: int = 1, **given: Any) -> bytes:
    return produce(number, b"x" * number, sender=Sender(4, 0, sequence), count=count, **given)


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("policy", ["os", "fsync"])
def test_a_producer_that_counts_is_taken_like_any_other(native: bool, policy: str) -> None:
    many = [counted(number, number // 2 * 3, 3, index=number % 2) for number in range(60)]

    taken = same(lambda broker: many, native=native, configs={"flush.policy": policy})

    assert taken == 58


def test_another_sender_takes_the_lane_over() -> None:
    many = [counted(number, number) for number in range(10)] + [produce(number) for number in range(10)]

    assert same(lambda broker: many, configs={"flush.policy": "os"}) == 18  # all but the first of each


def test_a_topic_that_was_made_anew_has_lanes_again() -> None:
    many = [produce(number) for number in range(20)]

    taken = same(lambda broker: many, between=_delete_and_create, configs={"flush.policy": "os"})

    assert taken == 18


@pytest.mark.parametrize("native", WAYS)
def test_what_a_producer_sends_again_is_answered_as_the_first_time(native: bool) -> None:
    first = [counted(number, number) for number in range(8)]
    again = [counted(number, number) for number in (3, 4, 5, 6, 7, 2)]  # the last is too long ago

    same(
        lambda broker: [*first, *again, counted(8, 8), counted(9, 9)],
        native=native,
        at_least=8,
        configs={"flush.policy": "os"},
    )


@pytest.mark.parametrize("native", WAYS)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1, 4, 4, 4, 5]),  # producer
            st.sampled_from([0, 0, 0, 0, 0, 1]),  # epochs beyond its own
            st.sampled_from([0, 0, 0, 0, 0, 0, -1, 1, -7]),  # sequences beyond the next
            st.sampled_from([0, 0, 0, 1]),  # partition
            st.integers(1, 3),  # records
        ),
        min_size=8,
        max_size=40,
    ),
    st.sampled_from([1 << 30, 700]),
)
def test_whatever_producers_do_lanes_change_nothing(
    native: bool, script: list[tuple[int, int, int, int, int]], chunk: int
) -> None:
    epochs, sequences = {4: 0, 5: 0}, dict.fromkeys(product((4, 5), (0, 1)), 0)
    frames = []
    for number, (id, newer, ahead, index, count) in enumerate(script):
        sender = NOBODY
        if id >= 0:
            if newer:
                epochs[id] += 1
                sequences[id, 0] = sequences[id, 1] = 0
            sequence = max(sequences[id, index] + ahead, 0)
            sequences[id, index] = max(sequences[id, index], sequence + count if ahead <= 0 else 0)
            sender = Sender(id, epochs[id], sequence)
        frames.append(produce(number, sender=sender, index=index, count=count))

    same(lambda broker: frames, native=native, chunk=chunk, configs={"flush.policy": "os"})


@pytest.mark.parametrize(
    "configs",
    [
        {"message.timestamp.type": "LogAppendTime"},
        {"compression.type": "gzip"},
        {"cleanup.policy": "compact"},
        {"message.timestamp.before.max.ms": "1000"},
        {"min.insync.replicas": "2"},
        {"max.message.bytes": "100"},
    ],
    ids=lambda configs: next(iter(configs)),
)
def test_a_topic_that_wants_each_batch_looked_at_gets_that(configs: dict[str, str | None]) -> None:
    taken = same(lambda broker: [produce(number, b"x" * 60) for number in range(9)], configs=configs)

    assert taken == 0


async def _roll(broker: Broker) -> None:
    assert broker.topics.hosted("t", 0).partition.log.roll_if_due(NOW_MS + 10**12)


async def _delete_records(broker: Broker) -> None:
    broker.topics.hosted("t", 0).partition.delete_before(3)


async def _write_beside(broker: Broker) -> None:
    broker.produce(SESSION, "t", 0, memoryview(bytearray(build([NewRecord(b"k", b"v")], now_ms=NOW_MS))), 1)


async def _cut_and_write(broker: Broker) -> None:
    """The log ends at the same offset as before, but not at the same place."""
    log = broker.topics.hosted("t", 0).partition.log
    end_offset = log.end_offset
    log.truncate(end_offset - 1)
    log.append(_stamped(b"much longer than what was there", end_offset - 1), NOW_MS)


def _stamped(value: bytes, offset: int) -> Batch:
    batch = Batch(memoryview(build([NewRecord(None, value)], now_ms=NOW_MS)))
    batch.stamp(offset, 0)
    return batch


async def _want_two_replicas(broker: Broker) -> None:
    log = broker.topics.hosted("t", 0).partition.log
    log.config = replace(log.config, min_insync_replicas=2)


async def _take_less(broker: Broker) -> None:
    log = broker.topics.hosted("t", 0).partition.log
    log.config = replace(log.config, max_message_bytes=90)


async def _stamp_times(broker: Broker) -> None:
    log = broker.topics.hosted("t", 0).partition.log
    log.config = replace(log.config, message_timestamp_type="LogAppendTime")


async def _go_offline(broker: Broker) -> None:
    broker.topics.hosted("t", 0).partition.log.failure = "its file is not what it was"


async def _fill_the_disk(broker: Broker) -> None:
    broker.store.space.is_full = True


async def _delete_topic(broker: Broker) -> None:
    await broker.delete_topic(SESSION, "t")


async def _delete_and_create(broker: Broker) -> None:
    await _delete_topic(broker)
    await broker.create_topics(SESSION, [NewTopic("t", 2, configs={"flush.policy": "os"})])


async def _cut(broker: Broker) -> None:
    broker.topics.hosted("t", 0).partition.log.truncate(5)


async def _forget_producers(broker: Broker) -> None:
    assert broker.topics.hosted("t", 0).partition.log.producers.expire(NOW_MS + 10**12, 1) == 1


async def _write_beside_as(
    broker: Broker, sender: Sender, *, count: int = 1, in_transaction: bool = False
) -> None:
    batch = build(
        [NewRecord(b"k", b"v")] * count,
        now_ms=NOW_MS,
        producer_id=sender.producer_id,
        producer_epoch=sender.epoch,
        base_sequence=sender.sequence,
        transactional=in_transaction,
    )
    broker.produce(SESSION, "t", 0, memoryview(bytearray(batch)), 1, in_transaction=in_transaction)


async def _write_in_a_later_epoch(broker: Broker) -> None:
    await _write_beside_as(broker, Sender(4, 1, 0), count=10)  # what comes next has the same number in both


async def _write_the_next(broker: Broker) -> None:
    await _write_beside_as(broker, Sender(4, 0, 10))


async def _open_a_transaction(broker: Broker) -> None:
    await _write_beside_as(broker, Sender(4, 0, 10), in_transaction=True)


PRODUCERS_CHANGE = [
    _cut,
    _forget_producers,
    _write_in_a_later_epoch,
    _write_the_next,
    _open_a_transaction,
]

CHANGES = [
    _roll,
    _delete_records,
    _write_beside,
    _cut_and_write,
    _want_two_replicas,
    _take_less,
    _stamp_times,
    _go_offline,
    _fill_the_disk,
    _delete_topic,
    _delete_and_create,
]


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_a_place_that_was_kept_is_given_up_when_it_is_no_longer_right(
    change: Callable[[Broker], Awaitable[None]], native: bool
) -> None:
    many = [produce(number, b"x" * (10 + 2 * number)) for number in range(20)]

    same(lambda broker: many, native=native, at_least=9, between=change, configs={"flush.policy": "os"})


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("change", CHANGES + PRODUCERS_CHANGE, ids=lambda change: change.__name__.strip("_"))
def test_what_a_producer_may_write_next_is_asked_for_anew(
    change: Callable[[Broker], Awaitable[None]], native: bool
) -> None:
    many = [counted(number, number) for number in range(20)]

    same(lambda broker: many, native=native, at_least=9, between=change, configs={"flush.policy": "os"})


@pytest.mark.parametrize("native", WAYS)
def test_a_producer_of_a_transaction_goes_the_long_way(native: bool) -> None:
    many = [counted(0, 0), counted(1, 1), counted(2, 2, transactional=True), counted(3, 2), counted(4, 3)]

    same(lambda broker: many, native=native, at_least=2, configs={"flush.policy": "os"})


@pytest.mark.parametrize("native", WAYS)
def test_large_batches_are_taken_too(native: bool) -> None:
    many = [produce(number, b"x" * (60_000 * (1 + number % 3))) for number in range(30)]

    taken = same(
        lambda broker: many,
        native=native,
        configs={"flush.policy": "os"},
        between=_write_beside,
    )

    assert taken == 29


def test_small_segments_are_rolled_as_ever() -> None:
    many = [produce(number, b"x" * 1000) for number in range(60)]

    same(lambda broker: many, at_least=20, configs={"segment.bytes": "16384", "flush.policy": "os"})


@pytest.mark.parametrize("counts", [False, True])
def test_a_disk_that_fills_up_refuses_each_that_it_has_no_room_for(counts: bool) -> None:
    """A run that does not fit is taken apart: what fits of it is kept, and the rest is told so."""

    def fill(disk: SimDisk, broker: Broker) -> None:
        disk.capacity = 1 << 30
        disk.capacity = disk.total_bytes() - disk.free_bytes() + 5000

    many = [
        produce(number, b"x" * 100, sender=Sender(4, 0, number) if counts else NOBODY) for number in range(60)
    ]
    same(lambda broker: many, configs={"flush.policy": "os"}, before=fill)


def test_no_more_are_under_way_than_may_be() -> None:
    config = GatewayConfig(max_in_flight=10)

    same(lambda broker: [produce(number) for number in range(100)], at_least=50, config=config)


def test_when_the_disk_fails_nobody_is_told_that_all_is_well() -> None:
    def fail(disk: SimDisk, broker: Broker) -> None:
        disk.failing_syncs = 1

    with pytest.raises(OSError):  # the goodbye fails too, as it must
        asyncio.run(story(lambda broker: [produce(number) for number in range(5)], lanes=True, before=fail))


def test_who_waits_for_a_sync_is_told_once_that_it_takes_too_long() -> None:
    async def tell() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            connection, wire = connected(broker)
            hosted = broker.topics.hosted("t", 0)

            def send(first: int, count: int) -> None:
                for number in range(first, first + count):
                    _feed(connection, produce(number, version=7, timeout_ms=40))

            send(0, 3)
            await _answered(wire, 3)
            hosted.syncing = True  # for all we know a sync is under way, and it does not end
            send(3, 2)
            await asyncio.sleep(0.02)
            send(5, 1)
            await _answered(wire, 6)
            hosted.syncing = False
            broker._commit.sync(hosted)
            send(6, 2)
            await _answered(wire, 8)
            await asyncio.sleep(0.1)

            found = [ProduceResponse.read(Reader(memoryview(each)[8:]), 7) for each in wire.replies()]
            codes = [each.responses[0].partition_responses[0].error_code for each in found]
            late = ErrorCode.REQUEST_TIMED_OUT
            assert codes == [0, 0, 0, late, late, late, 0, 0]
            assert hosted.partition.high_watermark == 8  # written all the same

    asyncio.run(tell())


def test_nothing_is_kept_of_a_client_that_has_gone_however_patient_it_was() -> None:
    async def tell() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            connection, wire = connected(broker)
            for number in range(3):
                _feed(connection, produce(number, timeout_ms=(1 << 31) - 1))
                await _answered(wire, number + 1)
            lane = connection._lane
            assert lane is not None
            assert not lane.patience.is_over
            connection.connection_lost(None)
            async with asyncio.timeout(30):
                while not lane.patience.is_over:  # noqa: ASYNC110  # of what is no longer kept nobody is told
                    await asyncio.sleep(0.1)

    asyncio.run(tell())


def test_requests_that_were_taken_together_do_not_count_once_they_are_answered() -> None:
    async def tell() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            connection, wire = connected(broker)
            for burst in range(5):
                syncs = broker._commit.syncs
                _feed(connection, b"".join(produce(number) for number in range(400)))
                await _answered(wire, 400 * (burst + 1))
                assert broker._commit.syncs - syncs <= 3  # else each has waited for the one before

    asyncio.run(tell())


def test_however_many_requests_were_held_back_each_sync_has_a_turn_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = commit._timed
    monkeypatch.setattr(commit, "_timed", lambda sync: (1.0, timed(sync)[1]))  # so quick that the loop syncs

    async def tell() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            connection, wire = connected(broker, GatewayConfig(max_in_flight=1))
            _feed(connection, b"".join(produce(number) for number in range(1000)))
            await _answered(wire, 1000)
            assert len(wire.replies()) == 1000
            assert not wire.closed

    asyncio.run(tell())


def test_clients_that_send_alike_share_what_was_learnt_and_little_is_kept() -> None:
    async def tell() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            dispatch = Dispatch(broker, 10, Random(2))

            def learnt(frame: bytes) -> Alike:
                view = memoryview(frame)[4:]
                lane = dispatch.learn(view, dispatch.read(view), None)
                assert lane is not None
                return lane.alike

            first = learnt(produce(1))
            assert learnt(produce(2, b"another", index=1)) is first
            assert learnt(produce(3, acks=1)) is not first
            assert learnt(produce(4, version=8)) is not first
            for timeout_ms in range(1000):
                learnt(produce(5, timeout_ms=timeout_ms))
            assert len(dispatch._lanes._known) <= 64
            assert learnt(produce(6, topic="long" * 1000)) is not learnt(produce(6, topic="long" * 1000))

    asyncio.run(tell())
