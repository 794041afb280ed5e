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
from pyiceberg.io.pyarrow import parquet_file_to_data_file, schema_to_pyarrow

from millstream.spark.lake.iceberg_files import FileWriter, Rewritten, rows_of

_MOST_NAMED: Final = 200  # more values than these are only looked at as a range, by pyiceberg too
_ROW: Final = "millstream_row"
_GIVEN: Final = "millstream_given"


def replacing(table: Any, key: tuple[str, ...], files: Sequence[str], sequence_by: str | None) -> Rewritten:
    """What the table's files are to become so that the rows in *files* replace those with the same *key*.

    Those that are less than the table's own in the column *sequence_by* are
    left out instead; what is left of their files is written again.
    """
    columns = key if sequence_by is None else tuple(dict.fromkeys((*key, sequence_by)))
    given = _keys(table, columns, files)
    done = Rewritten()
    overtaken = [pa.array([], pa.int64())]
    tasks = table.scan(row_filter=_may_hold(given.select(list(key)))).plan_files() if given.num_rows else ()
    for task in tasks:
        held = _held(table, task, columns)
        gone, late = _matched(held, given, key, sequence_by)
        overtaken += late.chunks
        if len(gone):
            done.removed.append(task.file)
            every = pa.Table.from_batches(rows_of(table, [task]))
            _write(table, every.take(_without(held.num_rows, gone)), done)
    late_keys = given.select(list(key)).take(pa.concat_arrays(overtaken).unique())
    for url in files:
        _add(table, url, key, late_keys, done)
    return done


def _add(table: Any, url: str, key: tuple[str, ...], late: pa.Table, done: Rewritten) -> None:
    """Add the rows of the file at *url*, except for those whose key is one of *late*."""
    if late.num_rows:
        with table.io.new_input(url).open() as file:
            rows = _as_in(table, pyarrow.parquet.read_table(file))
        gone, _ = _matched(rows.select(list(key)), late, key, None)
        if len(gone):
            _write(table, rows.take(_without(rows.num_rows, gone)), done)
            return
    done.added.append(parquet_file_to_data_file(table.io, table.metadata, url))


def _write(table: Any, rows: pa.Table, done: Rewritten) -> None:
    """Have *rows*, if there are any, in a new file."""
    if rows.num_rows:
        writer = FileWriter(table)
        done.written.append(writer.url)
        for batch in rows.to_batches():
            writer.write(batch)
        done.added.append(writer.close())


def _as_in(table: Any, rows: pa.Table) -> pa.Table:
    """*rows* with every column of *table*."""
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _held(table: Any, task: Any, key: tuple[str, ...]) -> pa.Table:
    """The keys of one of the table's files, row by row."""
    schema = _schema(table, key)
    found = [
        pa.Table.from_batches([batch]).select(list(key)).cast(schema) for batch in rows_of(table, [task], key)
    ]
    return pa.concat_tables([schema.empty_table(), *found])


def _keys(table: Any, key: tuple[str, ...], files: Sequence[str]) -> pa.Table:
    """The different keys in *files*, or what else these columns hold."""
    schema = _schema(table, key)
    found = []
    for url in files:
        with table.io.new_input(url).open() as file:
            found.append(pyarrow.parquet.read_table(file, columns=list(key)).select(list(key)).cast(schema))
    return pa.concat_tables([schema.empty_table(), *found]).group_by(list(key)).aggregate([])


def _schema(table: Any, key: tuple[str, ...]) -> pa.Schema:
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


def _matched(
    held: pa.Table, given: pa.Table, key: tuple[str, ...], sequence_by: str | None
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Which rows of *held* give way to one of *given*, and which of *given* to one that is greater.

    No value is the same key as no value, and less than any.
    """
    left, right = (_comparable(each.select(list(key))) for each in (held, given))
    names = left.column_names
    left = left.append_column(_ROW, pa.array(range(held.num_rows), pa.int64()))
    right = right.append_column(_GIVEN, pa.array(range(given.num_rows), pa.int64()))
    found = left.join(right, keys=names, join_type="inner").select([_ROW, _GIVEN])
    if sequence_by is None:
        return found[_ROW], found[_GIVEN].slice(0, 0)
    old, new = held[sequence_by].take(found[_ROW]), given[sequence_by].take(found[_GIVEN])
    greater = pc.and_(old.is_valid(), pc.fill_null(pc.less(new, old), True))
    return found[_ROW].filter(pc.invert(greater)), found[_GIVEN].filter(greater)


def _without(count: int, gone: pa.ChunkedArray) -> pa.Array:
    """The numbers of the rows that are left of *count*, in order."""
    every = pa.array(range(count), pa.int64())
    return every.filter(pc.invert(pc.is_in(every, gone.combine_chunks())))


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
