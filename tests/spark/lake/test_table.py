"""Batches committed to a lake table once, of either kind. Without Spark: the files are written here."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyiceberg", reason='pyiceberg is not installed: pip install "millstream[spark]"')
pytest.importorskip("deltalake", reason='deltalake is not installed: pip install "millstream[spark]"')

from tests.spark.lake.support import KINDS, SCHEMA, batch, files, numbers, options, prepared, read, rows

from millstream.spark.lake import Contended, Incompatible, LakeTable, TableOptions, open_catalog, open_table
from millstream.spark.once import Once
from millstream.spark.words import InvalidOption

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", KINDS)]


def append(table: LakeTable, once: Once, *parts: Any) -> bool:
    return table.append(files(table, once, *parts), once)


def upsert(table: LakeTable, once: Once, *parts: Any, key: tuple[str, ...] = ("n",)) -> bool:
    return table.upsert(files(table, once, *parts), key, once)


def found(kind: str, folder: Path) -> list[int]:
    return [row["n"] for row in rows(kind, folder)]


def test_a_batch_that_is_committed_again_changes_nothing(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)

    assert not table.holds(batch(0))
    assert append(table, batch(0), [1], [2])
    assert table.holds(batch(0))
    assert not append(table, batch(0), [1, 2, 99])
    assert append(table, batch(1), [3])
    assert not append(table, batch(0), [98])
    assert found(kind, tmp_path) == [1, 2, 3]


def test_checkpoints_and_pipelines_count_by_themselves(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)
    append(table, batch(5), [1])

    assert append(table, batch(0, "another checkpoint"), [2])
    assert append(table, Once("refunds", "q", 0), [3])
    assert found(kind, tmp_path) == [1, 2, 3]


def test_a_batch_without_rows_is_remembered_too(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)

    assert append(table, batch(0), [])
    assert upsert(table, batch(1), [])
    assert table.holds(batch(1))
    assert found(kind, tmp_path) == []


@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_of_two_drivers_only_one_commits(kind: str, mode: str, whose: str, tmp_path: Path) -> None:
    """The other looked, found nothing, and was overtaken before it committed; whoever made the table."""
    if whose == "theirs":
        made_by_others(kind, tmp_path, [])
    table, other = prepared(kind, tmp_path), prepared(kind, tmp_path)
    append(table, batch(0), [1])
    ours, theirs = files(table, batch(1), [2, 3]), files(other, batch(1), [3, 2])
    overtaken: Any = table
    load, times = overtaken._load, [1]

    def overtaking() -> Any:
        loaded = load()
        if times:
            times.pop()
            assert commit(other, theirs)
        return loaded

    def commit(it: LakeTable, folder: str) -> bool:
        return it.append(folder, batch(1)) if mode == "append" else it.upsert(folder, ("n",), batch(1))

    overtaken._load = overtaking
    assert not commit(table, ours)
    assert found(kind, tmp_path) == [1, 2, 3]


def test_somebody_elses_commit_is_only_a_delay(kind: str, tmp_path: Path) -> None:
    table, other = prepared(kind, tmp_path), prepared(kind, tmp_path)
    delayed: Any = table
    load, waiting = delayed._load, [Once("other", "q", 0)]
    folder = files(table, batch(0), [1])

    def delaying() -> Any:
        loaded = load()
        if waiting:
            append(other, waiting.pop(), [5])
        return loaded

    delayed._load = delaying
    assert table.append(folder, batch(0))
    assert table.holds(batch(0))
    assert found(kind, tmp_path) == [1, 5]


def test_a_table_that_never_rests_is_given_up(kind: str, tmp_path: Path) -> None:
    table, other = prepared(kind, tmp_path), prepared(kind, tmp_path)
    restless: Any = table
    load, number = restless._load, iter(range(1000))
    folder = files(table, batch(0), [1])

    def busy() -> Any:
        loaded = load()
        append(other, Once("other", "q", next(number)), [5])
        return loaded

    restless._load = busy
    with pytest.raises(Contended, match=r"lake\.orders: others committed 20 times"):
        table.append(folder, batch(0))


DRIVER = """
import sys
from pathlib import Path
from tests.spark.lake.support import batch, files, prepared
kind, mode, folder = sys.argv[1:]
table = prepared(kind, Path(folder))
print("ready", flush=True)
sys.stdin.readline()
for number in range(6):
    once = batch(number)
    ours = files(table, once, [number * 2, number * 2 + 1])
    done = table.append(ours, once) if mode == "append" else table.upsert(ours, ("n",), once)
    print(int(done), flush=True)
"""


def test_two_drivers_at_the_same_time_never_both_commit_a_batch(kind: str, tmp_path: Path) -> None:
    """From the table's very making on."""
    command = [sys.executable, "-c", DRIVER, kind, "append", str(tmp_path)]
    drivers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for each in drivers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in drivers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    said = [each.communicate(timeout=120)[0].split() for each in drivers]

    assert [each.returncode for each in drivers] == [0, 0]
    assert [int(ours) + int(theirs) for ours, theirs in zip(*said, strict=True)] == [1] * 6
    assert Counter(found(kind, tmp_path)) == Counter(range(12))


def test_rows_with_the_same_key_give_way(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)
    append(table, batch(0), numbers(range(100), "old"), numbers(range(1000, 1100), "old"))

    assert upsert(table, batch(1), numbers([3, 99, 200], "new"))
    assert not upsert(table, batch(1), numbers([4], "twice"))

    now = {row["n"]: row["word"] for row in rows(kind, tmp_path)}
    assert len(rows(kind, tmp_path)) == len(now) == 201
    assert {n for n, word in now.items() if word == "new"} == {3, 99, 200}


def sequenced(*some: tuple[int, int | None, str]) -> pa.Table:
    schema = pa.schema([("n", pa.int64()), ("at", pa.int32()), ("word", pa.string())])
    return pa.table(dict(zip(schema.names, map(list, zip(*some, strict=True)), strict=True)), schema=schema)


def test_of_two_rows_with_a_key_the_greater_stays_whichever_came_first(kind: str, tmp_path: Path) -> None:
    """What lies where the row came last stays as it is: files, partitions, columns, the batch's number."""
    schema = pa.schema([("n", pa.int64()), ("word", pa.string()), ("at", pa.int64())])
    table = prepared(kind, tmp_path, schema)
    first = sequenced((1, 5, "old"), (2, 5, "old"), (3, None, "old"), (4, 5, "old"), (5, None, "old"))
    second = sequenced(
        (1, 4, "late"), (2, 5, "new"), (3, 1, "new"), (4, None, "late"), (5, None, "new"), (6, None, "new")
    )
    for number, some in enumerate([first, second, second, first]):
        once = batch(number)
        assert table.upsert(files(table, once, some.slice(0, 3), some.slice(3)), ("n",), once, "at")
        assert table.holds(once)
        if number == 0:
            continue
        found = {row["n"]: (row["at"], row["word"]) for row in rows(kind, tmp_path)}
        assert len(found) == len(rows(kind, tmp_path))
        came_last = number == 3
        assert found == {
            1: (5, "old"),
            2: (5, "old" if came_last else "new"),
            3: (1, "new"),
            4: (5, "old"),
            5: (None, "old" if came_last else "new"),
            6: (None, "new"),
        }


def test_a_batch_of_which_every_row_is_too_late_is_remembered(kind: str, tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("word", pa.string()), ("at", pa.int64())])
    table = prepared(kind, tmp_path, schema)
    table.upsert(files(table, batch(0), sequenced((1, 5, "old"))), ("n",), batch(0), "at")

    assert table.upsert(files(table, batch(1), sequenced((1, 4, "late"))), ("n",), batch(1), "at")
    assert table.holds(batch(1))
    assert not table.upsert(files(table, batch(1), sequenced((1, 6, "twice"))), ("n",), batch(1), "at")
    assert rows(kind, tmp_path) == [{"n": 1, "word": "old", "at": 5}]


def test_a_key_of_several_columns_some_of_them_null(kind: str, tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("word", pa.string()), ("value", pa.list_(pa.int32()))])
    table = prepared(kind, tmp_path, schema)

    def some(*of: tuple[int | None, str | None, list[int]]) -> pa.Table:
        columns = list(zip(*of, strict=True))
        return pa.table(dict(zip(schema.names, map(list, columns), strict=True)), schema=schema)

    old = [(1, "a", [1]), (1, "b", [1]), (None, "a", [1]), (0, "a", [1]), (None, None, [1]), (0, "", [1])]
    append(table, batch(0), some(*old))
    upsert(table, batch(1), some((1, "a", [2]), (None, "a", [2]), (None, None, [2])), key=("n", "word"))

    now = Counter((row["n"], row["word"], row["value"][0]) for row in rows(kind, tmp_path))
    assert now == Counter(
        [(1, "a", 2), (1, "b", 1), (None, "a", 2), (0, "a", 1), (None, None, 2), (0, "", 1)]
    )


def test_a_row_is_replaced_whole(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)
    append(table, batch(0), numbers([1, 2], "old"))
    upsert(table, batch(1), pa.table({"n": pa.array([1], pa.int64())}))

    assert rows(kind, tmp_path) == [{"n": 1, "word": None}, {"n": 2, "word": "old"}]


def test_new_columns_appear_and_old_rows_have_none(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)
    append(table, batch(0), [1])
    table.prepare(SCHEMA.append(pa.field("note", pa.string())))
    append(table, batch(1), numbers([2]).append_column("note", [["new"]]))
    table.prepare(SCHEMA)  # a batch that lacks a column takes none away
    upsert(table, batch(2), numbers([3]))

    assert [(row["n"], row["note"]) for row in rows(kind, tmp_path)] == [(1, None), (2, "new"), (3, None)]


def test_a_column_that_has_become_something_else_is_refused(kind: str, tmp_path: Path) -> None:
    table = prepared(kind, tmp_path)

    table.prepare(pa.schema([("n", pa.int32())]))  # narrower is no matter
    for other in (pa.string(), pa.float64(), pa.list_(pa.int64())):
        with pytest.raises(Incompatible, match=r"lake\.orders: column n is int64, the batch has"):
            table.prepare(pa.schema([("n", other)]))


def test_what_columns_there_are(kind: str, tmp_path: Path) -> None:
    assert open_table(options(kind, tmp_path)).schema() is None

    schema = prepared(kind, tmp_path).schema()
    assert schema is not None
    assert schema.names == ["n", "word"]


def made_by_others(kind: str, folder: Path, some: list[int]) -> None:
    """A table such as anybody's, who knows nothing of us."""
    if kind == "delta":
        from deltalake import write_deltalake

        write_deltalake(folder / "warehouse/lake/orders", numbers(some))
    else:
        catalog = open_catalog(folder / "warehouse")
        catalog.create_namespace("lake")
        catalog.create_table("lake.orders", SCHEMA).append(numbers(some))


def test_a_table_that_was_there_before_can_be_added_to(kind: str, tmp_path: Path) -> None:
    made_by_others(kind, tmp_path, [0])

    table = prepared(kind, tmp_path)
    assert append(table, batch(0), [1])
    assert upsert(table, batch(1), [0, 2])
    assert found(kind, tmp_path) == [0, 1, 2]
    assert read(kind, tmp_path).num_rows == 3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": "orders"}, r"namespace\.name"),
        ({"mode": "upsert"}, "needs a key"),
        ({"key": ("n",)}, "key is for mode upsert"),
        ({"sequence_by": "n"}, "sequence_by is for mode upsert"),
        ({"mode": "replace"}, "append or upsert"),
        ({"partition_by": ("week(ts)",)}, r"write a column, or year"),
    ],
)
def test_options_that_make_no_sense_are_refused(kind: Any, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        TableOptions(**({"name": "lake.orders", "warehouse": "w", "kind": kind} | wrong))
