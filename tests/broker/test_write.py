"""Records in: gathered into batches, placed as their keys say, and told of once they are safe."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.support import NOW_MS, SESSION, running

from millstream.broker import write
from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.broker.write import Placed
from millstream.errors import ErrorCode, Refused
from millstream.records.build import NewRecord
from millstream.records.keys import partition_of_key
from millstream.records.read import Record
from millstream.sim.disk import SimDisk
from millstream.sim.loop import SimLoop


def run(story: Coroutine[Any, Any, None]) -> None:
    SimLoop(0).run_until_complete(story)


async def everything(broker: Broker, topic: str, partition: int) -> list[Record]:
    found = await broker.read(SESSION, topic, partition, 0, max_records=10_000, max_bytes=1 << 30)
    return found.records


def batches(broker: Broker) -> int:
    return broker._produce.batches


def test_what_comes_in_one_turn_is_one_batch_and_each_caller_learns_its_own_place() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            calls = [broker.write(SESSION, "orders", [NewRecord(b"k", b"%d" % n)]) for n in range(20)]
            assert broker.writes.buffered_records == 20
            assert broker.topics.hosted("orders", 0).partition.high_watermark == 0

            places = await asyncio.gather(*calls)
            assert places == [[Placed(0, n, NOW_MS)] for n in range(20)]
            assert batches(broker) == 1
            assert (broker.writes.buffered_records, broker.writes.buffered_bytes) == (0, 0)
            assert [record.value for record in await everything(broker, "orders", 0)] == [
                b"%d" % n for n in range(20)
            ]

    run(story())


def test_nothing_is_told_before_it_is_synced() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with running(disk) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            await broker.write(SESSION, "orders", [NewRecord(None, b"0")])
            disk.failing_syncs = 1
            with pytest.raises(Refused) as refused:
                await broker.write(SESSION, "orders", [NewRecord(None, b"1")])
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            assert broker.writes.buffered_bytes == 0
            with pytest.raises(Refused):
                broker.write(SESSION, "orders", [NewRecord(None, b"2")])
            broker.store.close = broker.store.release  # type: ignore[method-assign]

    run(story())


def test_keys_go_where_kafka_puts_them_and_the_keyless_take_turns_by_topic() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("a", 4), NewTopic("b", 4)])
            keys = [b"%d" % n for n in range(30)]
            placed = await broker.write(SESSION, "a", [NewRecord(key, b"") for key in keys])
            assert [each.partition for each in placed] == [partition_of_key(key, 4) for key in keys]

            turns: dict[str, list[int]] = {"a": [], "b": []}
            for topic in "abababab":
                (one,) = await broker.write(SESSION, topic, [NewRecord(None, b"")])
                turns[topic].append(one.partition)
            assert turns == {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}

            (given,) = await broker.write(SESSION, "a", [NewRecord(b"1", b"")], partition=3)
            assert given.partition == 3

    run(story())


@settings(max_examples=40, deadline=None)
@given(
    turns=st.lists(
        st.lists(
            st.lists(st.sampled_from(["good", "large", "keyless", "vast", "old"]), max_size=4), max_size=6
        ),
        max_size=4,
    )
)
def test_a_bad_record_spoils_its_own_call_and_no_other(turns: list[list[list[str]]]) -> None:
    """Whoever came in with it, a call of good records is written whole, and in its order."""
    kinds = {
        "good": NewRecord(b"k", b"good"),
        "large": NewRecord(b"k", bytes(700)),
        "keyless": NewRecord(None, b""),
        "vast": NewRecord(b"k", bytes(2000)),
        "old": NewRecord(b"k", b"old", (), 1),
    }
    bad = {"keyless", "vast", "old"}

    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            configs = {
                "cleanup.policy": "compact",
                "max.message.bytes": "1000",
                "message.timestamp.before.max.ms": "1000",
            }
            await broker.create_topics(SESSION, [NewTopic("orders", 1, configs=configs)])
            written: list[tuple[int, bytes | None]] = []
            for turn in turns:
                calls = [outcome(broker, [kinds[name] for name in names]) for names in turn]
                for names, (code, placed) in zip(turn, await asyncio.gather(*calls), strict=True):
                    assert (code is not ErrorCode.NONE) == bool(bad & set(names))
                    written += [
                        (each.offset, kinds[name].value) for name, each in zip(names, placed, strict=False)
                    ]
            found = {record.offset: record.value for record in await everything(broker, "orders", 0)}
            assert set(written) <= set(found.items())
            await asyncio.sleep(60)
            assert broker.writes.buffered_bytes == broker.writes.buffered_records == 0

    run(story())


async def outcome(broker: Broker, records: list[NewRecord]) -> tuple[ErrorCode, list[Placed]]:
    try:
        return ErrorCode.NONE, await broker.write(SESSION, "orders", records)
    except Refused as refusal:
        return refusal.code, []


def test_more_than_a_batch_holds_becomes_several() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(
                SESSION, [NewTopic("orders", 1, configs={"max.message.bytes": "10000"})]
            )
            records = [NewRecord(None, bytes(1000)) for _ in range(50)]
            placed = await broker.write(SESSION, "orders", records)
            assert [each.offset for each in placed] == list(range(50))
            assert 5 < batches(broker) <= 8

    run(story())


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (NewRecord(None, b"", (("\ud800", b""),)), ErrorCode.INVALID_RECORD),
        (NewRecord(None, b"", (), -1), ErrorCode.INVALID_TIMESTAMP),
        (NewRecord(None, b"", (), 1 << 63), ErrorCode.INVALID_TIMESTAMP),
        (NewRecord(None, bytes(1_100_000)), ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_what_can_be_no_record_is_refused_at_once(record: NewRecord, code: ErrorCode) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            with pytest.raises(Refused) as refused:
                broker.write(SESSION, "orders", [NewRecord(None, b"good"), record])
            assert refused.value.code is code
            assert broker.writes.buffered_records == 0

    run(story())


def test_the_largest_record_that_fits_is_taken() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(
                SESSION, [NewTopic("orders", 1, configs={"max.message.bytes": "10000"})]
            )
            sizes = range(9_800, 10_000)
            codes = [(await outcome(broker, [NewRecord(None, bytes(size))]))[0] for size in sizes]
            largest = codes.index(ErrorCode.MESSAGE_TOO_LARGE)
            assert set(codes[:largest]) == {ErrorCode.NONE}
            assert sizes[largest] > 9_920

    run(story())


def test_memory_of_what_waits_for_the_disk_is_bounded_and_room_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "BUFFER_BYTES", 5_000)

    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            calls = [broker.write(SESSION, "orders", [NewRecord(None, bytes(960))]) for _ in range(5)]
            with pytest.raises(Refused) as refused:
                broker.write(SESSION, "orders", [NewRecord(None, b"")])
            assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED

            waiters = [asyncio.ensure_future(broker.writes.room()) for _ in range(3)]
            await asyncio.sleep(0)
            assert not any(waiter.done() for waiter in waiters)
            await asyncio.gather(*calls)
            await asyncio.wait_for(asyncio.gather(*waiters), 60)

    run(story())


def test_a_caller_that_has_gone_is_no_trouble_and_a_deleted_topic_answers() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1)])
            gone = asyncio.ensure_future(broker.write(SESSION, "orders", [NewRecord(None, b"1")]))
            stays = broker.write(SESSION, "orders", [NewRecord(None, b"2")])
            gone.cancel()
            assert (await stays)[0].offset == 1

            hosted = broker.topics.hosted("orders", 0)
            late = broker.write(SESSION, "orders", [NewRecord(None, b"3")])
            hosted.drop(Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "deleted"))
            with pytest.raises(Refused):
                await late
            assert broker.writes.buffered_records == 0

    run(story())


def test_what_is_not_for_clients_to_write_is_refused() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.coordinator(SESSION)
            for topic, index in (("__consumer_offsets", 0), ("nowhere", 0), ("__consumer_offsets", 999)):
                with pytest.raises(Refused):
                    broker.write(SESSION, topic, [NewRecord(None, b"")], index)

    run(story())


def test_append_time_is_the_time_that_is_told() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            configs = {"message.timestamp.type": "LogAppendTime"}
            await broker.create_topics(SESSION, [NewTopic("stamped", 1, configs=configs), NewTopic("own", 1)])
            record = NewRecord(None, b"", (), 5)
            assert (await broker.write(SESSION, "stamped", [record]))[0].timestamp_ms == NOW_MS
            assert (await broker.write(SESSION, "own", [record]))[0].timestamp_ms == 5

    run(story())


class One:
    """Waits for one record."""

    def __init__(self, record: NewRecord) -> None:
        self.record = record
        self.size = 0
        self.told: list[object] = []

    def written(self, partition: int, offset: int, timestamp_ms: int) -> None:
        self.told.append(Placed(partition, offset, timestamp_ms))

    def refused(self, error: BaseException) -> None:
        self.told.append(error.code if isinstance(error, Refused) else error)


@settings(max_examples=40, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["good", "large", "old", "call", "bad call"]), max_size=12),
    policy=st.sampled_from(["os", "fsync"]),
)
def test_one_by_one_or_in_calls_each_is_told_once_and_of_itself(kinds: list[str], policy: str) -> None:
    records = {
        "good": NewRecord(b"k", b"good"),
        "large": NewRecord(b"k", bytes(700)),
        "old": NewRecord(b"k", b"old", (), 1),
    }

    async def story() -> None:
        async with running(SimDisk(Random(1)), {"flush.policy": policy}) as broker:
            configs = {"max.message.bytes": "1000", "message.timestamp.before.max.ms": "1000"}
            await broker.create_topics(SESSION, [NewTopic("orders", 1, configs=configs)])
            hosted = broker.topics.hosted("orders", 0)
            ones: list[tuple[str, One]] = []
            calls = []
            for kind in kinds:
                if kind.endswith("call"):
                    second = records["old" if kind == "bad call" else "good"]
                    calls.append((kind, outcome(broker, [records["good"], second])))
                else:
                    ones.append((kind, One(records[kind])))
                    broker.write_one(SESSION, hosted, ones[-1][1])
                    assert not ones[-1][1].told
            for kind, call in calls:
                assert ((await call)[0] is ErrorCode.NONE) == (kind == "call")
            await asyncio.sleep(60)
            found = {record.offset: record.value for record in await everything(broker, "orders", 0)}
            for kind, one in ones:
                (told,) = one.told
                if kind == "old":
                    assert told is ErrorCode.INVALID_TIMESTAMP
                else:
                    assert isinstance(told, Placed)
                    assert found[told.offset] == one.record.value
            assert broker.writes.buffered_bytes == broker.writes.buffered_records == 0
            assert broker.writes.records == len(found)

    run(story())


def test_one_is_refused_at_once_where_many_would_be() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("orders", 1, configs={"min.insync.replicas": "2"})])
            await broker.coordinator(SESSION)
            with pytest.raises(Refused) as refused:
                broker.write_one(SESSION, broker.topics.hosted("orders", 0), One(NewRecord(None, b"")))
            assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
            with pytest.raises(Refused) as refused:
                internal = broker.topics.hosted("__consumer_offsets", 0)
                broker.write_one(SESSION, internal, One(NewRecord(None, b"")))
            assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION

    run(story())
