"""What is to be done once: one micro-batch of one query of a pipeline."""

from dataclasses import dataclass
from typing import Any, Final, final

_QUERY_ID: Final = "sql.streaming.queryId"  # which Spark keeps with the checkpoint, over restarts


@final
@dataclass(frozen=True)
class Once:
    """Batch *batch_id* of the query whose checkpoint has *query_id*; *pipeline* is its name to people."""

    pipeline: str
    query_id: str
    batch_id: int


def query_id_of(frame: Any) -> str:
    """The id of the query that handed *frame* to `foreachBatch`."""
    found = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    if not found:
        raise RuntimeError("Spark does not tell the query's id here: give a query_id of your own")
    return str(found)
