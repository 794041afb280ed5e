"""Fetches that wait, many of one client: what they keep in memory has a limit, and all are answered."""

import asyncio
import struct
from random import Random

from tests.broker.support import SESSION, batch, running
from tests.gateways.kafka.test_lanes import _answered, _feed, connected

from millstream.broker.topics import NewTopic
from millstream.sim.disk import SimDisk
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.fetch import FetchRequest, FetchRequestPartition, FetchRequestTopic


def fetch(number: int, partitions: int) -> bytes:
    parts = [FetchRequestPartition(0, fetch_offset=0, partition_max_bytes=100) for _ in range(partitions)]
    topic = FetchRequestTopic(topic="t", partitions=parts)
    request = FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1000, session_epoch=-1, topics=[topic])
    return bytes(request_frame(RequestHeader(1, 11, number, "client"), request))


def test_those_that_ask_much_are_begun_a_few_at_a_time() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            connection, wire = connected(broker)
            frames = [fetch(number, 2000) for number in range(20)]
            sent = 0
            while connection._reading:  # as a transport does
                _feed(connection, frames[sent])
                sent += 1
            assert len(connection._replies) == 6
            assert sent == 7  # the last is held
            broker.produce(SESSION, "t", 0, batch(), -1)
            await _answered(wire, sent)
            for frame in frames[sent:]:
                _feed(connection, frame)
            await _answered(wire, 20)
            numbers = [struct.unpack_from(">i", reply, 4)[0] for reply in wire.replies()]
            assert numbers == list(range(20))
            assert not connection.busy

    asyncio.run(story())


def test_those_that_ask_little_may_be_many() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            connection, wire = connected(broker)
            _feed(connection, b"".join(fetch(number, 1) for number in range(500)))
            assert len(connection._replies) == 500
            assert not connection.busy
            broker.produce(SESSION, "t", 0, batch(), -1)
            await _answered(wire, 500)

    asyncio.run(story())
