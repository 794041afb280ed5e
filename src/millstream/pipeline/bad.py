"""Records that could not be used: kept in a table with the reason, where they were, and their bytes.

The table is a journal. A replay puts through again what was added since the one
before it; what is still no good is added once more.
"""

from typing import Any, Final

from millstream.pipeline.context import Context
from millstream.pipeline.definition import Flow, table
from millstream.pipeline.formats import REASON, RECORD
from millstream.pipeline.sinks import Write, open_sink

_RECORD: Final = ("topic", "partition", "offset", "timestamp", "key", "value")


def bad_sink(context: Context, work: str, flow: Flow, query_id: str) -> Write:
    """What writes `bad_rows` into the table of *flow*'s bad records."""
    return open_sink(context, f"{work}.bad", table(flow.bad_records), query_id)


def bad_rows(rows: Any, flow: Flow, source: str) -> Any:
    """Of marked *rows* those that are bad, as the table has them."""
    from pyspark.sql import functions as F  # noqa: N812

    return rows.where(f"{REASON} IS NOT NULL").select(
        F.lit(flow.name).alias("flow"),
        F.lit(source).alias("source"),
        F.col(REASON).alias("reason"),
        *(F.col(f"{RECORD}.{each}") for each in _RECORD),
        F.current_timestamp().alias("recorded"),
    )


def as_read(rows: Any, raw: Any) -> Any:
    """*rows* of the table as the records they were, with the columns of *raw*; headers are not kept."""
    from pyspark.sql import functions as F  # noqa: N812

    return rows.select(
        *(
            F.col(field.name) if field.name in _RECORD else F.lit(None).cast(field.dataType).alias(field.name)
            for field in raw.schema.fields
        )
    )
