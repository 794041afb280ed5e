"""Fetches that repeat the last: nobody can tell from the replies."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, cast

import pytest
from tests.broker.support import NOW_MS, SESSION, batch, running
from tests.gateways.kafka.test_lanes import Wire, _answered, _feed
from tests.storage.helpers import NOW, make_batch

from millstream.broker.broker import Broker
from millstream.broker.fetch import Found
from millstream.broker.topics import NewTopic
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch, Request
from millstream.gateways.kafka.faults import Faults, FaultyDispatch
from millstream.gateways.kafka.refrain import Again, Refrain, Repeated, learn
from millstream.records.control import Marker
from millstream.sim.disk import SimDisk
from millstream.wire.apis import RequestHeader, write_response_header
from millstream.wire.frame import request_frame
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)

VERSIONS = range(FetchRequest.MIN_VERSION, FetchRequest.MAX_VERSION + 1)


class Counted:
    """A dispatch that counts what was learned and what was repeated."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.learned = 0
        self.repeated = 0
        self.dispatch = dispatch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dispatch, name)

    def learn_fetch(self, frame: memoryview, request: Request) -> Refrain | None:
        self.learned += 1
        return self.dispatch.learn_fetch(frame, request)

    def repeat(self, frame: memoryview, refrain: Refrain) -> Request | None:
        request = self.dispatch.repeat(frame, refrain)
        self.repeated += request is not None
        return request


def fetch(
    number: int,
    offset: int,
    *,
    version: int = 11,
    topic: str | bytes = "t",
    index: int = 0,
    wait_ms: int = 0,
    max_bytes: int = 1 << 20,
    epoch: int = -1,
    last_epoch: int = -1,
    isolation: int = 0,
    session: tuple[int, int] = (0, -1),
    client_id: str | None = "client",
) -> bytes:
    part = FetchRequestPartition(index, epoch, offset, last_epoch, -1, max_bytes)
    named = (
        FetchRequestTopic(topic, partitions=[part])
        if isinstance(topic, str)
        else FetchRequestTopic(topic_id=topic, partitions=[part])
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[named],
    )
    return bytes(request_frame(RequestHeader(1, version, number, client_id), request))


async def story(
    frames: Callable[[Broker], list[bytes]],
    *,
    refrains: bool,
    between: Callable[[Broker], Awaitable[None]] | None = None,
) -> tuple[list[bytes], Counted]:
    """The replies to *frames*, the second half of which is sent after *between*."""
    async with running(SimDisk(Random(1))) as broker:
        await broker.create_topics(SESSION, [NewTopic("t", 2), NewTopic("u", 1)])
        partition = broker.topics.hosted("t", 0).partition
        for number in range(4):
            partition.append(batch(b"v" * number * 50), NOW_MS)
        partition.append(batch(b"aborted", producer_id=5, sequence=0), NOW_MS)
        log = partition.log
        sync = log.unsynced()
        assert sync is not None
        sync.run()
        log.synced(sync)
        partition.commit()
        dispatch = Counted(Dispatch(broker, 10, Random(2)))
        served = dispatch if refrains else FaultyDispatch(dispatch.dispatch, Faults())
        connection = KafkaConnection(Door("test", GatewayConfig), cast(Any, served), None)
        wire = Wire()
        connection.connection_made(cast(asyncio.Transport, wire))
        sent = frames(broker)
        half = len(sent) // 2 if between is not None else len(sent)
        _feed(connection, b"".join(sent[:half]))
        await _answered(wire, half)
        if between is not None:
            await between(broker)
            _feed(connection, b"".join(sent[half:]))
            await _answered(wire, len(sent))
        return wire.replies(), dispatch


def same(frames: Callable[[Broker], list[bytes]], **given: Any) -> Counted:
    slow, _ = asyncio.run(story(frames, refrains=False, **given))
    fast, counted = asyncio.run(story(frames, refrains=True, **given))
    assert fast == slow
    assert len(slow) >= 2
    return counted


def id_of(broker: Broker, name: str) -> bytes:
    return broker.topics.image.topics[name].id.bytes


@pytest.mark.parametrize("isolation", [0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_answers_as_it_did(version: int, isolation: int) -> None:
    """With records, at the end, beyond it, and from a leader who is none."""

    def frames(broker: Broker) -> list[bytes]:
        topic = id_of(broker, "t") if version >= 13 else "t"
        offsets = [0, 1, 3, 0, 5, 4, 99, -7, 2, 5]
        return [
            fetch(number, offset, version=version, topic=topic, isolation=isolation)
            for number, offset in enumerate(offsets)
        ]

    counted = same(frames)
    assert counted.repeated == (9 if version >= 5 else 0)


@pytest.mark.parametrize(
    "change",
    [
        {"index": 1},
        {"topic": "u"},
        {"max_bytes": 1},
        {"epoch": 0},
        {"epoch": 7},
        {"isolation": 1},
        {"version": 10},
        {"session": (0, 0)},
        {"client_id": "tneilc"},
        {"client_id": None},
    ],
)
def test_whatever_else_changes_is_heeded(change: dict[str, Any]) -> None:
    def frames(broker: Broker) -> list[bytes]:
        return [fetch(1, 0), fetch(2, 1), fetch(3, 1, **change), fetch(4, 2, **change), fetch(5, 3)]

    same(frames)


@pytest.mark.parametrize("version", [12, 16])
def test_a_log_that_left_ours_is_told_where(version: int) -> None:
    def frames(broker: Broker) -> list[bytes]:
        topic = id_of(broker, "t") if version >= 13 else "t"
        return [fetch(number, 7, version=version, topic=topic, last_epoch=0) for number in range(4)]

    assert same(frames).repeated == 3


def test_who_waits_is_answered_when_something_comes() -> None:
    async def write_soon(broker: Broker) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.02, broker.produce, SESSION, "t", 1, batch(b"new"), 1)

    def frames(broker: Broker) -> list[bytes]:
        return [fetch(number, 0, index=1, wait_ms=500) for number in range(2)]

    assert same(frames, between=write_soon).repeated == 1


@pytest.mark.parametrize("version", [11, 16])
def test_a_topic_that_goes_is_gone(version: int) -> None:
    async def delete(broker: Broker) -> None:
        await broker.delete_topic(SESSION, "t")

    def frames(broker: Broker) -> list[bytes]:
        topic = id_of(broker, "t") if version >= 13 else "t"
        return [fetch(number, 0, version=version, topic=topic) for number in range(4)]

    assert same(frames, between=delete).repeated == 3


def test_aborted_transactions_are_told() -> None:
    async def abort(broker: Broker) -> None:
        hosted = broker.topics.hosted("t", 1)
        made = make_batch(0, producer=(7, 0, 0), transactional=True)
        hosted.partition.append(made.data, NOW)
        hosted.partition.append_marker(Marker.ABORT, 7, 0, 0, NOW)
        sync = hosted.partition.log.unsynced()
        assert sync is not None
        sync.run()
        hosted.partition.log.synced(sync)
        hosted.committed()

    def frames(broker: Broker) -> list[bytes]:
        return [fetch(number, 0, index=1, isolation=1) for number in range(4)]

    assert same(frames, between=abort).repeated == 3


def test_who_never_asks_the_same_again_is_not_studied_for_ever() -> None:
    def frames(broker: Broker) -> list[bytes]:
        return [fetch(number, 0, max_bytes=1000 + number) for number in range(50)]

    counted = same(frames)
    assert counted.repeated == 0
    assert counted.learned < 10


def test_one_that_is_written_in_another_way_is_not_learned() -> None:
    frame = memoryview(fetch(1, 0, version=12))[4:]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchRequestTopic("t", partitions=[FetchRequestPartition(0, -1, 0, -1, -1, 1 << 20)])],
    )
    assert isinstance(learn(frame, 12, "client", request), Refrain)
    longer = memoryview(frame.tobytes()[:-1] + b"\x01\x63\x00")  # a tag that nobody knows
    assert learn(longer, 12, "client", request) is None


def test_what_is_learned_is_found_in_the_frame() -> None:
    for version in range(5, 13):
        frame = memoryview(fetch(1, 5, version=version))[4:]
        part = FetchRequestPartition(0, -1, 5, -1, -1, 1 << 20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[FetchRequestTopic("t", partitions=[part])]
        )
        refrain = learn(frame, version, "client", request)
        assert refrain is not None
        again = refrain.match(memoryview(fetch(77, 1 << 40, version=version))[4:])
        assert isinstance(again, Again)
        assert (again.offset, refrain.header.correlation_id, part.fetch_offset) == (1 << 40, 77, 5)
        for place in set(range(len(frame))) - set(range(4, 8)):
            changed = bytearray(frame)
            changed[place] ^= 1
            found = refrain.match(memoryview(changed))
            assert found is None or found.offset != 5


@pytest.mark.parametrize("version", range(5, FetchRequest.MAX_VERSION + 1))
def test_who_must_slow_down_is_told(version: int) -> None:
    id = bytes(range(16))
    topic = "" if version >= 13 else "t"
    part = FetchRequestPartition(0, -1, 5, -1, -1, 1 << 20)
    named = FetchRequestTopic(topic, id if version >= 13 else bytes(16), [part])
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[named])
    frame = memoryview(fetch(1, 5, version=version, topic=id if version >= 13 else "t"))[4:]
    refrain = learn(frame, version, "client", request)
    assert refrain is not None
    repeated = Repeated(refrain, Found(high_watermark=1, last_stable_offset=2, start_offset=3))
    repeated.throttle_time_ms = 1234

    told = FetchResponsePartition(0, 0, 1, 2, 3, aborted_transactions=None, records=b"")
    response = FetchResponse(1234, responses=[FetchResponseTopic(named.topic, named.topic_id, [told])])
    expected = bytearray(4)
    write_response_header(expected, 1, version, 9)
    response.write(expected, version)
    expected[:4] = (len(expected) - 4).to_bytes(4, "big")
    assert b"".join(bytes(cast(bytes, piece)) for piece in refrain.pieces(repeated, 9)) == expected
