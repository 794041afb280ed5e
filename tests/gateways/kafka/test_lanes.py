"""Requests handled together: nobody can tell from the replies, nor from the log."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest
from tests.broker.support import NOW_MS, SESSION, running

from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.broker.waiting import Hosted
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.gateways.kafka.faults import Faults, FaultyDispatch
from millstream.records.batch import Batch
from millstream.records.build import NewRecord, build
from millstream.records.runs import NATIVE
from millstream.sim.disk import SimDisk
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.metadata import MetadataRequest
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
)

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
    producer_id: int = -1,
    spoil: bool = False,
) -> bytes:
    counts = producer_id >= 0
    records = build(
        [NewRecord(None, value)],
        now_ms=NOW_MS + number,
        producer_id=producer_id,
        producer_epoch=0 if counts else -1,
        base_sequence=0 if counts else -1,
    )
    if spoil:
        records[-1] ^= 1
    part = ProduceRequestPartitionData(index, records)
    named = (
        ProduceRequestTopicData(topic, partition_data=[part])
        if isinstance(topic, str)
        else ProduceRequestTopicData(topic_id=topic, partition_data=[part])
    )
    request = ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[named])
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
) -> tuple[list[bytes], bytes, int]:
    """The replies to *frames*, what the log holds afterwards, and how many were taken together."""
    disk = SimDisk(Random(1))
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
        before(disk, broker)
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
        disk.capacity = None
        for hosted in broker.topics.of("t"):
            hosted.partition.log.failure = None
        log = b"".join(_all_of(hosted) for hosted in broker.topics.of("t"))
        return wire.replies(), log, dispatch.together


async def _answered(wire: Wire, count: int) -> None:
    for _ in range(2000):
        if wire.closed or len(wire.replies()) == count:
            break
        await asyncio.sleep(0.005)


def _all_of(hosted: Hosted) -> bytes:
    """What is in the partition, and where it lies."""
    partition = hosted.partition
    segments = partition.log.segments
    read = repr([(each.base_offset, each.size_bytes, each.newest, each.known) for each in segments]).encode()
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


@pytest.mark.parametrize("native", WAYS)
def test_whatever_comes_between_is_answered_in_its_turn(native: bool) -> None:
    metadata = bytes(request_frame(RequestHeader(3, 9, 77, "client"), MetadataRequest(topics=[])))
    between = [
        metadata,
        produce(50, spoil=True),
        produce(51, index=1),
        produce(52, index=9),
        produce(53, topic="none"),
        produce(54, producer_id=4),
        produce(55, acks=1),
    ]
    frames: list[bytes] = []
    for number, other in enumerate(between):
        frames += [produce(number * 3), produce(number * 3 + 1), other, produce(number * 3 + 2)]

    same(lambda broker: frames, native=native, at_least=8, configs={"flush.policy": "os"})


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


def test_small_segments_are_rolled_as_ever() -> None:
    many = [produce(number, b"x" * 1000) for number in range(60)]

    same(lambda broker: many, at_least=20, configs={"segment.bytes": "16384", "flush.policy": "os"})


def test_a_disk_that_fills_up_refuses_each_that_it_has_no_room_for() -> None:
    """A run that does not fit is taken apart: what fits of it is kept, and the rest is told so."""

    def fill(disk: SimDisk, broker: Broker) -> None:
        disk.capacity = 1 << 30
        disk.capacity = disk.total_bytes() - disk.free_bytes() + 5000

    same(
        lambda broker: [produce(number, b"x" * 100) for number in range(60)],
        configs={"flush.policy": "os"},
        before=fill,
    )


def test_no_more_are_under_way_than_may_be() -> None:
    config = GatewayConfig(max_in_flight=10)

    same(lambda broker: [produce(number) for number in range(100)], at_least=50, config=config)


def test_when_the_disk_fails_nobody_is_told_that_all_is_well() -> None:
    def fail(disk: SimDisk, broker: Broker) -> None:
        disk.failing_syncs = 1

    with pytest.raises(OSError):  # the goodbye fails too, as it must
        asyncio.run(story(lambda broker: [produce(number) for number in range(5)], lanes=True, before=fail))
