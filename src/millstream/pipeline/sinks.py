"""Where rows go: functions of a DataFrame and the number of a batch that write it once."""

from collections.abc import Callable
from typing import Any

from millstream.pipeline.context import Context
from millstream.pipeline.definition import End, Table
from millstream.pipeline.formats import RECORD, encoded
from millstream.pipeline.tables import table_options
from millstream.spark.exactly_once import exactly_once
from millstream.spark.lake import table_once

Write = Callable[[Any, int], bool]


def open_sink(context: Context, work: str, into: End, query_id: str) -> Write:
    """What writes batches of *work* into a topic or a table; it returns whether the rows were made at all.

    They are not if the batch turns out to be in the table already.
    """
    name = f"{context.pipeline.name}.{work.replace('/', '.')}"
    if isinstance(into, Table):
        to_table = table_once(name, table_options(context, into), query_id=query_id)
        return lambda frame, batch: to_table(frame.drop(RECORD), batch)
    options = {**context.kafka, **into.options}
    to_topic = exactly_once(name, into.name, options, query_id=query_id)

    def write(frame: Any, batch: int) -> bool:
        to_topic(encoded(frame, into, context.folder), batch)
        return True

    return write
