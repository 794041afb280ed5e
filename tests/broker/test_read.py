"""Records out: decoded, committed only, with what no consumer should see stepped over."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.support import NOW_MS, SESSION, FixedClock, running
from tests.storage.helpers import open_log, open_store, sim_disk

from millstream.broker.broker import Broker
from millstream.broker.read import Lately
from millstream.broker.topics import NewTopic
from millstream.errors import ErrorCode, Refused
from millstream.records.batch import HEADER_SIZE
from millstream.records.build import NewRecord, build, seal
from millstream.records.compression import Codec
from millstream.records.control import Marker
from millstream.records.expiry import TTL_HEADER
from millstream.records.read import Record
from millstream.sim.disk import SimDisk
from millstream.sim.loop import SimLoop


def run(story: Coroutine[Any, Any, None]) -> None:
    SimLoop(0).run_until_complete(story)


async def topic(broker: Broker, name: str = "orders", partitions: int = 1) -> None:
    await broker.create_topics(SESSION, [NewTopic(name, partitions)])


async def produce(broker: Broker, *values: bytes, codec: Codec = Codec.NONE) -> None:
    records = build([NewRecord(b"k", value) for value in values], codec=codec, now_ms=NOW_MS)
    safe = broker.produce(SESSION, "orders", 0, memoryview(records), -1).safe
    if safe is not None:
        await safe


@settings(max_examples=40, deadline=None)
@given(
    written=st.lists(
        st.tuples(st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.sampled_from(list(Codec))),
        min_size=1,
        max_size=6,
    ),
    max_records=st.integers(1, 10),
    max_bytes=st.integers(1, 200),
)
def test_reading_on_from_the_next_offset_finds_every_record_once(
    written: list[tuple[list[bytes], Codec]], max_records: int, max_bytes: int
) -> None:
    """However records were batched and packed, and however few are asked for at a time."""

    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            for values, codec in written:
                await produce(broker, *values, codec=codec)
            seen = []
            offset = 0
            while True:
                found = await broker.read(
                    SESSION, "orders", 0, offset, max_records=max_records, max_bytes=max_bytes
                )
                assert len(found.records) <= max_records
                assert sum(len(each.value or b"") for each in found.records[:-1]) <= max_bytes
                if not found.records:
                    break
                seen += [(record.offset, record.value) for record in found.records]
                offset = found.next_offset
            everything = [value for values, _ in written for value in values]
            assert seen == list(enumerate(everything))
            assert offset == len(everything) == found.high_watermark

    run(story())


def test_control_batches_and_nonsense_are_stepped_over() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            hosted = broker.topics.hosted("orders", 0)
            await produce(broker, b"first")
            broker._produce.append_own(
                hosted,
                build([NewRecord(bytes(4), bytes(6))], now_ms=NOW_MS, transactional=True, control=True),
            )
            nonsense = build([NewRecord(b"k", b"v")], now_ms=NOW_MS)
            nonsense[HEADER_SIZE + 1 :] = b"\xff" * 20
            seal(nonsense, 0, -1)
            broker.produce(SESSION, "orders", 0, memoryview(nonsense), -1)
            await produce(broker, b"last")

            found = await broker.read(SESSION, "orders", 0, 0, max_records=10)
            assert [(each.offset, each.value) for each in found.records] == [(0, b"first"), (3, b"last")]
            found = await broker.read(SESSION, "orders", 0, 1, max_records=1, max_bytes=1)
            assert [each.offset for each in found.records] == [3]
            assert found.next_offset == 4
            assert broker.reads.unreadable

    run(story())


def transact(broker: Broker, producer_id: int, sequence: int, *values: bytes) -> None:
    records = build(
        [NewRecord(b"k", value) for value in values],
        now_ms=NOW_MS,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )
    hosted = broker.topics.hosted("orders", 0)
    broker._produce.append_own(hosted, records)


def test_transactions_are_seen_when_they_are_decided_and_not_if_they_were_aborted() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            hosted = broker.topics.hosted("orders", 0)
            transact(broker, 1, 0, b"good 1")
            transact(broker, 2, 0, b"bad 1", b"bad 2")
            await produce(broker, b"plain")
            assert (await broker.read(SESSION, "orders", 0, 0, max_records=9)).records == []
            transact(broker, 1, 1, b"good 2")
            broker._produce.append_marker(hosted, Marker.ABORT, 2, 0, 0)
            waiting = asyncio.ensure_future(
                broker.read(SESSION, "orders", 0, 0, max_records=9, max_wait_ms=5000)
            )
            await asyncio.sleep(1)
            assert not waiting.done()
            broker._produce.append_marker(hosted, Marker.COMMIT, 1, 0, 0)
            found = await waiting
            assert [each.value for each in found.records] == [b"good 1", b"plain", b"good 2"]
            assert found.next_offset == 7
            one = await broker.read(SESSION, "orders", 0, 1, max_records=1)
            assert [each.value for each in one.records] == [b"plain"]
            transact(broker, 2, 2, b"good 3")
            broker._produce.append_marker(hosted, Marker.COMMIT, 2, 0, 0)
            last = await broker.read(SESSION, "orders", 0, 7, max_records=9, max_wait_ms=100)
            assert [each.value for each in last.records] == [b"good 3"]

    run(story())


def test_records_past_their_time_are_stepped_over_and_reading_goes_on_behind_them() -> None:
    async def story() -> None:
        clock = FixedClock()
        async with running(SimDisk(Random(1)), clock=clock) as broker:
            await topic(broker)
            for number in range(4000):
                ttl = ((TTL_HEADER, b"1000"),) if number < 3999 else ()
                broker.write(SESSION, "orders", [NewRecord(None, bytes(1000), ttl)])
            found = await broker.read(SESSION, "orders", 0, 0, max_records=1, max_wait_ms=1000)
            assert [each.offset for each in found.records] == [0]
            clock.time_ms += 1000
            found = await broker.read(SESSION, "orders", 0, 0, max_records=5, max_bytes=10_000)
            assert [each.offset for each in found.records] == [3999]
            assert found.next_offset == 4000

    run(story())


def test_a_long_poll_ends_with_the_first_record_or_with_its_time() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            began = loop.time()
            found = await broker.read(SESSION, "orders", 0, 0, max_records=1, max_wait_ms=500)
            assert found.records == []
            assert found.next_offset == 0
            assert 0.499 < loop.time() - began < 0.6

            waiting = asyncio.ensure_future(
                broker.read(SESSION, "orders", 0, 0, max_records=1, max_wait_ms=50_000)
            )
            await asyncio.sleep(1)
            await produce(broker, b"here")
            found = await asyncio.wait_for(waiting, 60)
            assert [each.value for each in found.records] == [b"here"]

    run(story())


def test_a_read_that_waits_when_the_broker_stops_is_answered() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            waiting = asyncio.ensure_future(
                broker.read(SESSION, "orders", 0, 0, max_records=1, max_wait_ms=50_000)
            )
            await asyncio.sleep(1)
        assert (await asyncio.wait_for(waiting, 60)).records == []

    run(story())


@pytest.mark.parametrize(
    ("name", "index", "offset", "code"),
    [
        ("nowhere", 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 7, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", -1, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 0, 99, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("orders", 0, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_what_is_not_there_is_refused(name: str, index: int, offset: int, code: ErrorCode) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            await produce(broker, b"1")
            with pytest.raises(Refused) as refused:
                await broker.read(SESSION, name, index, offset, max_records=1)
            assert refused.value.code is code

    run(story())


def test_records_taken_one_by_one_are_unpacked_once() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            await produce(broker, *[b"%d" % n for n in range(100)])
            for offset in range(100):
                (record,) = (await broker.read(SESSION, "orders", 0, offset, max_records=1)).records
                assert record.value == b"%d" % offset
            assert broker.reads.unpacked == 1

    run(story())


def test_what_is_kept_of_unpacked_batches_is_bounded() -> None:
    lately = Lately(max_records=10, max_bytes=1000)
    logs = [open_log(open_store(sim_disk())) for _ in range(2)]
    batches = [[Record(n, 0, None, bytes(100))] * 4 for n in range(4)]
    lately.keep((logs[0], 0, 0), batches[0])
    lately.keep((logs[1], 0, 0), batches[1])
    assert lately.get((logs[0], 0, 0)) is batches[0]
    lately.keep((logs[0], 4, 0), batches[2])
    assert lately.get((logs[1], 0, 0)) is None
    assert lately.get((logs[0], 0, 0)) is batches[0]
    lately.keep((logs[0], 8, 0), [Record(8, 0, None, bytes(2000))] * 2)
    assert lately.get((logs[0], 8, 0)) is None
    lately.keep((logs[0], 9, 0), [Record(8, 0, None, bytes(90))] * 10)
    assert lately.get((logs[0], 0, 0)) is None


def test_a_large_packed_batch_is_read_as_any_other() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await topic(broker)
            value = Random(1).randbytes(200_000)
            await produce(broker, value, codec=Codec.ZSTD)
            found = await broker.read(SESSION, "orders", 0, 0, max_records=1)
            assert found.records[0].value == value

    asyncio.run(story())


def test_offsets_of_a_group_without_members_are_kafkas_and_outlive_the_broker() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with running(disk) as broker:
            await topic(broker)
            assert await broker.committed_offsets(SESSION, "desk") == {}
            await broker.commit_offsets(SESSION, "desk", {("orders", 0): 5})
            await broker.commit_offsets(SESSION, "desk", {("orders", 0): 7}, forever=True)
            with pytest.raises(Refused) as refused:
                await broker.commit_offsets(SESSION, "desk", {("orders", 3): 7})
            assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        disk.crash()
        async with running(disk) as broker:
            assert await broker.committed_offsets(SESSION, "desk") == {("orders", 0): 7}
            assert await broker.committed_offsets(SESSION, "desk", [("orders", 1)]) == {}
            assert [listing.name for listing in broker.groups.listed()] == ["desk"]

    run(story())
