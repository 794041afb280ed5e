"""Writing a stream to a topic exactly once: what to hand to `foreachBatch`."""

from collections.abc import Callable, Mapping
from typing import Any

from millstream.spark.once import query_id_of


def exactly_once(
    pipeline: str, topic: str, options: Mapping[str, str], *, query_id: str | None = None
) -> Callable[[Any, int], None]:
    """A function that writes each micro-batch to *topic* once, whatever is killed and run again.

        frame.writeStream.foreachBatch(exactly_once("totals", "order-totals", {...})).start()

    *pipeline* names the work in the cluster: no two queries that run at the
    same time may have the same. *options* are those of the sink. *query_id*
    is asked of Spark unless it is given; it must stay the same as long as the
    checkpoint does.
    """

    def write(frame: Any, batch_id: int) -> None:
        query = query_id or query_id_of(frame)
        writer = frame.write.format("millstream").mode("append").options(**options).option("topic", topic)
        writer.option("pipeline", pipeline).option("queryId", query).option("batchId", str(batch_id)).save()

    return write
