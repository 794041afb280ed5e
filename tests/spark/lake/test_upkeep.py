"""Tables kept in order: small files packed, old snapshots forgotten, files of nobody swept."""

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyiceberg", reason='pyiceberg is not installed: pip install "millstream[spark]"')
pytest.importorskip("deltalake", reason='deltalake is not installed: pip install "millstream[spark]"')

from tests.spark.lake.support import KINDS, SCHEMA, batch, files, numbers, prepared, read, rows, sizes

from millstream.spark.lake import Compacted, open_catalog
from millstream.spark.once import Once

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", KINDS)]

TARGET = 32 << 10


def all_files(folder: Path) -> set[Path]:
    """Every file with rows that lies in the table's folder."""
    return {
        path
        for path in (folder / "warehouse/lake/orders").rglob("*.parquet")
        if "_delta_log" not in path.parts
    }


def later() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=5)


def noise(first: int, count: int) -> pa.Table:
    """Rows that do not compress: about 100 bytes each in a file."""
    return pa.table(
        {"n": range(first, first + count), "word": [os.urandom(48).hex() for _ in range(count)]},
        schema=SCHEMA,
    )


def test_small_files_become_files_of_the_target_size_and_no_row_changes(kind: str, tmp_path: Path) -> None:
    """Readable throughout: by one that began before, and by one that reads over and over meanwhile."""
    table = prepared(kind, tmp_path)
    for number in range(20):
        once = batch(number)
        parts = [noise(number * 100 + part * 10, 10) for part in range(10)]
        table.append(files(table, once, *parts), once)
    before = read(kind, tmp_path)
    reader = before_reader(kind, tmp_path)
    assert len(sizes(kind, tmp_path)) == 200

    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(sums_until, over, kind, tmp_path)
        try:
            done = table.compact(TARGET)
        finally:
            over.set()
    sums = reading.result()

    assert set(sums) == {(2000, sum(range(2000)))}
    after = sizes(kind, tmp_path)
    assert 0 < len(after) < 10
    assert all(TARGET * 0.5 < size < TARGET * 1.5 for size in sorted(after)[1:])  # one has what is left over
    assert done == Compacted(200, done.before_bytes, len(after), sum(after))
    assert sorted_rows(read(kind, tmp_path)) == sorted_rows(before)
    assert sorted_rows(reader()) == sorted_rows(before)

    assert table.compact(TARGET).before <= 1  # nothing is left to do
    assert table.holds(batch(19))
    once = batch(20)
    assert table.append(files(table, once, [5000]), once)
    assert not table.append(files(table, batch(3), [5001]), batch(3))
    assert len(rows(kind, tmp_path)) == 2001


def sums_until(over: threading.Event, kind: str, folder: Path) -> list[tuple[int, int]]:
    """How many rows the table has, and their sum, looked at until it is *over*."""
    found: list[tuple[int, int]] = []
    while not found or not over.is_set():
        numbers = read(kind, folder)["n"].to_pylist()
        found.append((len(numbers), sum(numbers)))
    return found


def before_reader(kind: str, folder: Path) -> Any:
    """A read of the table as it is now, not done yet."""
    if kind == "delta":
        from deltalake import DeltaTable

        return DeltaTable(folder / "warehouse/lake/orders").to_pyarrow_table
    return open_catalog(folder / "warehouse").load_table("lake.orders").scan().to_arrow


def sorted_rows(some: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = some.sort_by("n").to_pylist()
    return found


def test_each_partition_is_packed_by_itself(kind: str, tmp_path: Path) -> None:
    if kind == "delta":
        from deltalake import write_deltalake

        for n in range(12):
            write_deltalake(
                tmp_path / "warehouse/lake/orders",
                numbers([n], f"w{n % 3}"),
                mode="append",
                partition_by=["word"],
            )
        table = prepared(kind, tmp_path)
    else:
        table = prepared(kind, tmp_path, partition_by=("word",))
        for n in range(12):
            table.append(files(table, batch(n), numbers([n], f"w{n % 3}")), batch(n))

    assert table.compact(TARGET).after == 3
    assert len(sizes(kind, tmp_path)) == 3
    assert [row["word"] for row in rows(kind, tmp_path)] == [f"w{n % 3}" for n in range(12)]


def test_a_batch_that_comes_while_files_are_packed_stays(kind: str, tmp_path: Path) -> None:
    """An append is in nobody's way; files that an upsert has replaced meanwhile are not brought back."""
    table, other = prepared(kind, tmp_path), prepared(kind, tmp_path)
    for number in range(4):
        table.append(files(table, batch(number), numbers([number], "old")), batch(number))
    packing: Any = table
    load, times = packing._load, [0]

    def busy() -> Any:
        loaded = load()
        times[0] += 1
        if times[0] == 1:
            other.append(files(other, batch(4), numbers([4], "old")), batch(4))
            other.upsert(files(other, batch(5), numbers([2], "new")), ("n",), batch(5))
        return loaded

    packing._load = busy
    table.compact(TARGET)

    found = [(row["n"], row["word"]) for row in rows(kind, tmp_path)]
    assert found == [(0, "old"), (1, "old"), (2, "new"), (3, "old"), (4, "old")]


def test_files_written_by_spark_and_by_us_are_packed_together(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "a place with 50% more"
    table = prepared(kind, place)
    table.append(files(table, batch(0), numbers([1, 2, 3], "old")), batch(0))
    table.upsert(files(table, batch(1), numbers([2], "new")), ("n",), batch(1))
    table.append(
        files(table, Once("any / name %", "q", 0), numbers([4], "old")), Once("any / name %", "q", 0)
    )
    table.compact(TARGET)
    table.sweep(later())

    assert len(sizes(kind, place)) == 1
    found = [(row["n"], row["word"]) for row in rows(kind, place)]
    assert found == [(1, "old"), (2, "new"), (3, "old"), (4, "old")]


def test_what_nobody_needs_is_swept_and_what_is_young_is_not(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)
    for number in range(3):
        table.append(files(table, batch(number), [number]), batch(number))
    abandoned = files(table, batch(3), [3])  # by a driver that was killed, or by one that is still at it
    old = {*all_files(tmp_path)}
    table.compact(TARGET)

    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    table.expire(hour_ago)
    assert table.sweep(hour_ago) == []
    assert old <= all_files(tmp_path)

    expired = table.expire(later())
    swept = table.sweep(later())
    assert len(all_files(tmp_path)) == len(sizes(kind, tmp_path)) == 1
    assert f"{abandoned}/part-0.parquet" in swept
    assert Counter(row["n"] for row in rows(kind, tmp_path)) == Counter(range(3))
    if kind == "iceberg":
        assert expired == 3
        snapshots = open_catalog(tmp_path / "warehouse").load_table("lake.orders").metadata.snapshots
        assert [each.summary.operation.value for each in snapshots] == ["replace"]  # no row has changed
    assert table.holds(batch(2))
    assert table.append(files(table, Once("orders", "q", 3), [3]), batch(3))
    assert len(rows(kind, tmp_path)) == 4


def test_an_empty_table_has_nothing_to_be_kept_in_order(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)

    assert table.compact(TARGET) == Compacted()
    assert table.expire(later()) == 0
    table.sweep(later())
    assert rows(kind, tmp_path) == []
