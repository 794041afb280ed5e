"""The `millstream` data source, as Spark sees it. Translates; the rules are in the modules beside it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millstream.client.offsets import LATEST
from millstream.spark.fetch import read_range
from millstream.spark.hang_up import expect_hang_up
from millstream.spark.options import Place, SourceOptions, read_options, wants_headers
from millstream.spark.plan import Gap, Gone, Range, limited, tasks
from millstream.spark.sink import BatchWriter, StreamWriter
from millstream.spark.sink_options import read_sink_options
from millstream.spark.view import Offsets, View
from millstream.spark.words import from_json, to_json

_COLUMNS: Final = (
    "key binary, value binary, topic string, partition int, "
    "offset bigint, timestamp timestamp, timestampType int"
)
_HEADERS: Final = ", headers array<struct<key: string, value: binary>>"

Json = dict[str, dict[str, int]]


class MillstreamSource(DataSource):
    """Topics of a Kafka cluster. The options and columns are those of Spark's own Kafka connector."""

    @classmethod
    def name(cls) -> str:
        return "millstream"

    def schema(self) -> str:
        return _COLUMNS + (_HEADERS if wants_headers(_small(self.options)) else "")

    def reader(self, schema: Any) -> "BatchReader":
        return BatchReader(read_options(_small(self.options), streaming=False))

    def streamReader(self, schema: Any) -> "StreamReader":  # noqa: N802  Spark's name
        return StreamReader(read_options(_small(self.options), streaming=True))

    def writer(self, schema: Any, overwrite: bool) -> BatchWriter:
        return BatchWriter(read_sink_options(_small(self.options)), schema, overwrite=overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802  Spark's name
        return StreamWriter(read_sink_options(_small(self.options)), schema, overwrite=overwrite)


class Task(InputPartition):
    """What one task reads."""

    def __init__(self, wanted: Range) -> None:
        self.wanted = wanted


class BatchReader(DataSourceReader):
    """Reads a topic as it is now, or the part of it that was asked for."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[Task]:
        view = View(self._options)
        try:
            partitions = view.partitions()
            start, end = view.start(partitions), view.end(partitions)
            ranges = view.readable(Range(each, start[each], end[each]) for each in partitions)
        finally:
            view.close()
        return _tasks(ranges, self._options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _read(partition, self._options)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics as they grow. The offsets that Spark keeps are `{"orders": {"0": 23}}`.

    The driver's copy stays alive as long as the query and holds its connections;
    the executors get copies that have never had any.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._view: View | None = None
        self._goal: Offsets | None = None  # where a query that only catches up stops

    def initialOffset(self) -> Json:  # noqa: N802  Spark's name
        view = self._cluster()
        return to_json(view.start(view.partitions()))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        most = self._options.max_offsets
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        self._goal = self._latest()

    def reportLatestOffset(self) -> Json:  # noqa: N802  Spark's name
        return to_json(self._latest())

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: N802  Spark's name
        begun = from_json(start)
        end = self._latest() if self._goal is None else self._goal
        self._cluster().lost([Gone(each, begun[each]) for each in sorted(set(begun) - set(end))])
        if isinstance(limit, ReadMaxRows):
            end = limited(begun, end, limit.max_rows)
        return to_json(end)

    def partitions(self, start: Json, end: Json) -> list[Task]:
        # A partition that was added is read from its beginning, which was offset 0.
        begun, ended = from_json(start), from_json(end)
        view = self._cluster()
        view.lost(
            [
                Gap(each, until, begun[each], 0, until)
                for each, until in ended.items()
                if until < begun.get(each, 0)
            ]
        )
        ranges = view.readable(Range(each, begun.get(each, 0), until) for each, until in ended.items())
        return _tasks(ranges, self._options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _read(partition, self._options)

    def commit(self, end: Json) -> None:
        """Spark keeps the offsets."""

    def stop(self) -> None:
        expect_hang_up()
        if self._view is not None:
            self._view.close()
            self._view = None

    def _cluster(self) -> View:
        if self._view is None:
            self._view = View(self._options)
        return self._view

    def _latest(self) -> Offsets:
        """Where there is no more to read: where the partitions end, or the stream is told to."""
        view = self._cluster()
        partitions = view.partitions()
        latest = view.latest(partitions)
        if self._options.end == Place(everywhere=LATEST):
            return latest
        ends = view.end(partitions)
        return {each: min(offset, ends[each]) for each, offset in latest.items()}


def _tasks(ranges: list[Range], options: SourceOptions) -> list[Task]:
    return [Task(each) for each in tasks(ranges, options.min_partitions, options.max_records)]


def _read(partition: InputPartition, options: SourceOptions) -> Iterator[Any]:
    if not isinstance(partition, Task):  # what Spark makes up where there is nothing to read
        return iter(())
    return read_range(options, partition.wanted)


def _small(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}
