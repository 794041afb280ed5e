"""The data source in a real Spark, against a real broker."""

from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import Topics

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def reader(spark: Any, topics: Topics, topic: str, *, stream: bool = False, **options: str) -> Any:
    found = (spark.readStream if stream else spark.read).format("millstream")
    found = found.option("kafka.bootstrap.servers", topics.bootstrap).option("subscribe", topic)
    return found.options(**options)


def caught_up(frame: Any, into: Path, checkpoint: Path) -> Any:
    """Have a stream catch up and stop; the query."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(into))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    return query


def test_rows_are_the_records(spark: Any, topics: Topics) -> None:
    topics.create("rows", partitions=2)

    async def send(client: Client) -> None:
        async with Producer(client) as producer:
            await producer.send("rows", b"one", key=b"k", partition=0, timestamp_ms=1_700_000_000_123)
            await producer.send("rows", None, partition=0, headers=(("h", b"1"), ("h", None)), timestamp_ms=0)
            await producer.send("rows", b"", key=b"", partition=1, timestamp_ms=-1)

    topics.do(send)
    frame = reader(spark, topics, "rows", includeHeaders="true").load()
    rows = frame.selectExpr("*", "unix_micros(timestamp) as micros").orderBy("partition", "offset").collect()

    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert [_plain(row) for row in rows] == [
        (b"k", b"one", "rows", 0, 0, 1_700_000_000_123_000, 0, None),
        (None, None, "rows", 0, 1, 0, 0, headers),
        (b"", b"", "rows", 1, 0, -1000, 0, None),
    ]


def _plain(row: Any) -> tuple[Any, ...]:
    headers = row.headers and [each.asDict() for each in row.headers]
    where = (row.topic, row.partition, row.offset)
    return (_bytes(row.key), _bytes(row.value), *where, row.micros, row.timestampType, headers)


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)


def test_a_batch_is_what_was_asked_for_in_as_many_tasks(spark: Any, topics: Topics) -> None:
    topics.create("asked", partitions=2)
    assert reader(spark, topics, "asked").load().count() == 0

    topics.fill("asked", 200, partitions=2)
    frame = reader(
        spark,
        topics,
        "asked",
        startingOffsets='{"asked": {"0": 10, "1": -2}}',
        endingOffsets='{"asked": {"0": 60, "1": -1}}',
        minPartitions="6",
    ).load()

    assert frame.rdd.getNumPartitions() == 6
    values = [int(row.value) for row in frame.select(frame.value.cast("string")).collect()]
    assert sorted(values) == sorted([*range(20, 120, 2), *range(1, 200, 2)])


def test_a_stream_takes_each_record_once_over_restarts_and_new_partitions(
    spark: Any, topics: Topics, tmp_path: Path
) -> None:
    into, checkpoint = tmp_path / "into", tmp_path / "checkpoint"
    topics.create("grows", partitions=2)
    topics.fill("grows", 250, partitions=2)
    frame = reader(
        spark, topics, "grows", stream=True, startingOffsets="earliest", maxOffsetsPerTrigger="100"
    ).load()

    first = caught_up(frame, into, checkpoint)
    assert [each["numInputRows"] for each in first.recentProgress] == [100, 100, 50]

    topics.do(lambda client: Admin(client).grow_topic("grows", 3))
    topics.fill("grows", 90, first=250, partitions=3)
    caught_up(frame, into, checkpoint)

    rows = spark.read.parquet(str(into)).selectExpr("cast(value as string)", "partition", "offset").collect()
    assert sorted(int(row.value) for row in rows) == list(range(340))
    assert len({(row.partition, row.offset) for row in rows}) == 340


def test_a_stream_that_has_lost_data_says_what_and_goes_on_if_told_to(
    spark: Any, topics: Topics, tmp_path: Path
) -> None:
    into, checkpoint = tmp_path / "into", tmp_path / "checkpoint"
    topics.create("aged")
    topics.fill("aged", 10)
    caught_up(reader(spark, topics, "aged", stream=True, startingOffsets="earliest").load(), into, checkpoint)
    topics.fill("aged", 20, first=10)
    topics.do(lambda client: Admin(client).trim({TopicPartition("aged", 0): 25}))

    with pytest.raises(Exception, match="aged-0: offsets 10 to 24 are gone; the partition now begins at 25"):
        caught_up(reader(spark, topics, "aged", stream=True).load(), into, checkpoint)

    caught_up(reader(spark, topics, "aged", stream=True, failOnDataLoss="false").load(), into, checkpoint)
    rows = spark.read.parquet(str(into)).selectExpr("cast(cast(value as string) as int) as n").collect()
    assert sorted(row.n for row in rows) == [*range(10), *range(25, 30)]


def test_an_unknown_option_is_an_error_with_a_suggestion(spark: Any, topics: Topics) -> None:
    with pytest.raises(Exception, match="did you mean 'startingOffsets'"):
        reader(spark, topics, "rows", startingOfsets="earliest").load().count()
