"""Rows that make room for others: files of an Iceberg table written again without the keys of a batch.

Only files that may hold one of the keys are looked at, by what the table knows
of each file's least and greatest values; only those that do hold one are
written again. One of them at a time is in memory, and the keys of the batch.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pyiceberg.expressions import AlwaysTrue, And, GreaterThanOrEqual, In, LessThanOrEqual

from millstream.spark.lake.iceberg_files import FileWriter, Rewritten, rows_of

_MOST_NAMED: Final = 200  # more values than these are only looked at as a range, by pyiceberg too
_ROW: Final = "millstream_row"


def without_keys(table: Any, key: tuple[str, ...], files: Sequence[str]) -> Rewritten:
    """What the table's files are to become so that no row has the *key* of a row in *files*."""
    keys = _keys(table, key, files)
    done = Rewritten()
    if not keys.num_rows:
        return done
    for task in table.scan(row_filter=_may_hold(keys)).plan_files():
        held = _held(table, task, key)
        kept = _others(held, keys)
        if len(kept) == held.num_rows:
            continue
        done.removed.append(task.file)
        if len(kept):
            writer = FileWriter(table)
            done.written.append(writer.url)
            every = pa.Table.from_batches(rows_of(table, [task]))
            for batch in every.take(kept).to_batches():
                writer.write(batch)
            done.added.append(writer.close())
    return done


def _held(table: Any, task: Any, key: tuple[str, ...]) -> pa.Table:
    """The keys of one of the table's files, row by row."""
    schema = _schema(table, key)
    found = [
        pa.Table.from_batches([batch]).select(list(key)).cast(schema) for batch in rows_of(table, [task], key)
    ]
    return pa.concat_tables([schema.empty_table(), *found])


def _keys(table: Any, key: tuple[str, ...], files: Sequence[str]) -> pa.Table:
    """The different keys in *files*."""
    schema = _schema(table, key)
    found = []
    for url in files:
        with table.io.new_input(url).open() as file:
            found.append(pyarrow.parquet.read_table(file, columns=list(key)).select(list(key)).cast(schema))
    return pa.concat_tables([schema.empty_table(), *found]).group_by(list(key)).aggregate([])


def _schema(table: Any, key: tuple[str, ...]) -> pa.Schema:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    plain = schema_to_pyarrow(table.schema().select(*key), include_field_ids=False)
    return pa.schema([plain.field(name).with_nullable(True) for name in key])


def _may_hold(keys: pa.Table) -> Any:
    """What must be true of a file's values for it to hold one of *keys*."""
    found: Any = AlwaysTrue()
    for name in keys.column_names:
        column = keys.column(name)
        if column.null_count or not _has_bounds(column.type):
            continue
        different = pc.unique(column)
        if len(different) <= _MOST_NAMED:
            found = And(found, In(name, different.to_pylist()))
        else:
            bounds = pc.min_max(column).as_py()
            found = And(found, GreaterThanOrEqual(name, bounds["min"]), LessThanOrEqual(name, bounds["max"]))
    return found


def _has_bounds(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_date)
    return any(test(kind) for test in tests)


def _others(held: pa.Table, keys: pa.Table) -> pa.Array:
    """Which rows of *held* have none of *keys*, in order. No value is the same as no value."""
    left = _comparable(held).append_column(_ROW, pa.array(range(held.num_rows), pa.int64()))
    right = _comparable(keys)
    names = right.column_names
    kept = left.join(right, keys=names, join_type="left anti").column(_ROW).combine_chunks()
    return kept.take(pc.array_sort_indices(kept))


def _comparable(rows: pa.Table) -> pa.Table:
    """Two columns for each: whether there is a value, and the value, or one that stands for none."""
    found = {}
    for number, column in enumerate(rows.columns):
        found[f"there{number}"] = column.is_valid()
        found[f"value{number}"] = pc.fill_null(column, _stand_in(column.type))
    return pa.table(found)


def _stand_in(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.scalar("", kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.scalar(b"", kind)
    return pa.array([0], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)[0]
