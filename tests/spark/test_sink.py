"""Topics written by a real Spark."""

from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import Topics
from tests.spark.test_source import reader

from millstream.records.keys import partition_of_key
from millstream.spark.exactly_once import exactly_once

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_batch_is_written_and_keys_keep_their_partition(spark: Any, topics: Topics) -> None:
    topics.create("written", partitions=3)
    frame = spark.range(1000).selectExpr(
        "concat('key ', id % 10) as key",
        "to_json(struct(id)) as value",
        "array(struct('h' as key, cast('1' as binary) as value)) as headers",
    )
    writer = frame.write.format("millstream").mode("append").option("topic", "written")
    writer.option("kafka.bootstrap.servers", topics.bootstrap).option("kafka.compression.type", "lz4").save()

    rows = reader(spark, topics, "written", includeHeaders="true").load()
    found = rows.selectExpr(
        "cast(key as string) as key",
        "get_json_object(cast(value as string), '$.id') as id",
        "partition",
        "cast(headers[0].value as string) as header",
    ).collect()
    assert sorted(int(row.id) for row in found) == list(range(1000))
    assert {row.header for row in found} == {"1"}
    assert all(row.partition == partition_of_key(row.key.encode(), 3) for row in found)


def test_a_stream_flows_from_topic_to_topic(spark: Any, topics: Topics, tmp_path: Path) -> None:
    topics.create("from", partitions=2)
    topics.create("to")
    topics.fill("from", 100, partitions=2)
    for _ in range(2):  # the second run finds nothing to do
        (
            reader(spark, topics, "from", stream=True, startingOffsets="earliest")
            .load()
            .drop("topic", "partition")
            .writeStream.format("millstream")
            .option("kafka.bootstrap.servers", topics.bootstrap)
            .option("topic", "to")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
            .awaitTermination(120)
        )

    rows = reader(spark, topics, "to").load().selectExpr("cast(value as string) as n").collect()
    assert sorted(int(row.n) for row in rows) == list(range(100))


def test_what_cannot_be_written_is_refused_before_any_task_runs(spark: Any, topics: Topics) -> None:
    writer = spark.range(3).write.format("millstream").option("topic", "refused")
    writer = writer.option("kafka.bootstrap.servers", topics.bootstrap)

    with pytest.raises(Exception, match="no column 'value'; there are id"):
        writer.mode("append").save()
    with pytest.raises(Exception, match="a topic cannot be overwritten"):
        writer.mode("overwrite").save()


def test_a_row_that_the_broker_refuses_fails_the_task(spark: Any, topics: Topics) -> None:
    topics.create("small", max_message_bytes="1000")
    frame = spark.createDataFrame([("x" * 5000,)], "value string")
    writer = frame.write.format("millstream").mode("append").option("topic", "small")

    with pytest.raises(Exception, match="MESSAGE_TOO_LARGE"):
        writer.option("kafka.bootstrap.servers", topics.bootstrap).save()


def test_exactly_once_into_a_topic_though_the_driver_dies_after_each_write(
    spark: Any, topics: Topics, tmp_path: Path
) -> None:
    topics.create("source", partitions=2)
    topics.create("target", partitions=2)
    topics.fill("source", 100, partitions=2)
    frame = reader(
        spark, topics, "source", stream=True, startingOffsets="earliest", maxOffsetsPerTrigger="40"
    ).load()
    write = exactly_once("copy", "target", {"kafka.bootstrap.servers": topics.bootstrap})

    def run(dies: bool) -> None:
        def each(batch: Any, number: int) -> None:
            write(batch.select("key", "value"), number)
            if dies:
                raise RuntimeError("the driver dies before Spark knows that the batch was written")

        query = (
            frame.writeStream.foreachBatch(each)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)

    with pytest.raises(Exception, match="the driver dies"):
        run(dies=True)
    run(dies=False)

    committed = reader(spark, topics, "target").option("kafka.isolation.level", "read_committed").load()
    rows = committed.selectExpr("cast(value as string) as n").collect()
    assert sorted(int(row.n) for row in rows) == list(range(100))
