"""Rows to records, and the options of the sink."""

from typing import Any

import pyarrow as pa
import pytest

from millstream.records.compression import Codec
from millstream.spark.rows import InvalidRows, check_columns, records
from millstream.spark.sink_options import SinkOptions, read_sink_options
from millstream.spark.words import InvalidOption

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def found(to_topic: str | None, /, **columns: Any) -> list[tuple[Any, ...]]:
    return [
        (to, partition, record.key, record.value, record.headers)
        for to, partition, record in records(pa.RecordBatch.from_pydict(columns), to_topic)
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()])
def test_text_and_bytes_alike_make_keys_and_values(kind: Any) -> None:
    values = pa.array(["ä", None, ""]).cast(kind)

    expected = [("t", None, each, each, ()) for each in ("ä".encode(), None, b"")]
    assert found("t", key=values, value=values) == expected


def test_rows_may_choose_their_topic_partition_and_headers() -> None:
    rows = found(
        None,
        topic=["a", "b"],
        partition=pa.array([None, 3], pa.int32()),
        value=[b"1", b"2"],
        headers=pa.array([None, [{"key": "h", "value": b"x"}, {"key": "i", "value": None}]], HEADERS),
        other=[1, 2],
    )

    assert rows == [("a", None, None, b"1", ()), ("b", 3, None, b"2", (("h", b"x"), ("i", None)))]
    assert [row[0] for row in found("c", topic=["a", None], value=[b"1", b"2"])] == ["c", "c"]


def test_a_row_without_a_topic_is_refused() -> None:
    with pytest.raises(InvalidRows, match="a row whose topic is null"):
        found(None, topic=["a", None], value=[b"1", b"2"])


@pytest.mark.parametrize(
    ("types", "topic", "words"),
    [
        ({"key": "string"}, "t", "no column 'value'"),
        ({"value": "bigint"}, "t", "column 'value' is bigint; it may be string or binary"),
        ({"value": "string", "key": "struct<a:int>"}, "t", "column 'key' is struct<a:int>"),
        ({"value": "string"}, None, "give the option 'topic'"),
        ({"value": "string", "partition": "string"}, "t", "column 'partition' is string"),
        ({"value": "string", "headers": "map<string,string>"}, "t", "array<struct<key:string,value:binary>>"),
    ],
)
def test_columns_that_make_no_records_are_refused(
    types: dict[str, str], topic: str | None, words: str
) -> None:
    with pytest.raises(InvalidRows) as problem:
        check_columns(types, topic)
    assert words in str(problem.value)


def test_columns_of_the_source_can_be_written_as_they_are() -> None:
    check_columns(
        {
            "key": "binary",
            "value": "binary",
            "topic": "string",
            "partition": "int",
            "offset": "bigint",
            "timestamp": "timestamp",
            "timestampType": "int",
            "headers": "array<struct<key:string,value:binary>>",
        },
        None,
    )


def parsed(**options: Any) -> SinkOptions:
    small = {(name.replace("_", ".")).lower(): value for name, value in options.items()}
    return read_sink_options({"kafka.bootstrap.servers": "localhost:9092"} | small)


def test_options_of_the_sink() -> None:
    plain = parsed()
    assert (plain.acks, plain.idempotent, plain.codec) == (-1, True, Codec.NONE)

    chosen = parsed(topic="orders", kafka_acks="1", kafka_compression_type="ZSTD", checkpointLocation="/x")
    assert (chosen.topic, chosen.acks, chosen.codec) == ("orders", 1, Codec.ZSTD)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kafka_acks": "2"}, "all or -1 or 1 or 0"),
        ({"kafka_compression_type": "rar"}, "none or gzip or snappy or lz4 or zstd"),
        ({"topc": "x"}, "did you mean 'topic'?"),
        ({"subscribe": "x"}, "no option 'subscribe'"),
        ({"pipeline": "x"}, "pipeline alone does not make writing exactly-once"),
        ({"pipeline": "x", "batchId": "0", "queryId": "q"}, "give the option 'topic'"),
    ],
)
def test_options_of_the_sink_that_are_unclear_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption) as problem:
        parsed(**options)
    assert words in str(problem.value)
