"""Lake tables as sources: all rows that are there, or rows as they are added."""

import json
from typing import Any

from pyarrow.fs import FileSystem
from pyarrow.parquet import read_table as read_parquet
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

from millstream.pipeline.context import Context
from millstream.pipeline.definition import InvalidPipeline, Table
from millstream.spark.lake import TableOptions, arrow_schema, open_catalog, open_table
from millstream.spark.lake.options import KINDS
from millstream.spark.table_source import TableSource, added_files, last_number, spark_schema
from millstream.spark.words import one_of


def find_table(context: Context, name: str) -> Any:
    """The table *name* as pyiceberg has it, or None if there is none yet."""
    try:
        return open_catalog(context.warehouse, context.pipeline.catalog).load_table(name)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None


def table_options(context: Context, table: Table) -> TableOptions:
    """*table* as what writes it knows it."""
    return TableOptions(
        name=table.name,
        warehouse=context.warehouse,
        kind=one_of(f"{table}: kind", table.kind, KINDS),
        mode="upsert" if table.key else "append",
        key=table.key,
        sequence_by=table.sequence_by,
        partition_by=table.partition_by,
        catalog=context.pipeline.catalog if table.kind == "iceberg" else None,
    )


def prepare_table(context: Context, table: Table, frame: Any) -> None:
    """See to it that *table* can take rows such as *frame*'s."""
    open_table(table_options(context, table)).prepare(arrow_schema(frame))


def read_table(context: Context, session: Any, name: str, snapshot: int | None = None) -> Any:
    """The rows that table *name* has now, or had at *snapshot*, as a DataFrame."""
    table = _existing(context, name)
    schema = spark_schema(table)
    scan = table.scan(snapshot_id=snapshot)
    tasks = list(scan.plan_files())
    if not tasks:
        return session.createDataFrame([], schema)
    if any(task.delete_files for task in tasks):  # which Spark's Parquet reader would not heed
        return session.createDataFrame(scan.to_arrow())
    return session.read.schema(schema).parquet(*(task.file.file_path for task in tasks))


def count_rows(table: Any, flow: str, after: int = 0) -> int:
    """How many rows of the table of bad records are of *flow*, and came after snapshot number *after*."""
    files = added_files(table, after, last_number(table)) if last_number(table) > after else []
    return sum(_flows_in(each).count(flow) for each in files)


def _flows_in(path: str) -> list[str]:
    system, place = FileSystem.from_uri(path)
    with system.open_input_file(place) as file:
        return list(read_parquet(file, columns=["flow"]).column("flow").to_pylist())


def stream_table(context: Context, session: Any, name: str) -> Any:
    """The rows of table *name*, and those that are added to it later, as a stream."""
    _existing(context, name)
    session.dataSource.register(TableSource)
    options = {"table": name, "warehouse": context.warehouse}
    if context.pipeline.catalog is not None:
        options["catalog"] = json.dumps(dict(context.pipeline.catalog))
    return session.readStream.format(TableSource.name()).options(**options).load()


def _existing(context: Context, name: str) -> Any:
    table = find_table(context, name)
    if table is None:
        raise InvalidPipeline(f"no table {name!r} in {context.warehouse}")
    return table
