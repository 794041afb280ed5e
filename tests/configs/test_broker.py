"""What each config of the broker does, given when it starts and, where that is allowed, while it runs."""

import asyncio
from collections.abc import Awaitable
from random import Random

import pytest
from tests.broker.support import SESSION
from tests.configs.nodes import serving
from tests.configs.showing import Stage, Way, refused, shows

from millstream.broker import commit
from millstream.broker.fetch import Found, Wanted, weigh
from millstream.broker.topics import NewTopic
from millstream.cluster.image import Topic
from millstream.errors import ErrorCode, Refused
from millstream.records.build import NewRecord
from millstream.sim.disk import SimDisk
from millstream.storage.known import Checkpoints
from millstream.storage.log import Sync
from millstream.storage.space import BALLAST

SMALL_SEGMENTS = {"segment.bytes": "1024"}


async def made(stage: Stage, new: NewTopic) -> Topic | ErrorCode:
    (result,) = await stage.broker.create_topics(SESSION, [new])
    return result.code if isinstance(result, Refused) else result


@shows("auto.create.topics.enable")
def test_whether_a_topic_comes_of_its_name(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(stage.broker.auto_create_topic(SESSION, "new"))

    assert way.seen(code, {"auto.create.topics.enable": "false"}) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert way.seen(code, {}) is ErrorCode.NONE


@shows("delete.topic.enable")
def test_whether_topics_can_be_deleted(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(stage.broker.delete_topic(SESSION, "t"))

    assert way.seen(code, {"delete.topic.enable": "false"}) is ErrorCode.TOPIC_DELETION_DISABLED
    assert way.seen(code, {}) is ErrorCode.NONE


@shows("num.partitions")
def test_how_many_partitions_a_topic_gets(way: Way) -> None:
    async def partitions(stage: Stage) -> list[int]:
        topics = [await made(stage, NewTopic("new")), await stage.broker.auto_create_topic(SESSION, "auto")]
        return [topic.partitions for topic in topics if isinstance(topic, Topic)]

    assert way.seen(partitions, {"num.partitions": "7"}) == [7, 7]
    assert way.seen(partitions, {}) == [1, 1]


@shows("default.replication.factor")
def test_how_many_replicas_a_topic_gets(way: Way) -> None:
    async def codes(stage: Stage) -> list[ErrorCode]:
        asked = [NewTopic("new"), NewTopic("one", 1, 1)]
        results = [await made(stage, new) for new in asked]
        return [each if isinstance(each, ErrorCode) else ErrorCode.NONE for each in results]

    few = [ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.NONE]
    assert way.seen(codes, {"default.replication.factor": "3"}) == few
    assert way.seen(codes, {}) == [ErrorCode.NONE, ErrorCode.NONE]


@shows("max.partitions")
def test_how_many_partitions_there_may_be(way: Way) -> None:
    async def codes(stage: Stage) -> list[ErrorCode]:
        found = await made(stage, NewTopic("new", 10, 1))
        grown = await refused(stage.broker.grow_topic(SESSION, "t", 11))
        return [found if isinstance(found, ErrorCode) else ErrorCode.NONE, grown]

    assert way.seen(codes, {"max.partitions": "10"}) == [ErrorCode.INVALID_PARTITIONS] * 2
    assert way.seen(codes, {}) == [ErrorCode.NONE] * 2


@shows("sync.on.loop.us")
def test_how_quick_a_disk_is_synced_on_the_loop(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    async def moments(stage: Stage) -> list[bool]:
        """Of syncs that seem to take 100 microseconds: whether simulated time, as threads take, went by."""
        loop = asyncio.get_running_loop()
        found = []
        for _ in range(5):
            began = loop.time()
            await stage.write()
            found.append(loop.time() > began)
        return found

    def timed(sync: Sync) -> tuple[float, OSError | None]:
        return 100.0, as_ever(sync)[1]

    as_ever = commit._timed
    monkeypatch.setattr(commit, "_timed", timed)
    assert way.seen(moments, {"sync.on.loop.us": "101"}) == [True, True, False, False, False]
    assert way.seen(moments, {"sync.on.loop.us": "99"}) == [True] * 5


async def fetched(stage: Stage, wait_ms: int = 0) -> list[Found]:
    found = stage.broker.fetch(SESSION, [Wanted("t", 0, 0, 1 << 30)], 1 << 30, 1, wait_ms)
    return await found if isinstance(found, Awaitable) else found


@shows("fetch.max.bytes")
def test_how_much_one_fetch_returns(way: Way) -> None:
    async def size(stage: Stage) -> int:
        for _ in range(10):
            await stage.write(b"k", bytes(1000))
        return weigh(await fetched(stage))[0]

    assert way.seen(size, {"fetch.max.bytes": "3500"}) <= 3500 < 10_000 <= way.seen(size, {})


@shows("fetch.max.wait.ms")
def test_how_long_one_fetch_waits(way: Way) -> None:
    async def seconds(stage: Stage) -> int:
        before = asyncio.get_running_loop().time()
        await fetched(stage, 30_000)
        return round(asyncio.get_running_loop().time() - before)

    assert way.seen(seconds, {"fetch.max.wait.ms": "2000"}) == 2
    assert way.seen(seconds, {}) == 30


@shows("producer.id.expiration.ms")
def test_how_long_an_idle_producer_is_remembered(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        options = {"producer_id": 5, "producer_epoch": 0}
        await stage.send([NewRecord(b"k", b"v")], **options, base_sequence=0)
        await asyncio.sleep(1500)
        return await refused(stage.send([NewRecord(b"k", b"v")], **options, base_sequence=9))

    assert way.seen(code, {"producer.id.expiration.ms": "60000"}) is ErrorCode.NONE
    assert way.seen(code, {}) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@shows("log.retention.check.interval.ms")
def test_how_often_old_segments_are_looked_for(way: Way) -> None:
    async def seconds(stage: Stage) -> float:
        for _ in range(10):
            await stage.write(b"k", bytes(500))
        while stage.log.start_offset == 0:  # noqa: ASYNC110  # upkeep tells nobody, and this time is free
            await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    configs = {**SMALL_SEGMENTS, "retention.bytes": "1000"}
    assert 20 <= way.seen(seconds, {"log.retention.check.interval.ms": "20000"}, configs=configs) < 22
    assert 300 <= way.seen(seconds, {}, configs=configs) < 302


COMPACTED = {**SMALL_SEGMENTS, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}


@shows("log.cleaner.backoff.ms")
def test_how_often_logs_to_compact_are_looked_for(way: Way) -> None:
    async def seconds(stage: Stage) -> float:
        await asyncio.sleep(16)  # a change counts once the look that was due before it is over
        for number in range(30):
            await stage.write(b"k", b"%040d" % number)
        while len(stage.values()) == 30:  # noqa: ASYNC110  # likewise
            await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert 100 <= way.seen(seconds, {"log.cleaner.backoff.ms": "100000"}, configs=COMPACTED) < 117
    assert 30 <= way.seen(seconds, {}, configs=COMPACTED) < 32


@shows("log.cleaner.enable")
def test_whether_logs_are_compacted(way: Way) -> None:
    async def left(stage: Stage) -> int:
        for number in range(30):
            await stage.write(b"k", b"%040d" % number)
        await asyncio.sleep(60)
        return len(stage.values())

    assert way.seen(left, {"log.cleaner.enable": "false"}, configs=COMPACTED) == 30
    assert way.seen(left, {}, configs=COMPACTED) < 15


@shows("log.cleaner.dedupe.buffer.size")
def test_how_many_keys_one_pass_remembers(way: Way) -> None:
    async def cleaned_to(stage: Stage) -> int:
        for part in range(16):
            await stage.send([NewRecord(b"%d" % (part * 500 + n), b"") for n in range(500)])
        await asyncio.sleep(20)  # one pass
        return stage.log.cleaned_offset

    configs = {**COMPACTED, "segment.bytes": "20000"}
    assert 0 < way.seen(cleaned_to, {"log.cleaner.dedupe.buffer.size": str(1 << 20)}, configs=configs) < 6500
    assert way.seen(cleaned_to, {}, configs=configs) >= 7500


@shows("log.flush.offset.checkpoint.interval.ms")
def test_how_often_it_is_noted_how_far_logs_are_synced(way: Way) -> None:
    async def recovery_point(stage: Stage) -> int | None:
        """Below this a next life will not look through the log, if this one ends here."""
        for _ in range(30):
            await stage.write()
        await asyncio.sleep(30)
        return Checkpoints.read(stage.disk).of("t-0", stage.broker.topics.topic("t").id).recovery_point

    assert way.seen(recovery_point, {"log.flush.offset.checkpoint.interval.ms": "5000"}) == 30
    assert not way.seen(recovery_point, {})


@shows("log.dir.min.free.percent")
def test_how_full_the_disk_may_get(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        await stage.write(b"k", bytes(400_000))
        await asyncio.sleep(5)
        return await refused(stage.write())

    def seen(values: dict[str, str]) -> ErrorCode:
        return way.seen(code, values, disk=SimDisk(Random(1), capacity=1_000_000))

    assert seen({"log.dir.min.free.percent": "70"}) is ErrorCode.KAFKA_STORAGE_ERROR
    assert seen({"log.dir.min.free.percent": "50"}) is ErrorCode.NONE


@shows("log.dir.ballast.bytes")
def test_how_much_space_is_kept_in_reserve(way: Way) -> None:
    async def size(stage: Stage) -> int:
        await asyncio.sleep(5)
        return stage.disk.open(BALLAST).size() if stage.disk.exists(BALLAST) else 0

    assert serving(way, {"log.dir.ballast.bytes": "12345"}, size) == 12345
    assert serving(way, {"log.dir.ballast.bytes": "0"}, size) == 0
