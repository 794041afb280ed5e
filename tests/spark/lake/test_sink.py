"""Streams into lake tables by a real Spark."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason='pyiceberg is not installed: pip install "millstream[spark]"')
pytest.importorskip("deltalake", reason='deltalake is not installed: pip install "millstream[spark]"')

from tests.spark.lake.support import KINDS, options, prepared, read, sizes

from millstream.spark.lake import Incompatible, table_once
from millstream.spark.words import InvalidOption

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.parametrize("kind", KINDS)]


def rows(kind: str, folder: Path, *columns: str) -> Counter[tuple[Any, ...]]:
    found = read(kind, folder).select(list(columns)).to_pydict()
    return Counter(zip(*found.values(), strict=True))


def test_partitions_are_the_tables_own_business(spark: Any, kind: str, tmp_path: Path) -> None:
    """Rows of several partitions, without a value, with an awkward one, and with a time of every kind."""
    write = table_once(
        "parts", options(kind, tmp_path, partition_by=("country", "hour(ts)", "day(local)")), query_id="q"
    )
    frame = spark.sql(
        """select id as n, if(id % 4 = 0, null, elt(id % 4, 'DE', 'a/b=c d%', '')) as country,
           timestamp_millis(1700000000000 + id * 900000) as ts,
           timestamp_ntz'1969-12-31 22:30:00' + make_interval(0, 0, 0, 0, id) as local from range(16)"""
    )
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")  # partitions are in UTC all the same
    try:
        write(frame, 0)
        write(frame, 0)
        write(frame.where("n < 3"), 1)
        expected = Counter((row.n, row.country) for row in frame.collect())
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

    found = rows(kind, tmp_path, "n", "country")
    small = {key: value for key, value in expected.items() if key[0] < 3}
    if kind == "delta":  # where no text is no value, in a partition
        small, expected = _no_text(small), _no_text(expected)
    assert found == Counter(expected) + Counter(small)
    assert len(sizes(kind, tmp_path)) >= 15
    if kind == "iceberg":
        _check_partitions(tmp_path)
    else:
        hours = rows(kind, tmp_path, "ts_hour", "local_day")
        assert ("2023-11-14-22", "1969-12-31") in hours
        assert ("2023-11-15-01", "1970-01-01") in hours


def _no_text(some: Any) -> Counter[Any]:
    return Counter({(n, country or None): count for (n, country), count in some.items()})


def _check_partitions(folder: Path) -> None:
    """What the table says of each file is what the file holds; so a filter finds what it should."""
    from millstream.spark.lake import open_catalog

    table = open_catalog(folder / "warehouse").load_table("lake.orders")
    assert [str(field.transform) for field in table.spec().fields] == ["identity", "hour", "day"]
    every = table.scan().to_arrow()
    for filter_ in (
        "country = ''",
        "country is null",
        "country = 'a/b=c d%'",
        "ts >= '2023-11-14T23:30:00+00:00'",
    ):
        found = table.scan(row_filter=filter_)
        assert 0 < found.to_arrow().num_rows < every.num_rows
        assert len(list(found.plan_files())) < len(list(table.scan().plan_files()))
    assert table.scan(row_filter="country is null").to_arrow().num_rows == 5
    assert table.scan(row_filter="country = ''").to_arrow().num_rows == 4


def test_of_a_batch_the_last_row_of_a_key_stays(spark: Any, kind: str, tmp_path: Path) -> None:
    chosen = options(kind, tmp_path, mode="upsert", key=("word",))
    write = table_once("keys", chosen, query_id="q")
    frame = spark.sql("select concat('w', id % 3) as word, id as n from range(100)").coalesce(1)

    write(frame, 0)
    write(frame.where("n < 5"), 1)
    write(frame.where("n < 5").withColumn("note", frame.word), 2)
    assert rows(kind, tmp_path, "word", "n", "note") == Counter(
        [("w0", 3, "w0"), ("w1", 4, "w1"), ("w2", 2, "w2")]
    )


def test_of_a_key_the_greatest_row_stays_in_whichever_batch_it_came(
    spark: Any, kind: str, tmp_path: Path
) -> None:
    chosen = options(
        kind, tmp_path, mode="upsert", key=("word",), sequence_by="n", partition_by=("hour(ts)",)
    )
    write = table_once("greatest", chosen, query_id="q")
    frame = spark.sql(
        """select concat('w', id % 3) as word, 99 - id as n, timestamp_millis(id % 3 * 3600000) as ts
           from range(100)"""
    ).coalesce(1)

    write(frame.where("n between 20 and 80"), 0)
    assert rows(kind, tmp_path, "word", "n") == Counter([("w0", 78), ("w1", 80), ("w2", 79)])
    write(frame.where("n < 79 or n = 98"), 1)  # one is newer, one is as it was, one is older
    assert rows(kind, tmp_path, "word", "n") == Counter([("w0", 78), ("w1", 98), ("w2", 79)])
    write(frame.where("n < 90").select("ts", "n", "word"), 2)
    assert rows(kind, tmp_path, "word", "n") == Counter([("w0", 87), ("w1", 98), ("w2", 88)])
    with pytest.raises(InvalidOption, match="its sequence_by is n, and there is no such column"):
        write(frame.drop("n"), 3)


def test_narrow_columns_are_widened_and_others_refused(spark: Any, kind: str, tmp_path: Path) -> None:
    prepared(kind, tmp_path)
    write = table_once("types", options(kind, tmp_path), query_id="q")

    write(spark.sql("select cast(1 as int) as n, 'a' as word"), 0)
    write(spark.sql("select cast(2 as tinyint) as n"), 1)
    with pytest.raises(Incompatible, match="column n is int64, the batch has string"):
        write(spark.sql("select 'two' as n"), 2)
    assert rows(kind, tmp_path, "n", "word") == Counter([(1, "a"), (2, None)])
