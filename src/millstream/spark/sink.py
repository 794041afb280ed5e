"""Writers for topics, as Spark sees them."""

from collections.abc import Iterator
from typing import Any, final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from millstream.spark.rows import check_columns
from millstream.spark.send import send_rows
from millstream.spark.send_once import send_rows_once
from millstream.spark.sink_options import SinkOptions
from millstream.spark.words import InvalidOption


@final
class Written(WriterCommitMessage):
    """What one task has written."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame to topics."""

    def __init__(self, options: SinkOptions, schema: Any, *, overwrite: bool) -> None:
        check_write(options, schema, overwrite=overwrite)
        self._options = options

    def write(self, iterator: Iterator[Any]) -> Written:
        if self._options.once is None:
            return Written(send_rows(self._options, iterator))
        task = TaskContext.get()
        assert task is not None, "only tasks write"
        return Written(send_rows_once(self._options, self._options.once, task.partitionId(), iterator))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes each micro-batch of a stream to topics, at least once: Spark tells a task no batch's number."""

    def __init__(self, options: SinkOptions, schema: Any, *, overwrite: bool) -> None:
        if options.once is not None:
            raise InvalidOption("writeStream writes at least once; for exactly once see `exactly_once`")
        check_write(options, schema, overwrite=overwrite)
        self._options = options

    def write(self, iterator: Iterator[Any]) -> Written:
        return Written(send_rows(self._options, iterator))


def check_write(options: SinkOptions, schema: Any, *, overwrite: bool) -> None:
    """Refuse, before any task runs, what cannot be written."""
    if overwrite:
        raise InvalidOption("a topic cannot be overwritten; use mode('append') or outputMode('append')")
    check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, options.topic)
