"""Streams into lake tables, exactly once: Spark writes the files, the driver commits them."""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from millstream.spark.lake.files import delete_folder
from millstream.spark.lake.options import TableOptions
from millstream.spark.lake.table import LakeTable
from millstream.spark.once import Once, query_id_of
from millstream.spark.words import InvalidOption

# Spark's older form of timestamps is one that Iceberg and Delta do not know.
_TIMESTAMPS: Final = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
_PLACE: Final = "millstream_place"


def table_once(
    pipeline: str, options: TableOptions, *, query_id: str | None = None
) -> Callable[[Any, int], bool]:
    """A function for `foreachBatch` that puts each micro-batch into the table once.

        orders = TableOptions(name="lake.orders", warehouse="warehouse")
        frame.writeStream.foreachBatch(table_once("orders", orders)).start()

    The table is made if there is none, and gets the columns it does not have.
    Whatever is killed and run again, and however many drivers run it, a batch
    is committed once. For *pipeline* and *query_id* see `exactly_once`. The
    function returns whether it made the batch's rows: not if it found it committed.
    """

    def write(frame: Any, batch_id: int) -> bool:
        once = Once(pipeline, query_id or query_id_of(frame), batch_id)
        table = open_table(options)
        table.prepare(arrow_schema(frame))
        if table.holds(once):
            return False
        if options.mode == "upsert":
            frame = _last_of_each(frame, options)
        folder = table.folder(once)
        _write(table, frame, folder)
        if options.mode == "upsert":
            taken = table.upsert(folder, options.key, once, options.sequence_by)
        else:
            taken = table.append(folder, once)
        if not taken:
            delete_folder(folder)
        return True

    return write


def open_table(options: TableOptions) -> LakeTable:
    """The table that *options* name, which need not be there yet."""
    if options.kind == "delta":
        from millstream.spark.lake.delta import DeltaLakeTable

        return DeltaLakeTable(options.name, options.warehouse, options.partitions())
    from millstream.spark.lake.catalog import open_catalog
    from millstream.spark.lake.iceberg import IcebergTable

    return IcebergTable(open_catalog(options.warehouse, options.catalog), options.name, options.partitions())


def _write(table: LakeTable, frame: Any, folder: str) -> None:
    schema = table.schema()
    assert schema is not None, "the table has been prepared"
    ready, folders = table.partitioned(_cast(frame, schema))
    frame.sparkSession.conf.set(*_TIMESTAMPS)
    if folders:
        ready = ready.hint("rebalance", *folders)  # or each task would write a file for each partition
    ready.write.option("compression", "zstd").partitionBy(*folders).parquet(folder)


def _cast(frame: Any, schema: pa.Schema) -> Any:
    """*frame* with the table's types: what is narrower in the batch is widened."""
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

    found = []
    for field in frame.schema.fields:
        column = frame[f"`{field.name}`"]
        index = schema.get_field_index(field.name)
        if index >= 0 and to_arrow_type(field.dataType, timezone="UTC") != schema.field(index).type:
            wanted = from_arrow_type(schema.field(index).type)
            if wanted != field.dataType:
                column = column.cast(wanted)
        found.append(column.alias(field.name))
    return frame.select(*found)


def _last_of_each(frame: Any, options: TableOptions) -> Any:
    """Of rows with the same key the last, as the table tells it or in the order in which they were read."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    for name in options.key:
        _check_column(frame, options.name, "its key", name)
    order = [f.desc(_PLACE)]
    if options.sequence_by is not None:
        _check_column(frame, options.name, "its sequence_by", options.sequence_by)
        order.insert(0, f.desc_nulls_last(f"`{options.sequence_by}`"))
    latest = Window.partitionBy(*(f"`{name}`" for name in options.key)).orderBy(*order)
    placed = frame.withColumn(_PLACE, f.monotonically_increasing_id())
    ranked = placed.withColumn("millstream_rank", f.row_number().over(latest))
    return ranked.where("millstream_rank = 1").drop("millstream_rank", _PLACE)


def _check_column(frame: Any, table: str, what: str, name: str) -> None:
    if name not in frame.columns:
        raise InvalidOption(f"table {table}: {what} is {name}, and there is no such column in the batch")


def arrow_schema(frame: Any) -> pa.Schema:
    """The columns of *frame* as `LakeTable.prepare` takes them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema, timezone="UTC")
