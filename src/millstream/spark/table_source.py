"""A lake table as a stream: the rows that are there, then those that are added.

Offsets are the sequence numbers that Iceberg gives to snapshots. A stream begins
with all files of the snapshot that it finds, and goes on with the files that each
later snapshot has added. Rows that are changed or deleted are not part of a
stream, so a snapshot that does so stops it; one that only puts the same rows into
other files is passed over.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import pyarrow
import pyarrow.fs
import pyarrow.parquet
from pyiceberg.manifest import ManifestEntryStatus
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from millstream.spark.hang_up import expect_hang_up
from millstream.spark.lake import open_catalog
from millstream.spark.words import InvalidOption

_BEGINNING: Final = 0  # no snapshot has this number
_SAME_ROWS: Final = "replace"  # what Iceberg calls a snapshot that has the rows of the one before


def spark_schema(table: Any) -> Any:
    """The columns of an Iceberg *table* as Spark names their types."""
    return from_arrow_schema(table.schema().as_arrow())


@final
class TableSource(DataSource):
    """`spark.readStream.format("millstream_table")`, after `spark.dataSource.register(TableSource)`."""

    @classmethod
    def name(cls) -> str:
        return "millstream_table"

    def schema(self) -> Any:
        return spark_schema(_open(self.options))

    def streamReader(self, schema: Any) -> "TableReader":  # noqa: N802  Spark's name
        return TableReader(dict(self.options), schema)


@final
class Files(InputPartition):
    """Some of the table's files, for one task."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths


@final
class TableReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads one table as it grows."""

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._options = dict(options)
        self._schema = schema
        self._goal: int | None = None  # where a query that only catches up stops

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        return {"sequence": _BEGINNING}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        self._goal = last_number(_open(self._options))

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        return {"sequence": last_number(_open(self._options))}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802  Spark's name
        latest = last_number(_open(self._options)) if self._goal is None else self._goal
        return {"sequence": max(latest, start["sequence"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Files]:
        found = added_files(_open(self._options), start["sequence"], end["sequence"])
        return [Files([each]) for each in found]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, Files):
            schema = to_arrow_schema(self._schema, timezone="UTC")
            for path in partition.paths:
                yield from _rows(path, schema)

    def commit(self, end: dict[str, int]) -> None:
        """Spark keeps the offsets."""

    def stop(self) -> None:
        expect_hang_up()


def _open(options: Mapping[str, str]) -> Any:
    for name in ("table", "warehouse"):
        if name not in options:
            raise InvalidOption(f"say which table by the option {name!r}")
    catalog = options.get("catalog")
    return open_catalog(options["warehouse"], None if catalog is None else json.loads(catalog)).load_table(
        options["table"]
    )


def last_number(table: Any) -> int:
    snapshot = table.current_snapshot()
    return _BEGINNING if snapshot is None else int(snapshot.sequence_number)


def added_files(table: Any, after: int, until: int) -> list[str]:
    """The files with the rows that came after snapshot number *after*, up to number *until*."""
    by_number = {each.sequence_number: each for each in table.snapshots()}
    if after == _BEGINNING and until in by_number:
        scan = table.scan(snapshot_id=by_number[until].snapshot_id)
        return sorted(task.file.file_path for task in scan.plan_files())
    found: list[str] = []
    for number in range(after + 1, until + 1):
        snapshot = by_number.get(number)
        if snapshot is None:
            raise InvalidOption(
                f"{'.'.join(table.name())}: snapshot {number} has expired before its rows were read; "
                "begin anew with another checkpoint, and keep snapshots for longer"
            )
        operation = snapshot.summary.operation.value
        if operation == _SAME_ROWS:
            continue
        if operation != "append":
            raise InvalidOption(
                f"{'.'.join(table.name())}: snapshot {number} has changed rows ({operation}); "
                "only a table that is only added to can be read as a stream"
            )
        found += _files_of(table, snapshot)
    return found


def _files_of(table: Any, snapshot: Any) -> list[str]:
    return sorted(
        entry.data_file.file_path
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == snapshot.snapshot_id
        for entry in manifest.fetch_manifest_entry(table.io)
        if entry.status is ManifestEntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id
    )


def _rows(path: str, schema: Any) -> Iterator[Any]:
    """The rows of a Parquet file with the columns of *schema*: null where the file is older than a column."""
    system, place = pyarrow.fs.FileSystem.from_uri(path)
    with system.open_input_file(place) as source:
        for batch in pyarrow.parquet.ParquetFile(source).iter_batches():
            columns = [
                batch.column(field.name).cast(field.type)
                if field.name in batch.schema.names
                else pyarrow.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)
