"""What each config of a topic does, given by the topic itself or as the broker's default."""

import asyncio

import pytest
from tests.broker.support import SESSION
from tests.configs.showing import Stage, Way, refused, shows

from millstream.errors import ErrorCode
from millstream.records.build import NewRecord
from millstream.records.compression import Codec

HALF_HOUR_S = 1800  # retention trusts the clock after ten minutes
SMALL_SEGMENTS = {"segment.bytes": "1024"}
COMPACTED = {**SMALL_SEGMENTS, "cleanup.policy": "compact"}
EAGER = {**COMPACTED, "min.cleanable.dirty.ratio": "0.01"}


async def overwrite(stage: Stage, times: int = 30) -> None:
    """Write one key again and again, over several segments."""
    for number in range(times):
        await stage.write(b"key", b"%040d" % number)


async def left_of_a_key(stage: Stage) -> int:
    await overwrite(stage)
    await asyncio.sleep(60)
    return len(stage.values())


@shows("cleanup.policy")
def test_what_becomes_of_old_records(way: Way) -> None:
    configs = {**SMALL_SEGMENTS, "min.cleanable.dirty.ratio": "0.01"}
    assert way.seen(left_of_a_key, {"cleanup.policy": "compact"}, configs=configs) < 15
    assert way.seen(left_of_a_key, {}, configs=configs) == 30


@shows("compression.type")
def test_how_batches_lie_on_the_disk(way: Way) -> None:
    async def codec(stage: Stage) -> Codec:
        await stage.send([NewRecord(b"k", bytes(1000))], codec=Codec.LZ4)
        (batch,) = stage.batches()
        return batch.codec

    assert way.seen(codec, {"compression.type": "gzip"}) is Codec.GZIP
    assert way.seen(codec, {"compression.type": "uncompressed"}) is Codec.NONE
    assert way.seen(codec, {}) is Codec.LZ4


@shows("delete.retention.ms")
def test_how_long_tombstones_stay(way: Way) -> None:
    async def tombstones(stage: Stage) -> int:
        await stage.write(b"gone", b"value")
        await stage.write(b"gone", None)
        for round in range(8):
            for number in range(30):
                await stage.write(b"other %d" % number, b"%020d" % round)
            await asyncio.sleep(180)  # nothing goes by a clock that has not run steadily for ten minutes
        return stage.values().count(None)

    assert way.seen(tombstones, {"delete.retention.ms": "30000"}, configs=EAGER) == 0
    assert way.seen(tombstones, {}, configs=EAGER) == 1


@shows("file.delete.delay.ms")
def test_how_long_files_of_deleted_segments_stay(way: Way) -> None:
    async def files_left(stage: Stage) -> int:
        await overwrite(stage)
        await stage.broker.delete_records(SESSION, "t", 0, -1)
        await asyncio.sleep(40)
        return sum(".deleted" in name for name in stage.disk.list("t-0"))

    assert way.seen(files_left, {"file.delete.delay.ms": "1000"}, configs=SMALL_SEGMENTS) == 0
    assert way.seen(files_left, {}, configs=SMALL_SEGMENTS) > 0


async def counts_at_once(stage: Stage) -> bool:
    await stage.send([NewRecord(b"k", b"v")], acks=0)
    return stage.broker.topics.hosted("t", 0).partition.high_watermark == 1


@shows("flush.policy")
def test_when_a_write_counts(way: Way) -> None:
    assert way.seen(counts_at_once, {"flush.policy": "os"})
    assert not way.seen(counts_at_once, {})


@shows("flush.messages", "flush.ms")
@pytest.mark.parametrize("name", ["flush.messages", "flush.ms"])
def test_what_must_be_synced_now_and_then_is_synced_at_once(way: Way, name: str) -> None:
    lazy = {"flush.policy": "os"}
    assert not way.seen(counts_at_once, {name: "1000"}, configs=lazy)
    assert way.seen(counts_at_once, {}, configs=lazy)


@shows("index.interval.bytes")
def test_how_close_the_entries_of_an_index_are(way: Way) -> None:
    async def index_bytes(stage: Stage) -> int:
        await overwrite(stage, 60)
        return stage.log.segments[0].index_size_bytes

    assert way.seen(index_bytes, {"index.interval.bytes": "200"}) > 2 * way.seen(index_bytes, {})


@shows("max.compaction.lag.ms")
def test_when_a_record_is_compacted_at_the_latest(way: Way) -> None:
    async def left(stage: Stage) -> int:
        for number in range(10):
            await stage.write(b"key", b"%d" % number)
        await asyncio.sleep(400)
        await stage.write(b"key", b"last")
        await asyncio.sleep(200)
        return len(stage.values())

    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}
    assert way.seen(left, {"max.compaction.lag.ms": "60000"}, configs=configs) <= 2
    assert way.seen(left, {}, configs=configs) == 11


@shows("max.message.bytes")
def test_how_large_a_batch_may_be(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(stage.write(b"k", bytes(5000)))

    assert way.seen(code, {"max.message.bytes": "5000"}) is ErrorCode.MESSAGE_TOO_LARGE
    assert way.seen(code, {"max.message.bytes": "6000"}) is ErrorCode.NONE
    assert way.seen(code, {}) is ErrorCode.NONE


@shows("message.timestamp.type")
def test_whose_timestamps_records_have(way: Way) -> None:
    async def is_brokers(stage: Stage) -> bool:
        sent_ms = stage.clock.now_ms() - 5000
        await stage.write(timestamp_ms=sent_ms)
        (batch,) = stage.batches()
        return batch.log_append_time and batch.max_timestamp_ms > sent_ms

    assert way.seen(is_brokers, {"message.timestamp.type": "LogAppendTime"})
    assert not way.seen(is_brokers, {})


@pytest.mark.parametrize("hours", [-2, 2])
@shows("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
def test_how_wrong_timestamps_may_be(way: Way, hours: int) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(stage.write(timestamp_ms=stage.clock.now_ms() + hours * 3_600_000))

    side = "before" if hours < 0 else "after"
    less, more = (
        way.seen(code, {f"message.timestamp.{side}.max.ms": str(most)}) for most in (7_000_000, 7_400_000)
    )
    assert (less, more) == (ErrorCode.INVALID_TIMESTAMP, ErrorCode.NONE)


@shows("min.cleanable.dirty.ratio")
def test_how_much_must_be_dirty_for_a_pass(way: Way) -> None:
    async def left_of_the_second_part(stage: Stage) -> int:
        for number in range(60):
            await stage.write(b"clean %d" % number, bytes(40))
        await asyncio.sleep(60)  # all of it is dirty at first, whatever the ratio
        await overwrite(stage, 20)
        await asyncio.sleep(60)
        return len(stage.values()) - 60

    assert way.seen(left_of_the_second_part, {"min.cleanable.dirty.ratio": "0.1"}, configs=COMPACTED) < 15
    assert way.seen(left_of_the_second_part, {}, configs=COMPACTED) == 20


@shows("min.compaction.lag.ms")
def test_how_long_a_record_is_left_as_it_is(way: Way) -> None:
    assert way.seen(left_of_a_key, {"min.compaction.lag.ms": "3600000"}, configs=EAGER) == 30
    assert way.seen(left_of_a_key, {"min.compaction.lag.ms": "10000"}, configs=EAGER) < 15
    assert way.seen(left_of_a_key, {}, configs=EAGER) < 15


@shows("min.insync.replicas")
def test_how_many_replicas_a_write_needs(way: Way) -> None:
    async def code(stage: Stage) -> tuple[ErrorCode, ErrorCode]:
        record = NewRecord(b"k", b"v")
        return await refused(stage.send([record], acks=-1)), await refused(stage.send([record], acks=1))

    assert way.seen(code, {"min.insync.replicas": "2"}) == (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NONE)
    assert way.seen(code, {}) == (ErrorCode.NONE, ErrorCode.NONE)


async def start_after_half_an_hour(stage: Stage) -> int:
    await overwrite(stage)
    await asyncio.sleep(HALF_HOUR_S)
    return stage.log.start_offset


@shows("retention.bytes")
def test_how_much_is_kept(way: Way) -> None:
    assert 0 < way.seen(start_after_half_an_hour, {"retention.bytes": "2000"}, configs=SMALL_SEGMENTS) < 30
    assert way.seen(start_after_half_an_hour, {}, configs=SMALL_SEGMENTS) == 0


BRIEF = {**SMALL_SEGMENTS, "retention.ms": "600000"}


async def start_with_ten_read(stage: Stage) -> int:
    """Where the log begins after its time, when group g has read ten of thirty records."""
    await stage.broker.commit_offsets(SESSION, "g", {("t", 0): 10})
    return await start_after_half_an_hour(stage)


@shows("retention.hold.groups")
def test_for_whom_it_is_kept(way: Way) -> None:
    assert 0 < way.seen(start_with_ten_read, {"retention.hold.groups": "g"}, configs=BRIEF) <= 10
    assert way.seen(start_with_ten_read, {"retention.hold.groups": "g,another"}, configs=BRIEF) == 0
    assert way.seen(start_with_ten_read, {}, configs=BRIEF) == 30


@shows("retention.hold.max.ms")
def test_how_long_it_is_kept_for_a_group(way: Way) -> None:
    configs = {**BRIEF, "retention.hold.groups": "g"}
    assert way.seen(start_with_ten_read, {"retention.hold.max.ms": "900000"}, configs=configs) == 30
    assert way.seen(start_with_ten_read, {}, configs=configs) <= 10


@shows("retention.hold.max.bytes")
def test_how_much_is_kept_for_a_group(way: Way) -> None:
    configs = {**SMALL_SEGMENTS, "retention.bytes": "0", "retention.hold.groups": "another"}
    assert 0 < way.seen(start_with_ten_read, {"retention.hold.max.bytes": "1500"}, configs=configs) < 30
    assert way.seen(start_with_ten_read, {}, configs=configs) == 0


@shows("retention.ms")
def test_how_long_it_is_kept(way: Way) -> None:
    assert way.seen(start_after_half_an_hour, {"retention.ms": "600000"}, configs=SMALL_SEGMENTS) == 30
    assert way.seen(start_after_half_an_hour, {"retention.ms": "3600000"}, configs=SMALL_SEGMENTS) == 0
    assert way.seen(start_after_half_an_hour, {}, configs=SMALL_SEGMENTS) == 0


@shows("segment.bytes")
def test_how_large_a_segment_gets(way: Way) -> None:
    async def most_bytes(stage: Stage) -> int:
        await overwrite(stage, 60)
        return max(segment.size_bytes for segment in stage.log.segments)

    assert way.seen(most_bytes, {"segment.bytes": "1500"}) <= 1500 < way.seen(most_bytes, {})


@shows("segment.index.bytes")
def test_how_large_the_index_of_a_segment_gets(way: Way) -> None:
    async def segments(stage: Stage) -> int:
        for _ in range(60):
            await stage.write(b"k", bytes(200))
        return len(stage.log.segments)

    configs = {"index.interval.bytes": "100"}
    assert way.seen(segments, {"segment.index.bytes": "64"}, configs=configs) > 2
    assert way.seen(segments, {}, configs=configs) == 1


async def segments_after_ages(stage: Stage) -> int:
    for _ in range(6):
        await stage.write()
        await asyncio.sleep(200)
    return len(stage.log.segments)


@shows("segment.ms")
def test_how_old_a_segment_gets(way: Way) -> None:
    assert way.seen(segments_after_ages, {"segment.ms": "190000"}) == 7
    assert way.seen(segments_after_ages, {}) == 1


@shows("segment.jitter.ms")
def test_how_much_sooner_some_segments_are_rolled(way: Way) -> None:
    configs = {"segment.ms": "600000"}
    soon = way.seen(segments_after_ages, {"segment.jitter.ms": "600000"}, configs=configs)
    assert soon > way.seen(segments_after_ages, {}, configs=configs)
