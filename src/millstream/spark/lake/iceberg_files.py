"""Files of an Iceberg table that take the place of others."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.parquet
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, parquet_file_to_data_file, schema_to_pyarrow
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT

_ROW_GROUP_BYTES: Final = 64 << 20


@final
@dataclass(frozen=True)
class Rewritten:
    """*removed* files give way to *added* ones; *written* are the URLs of those we made ourselves for it."""

    removed: list[Any] = field(default_factory=list)
    added: list[Any] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def into(self, commit: Any, properties: dict[str, str], *, same_rows: bool = False) -> None:
        """Make this part of the transaction *commit*."""
        if not self.removed and not self.added:
            return
        producer = commit.update_snapshot(snapshot_properties=properties)
        merging = commit.table_metadata.properties.get("commit.manifest-merge.enabled") == "true"
        if self.removed:
            kind = _SameRows if same_rows else _Overwrite
            snapshot = kind(Operation.OVERWRITE, commit, producer._io, snapshot_properties=properties)
        else:
            snapshot = producer.merge_append() if merging else producer.fast_append()
        with snapshot:
            for each in self.removed:
                snapshot.delete_data_file(each)
            for each in self.added:
                snapshot.append_data_file(each)


class _Overwrite(_OverwriteFiles):
    """As pyiceberg's own, which asks one evaluator in many threads, though that remembers what it looks at.

    It then passes over manifests with files that are to go, and fails: "Missing required files to delete".
    """

    def _build_manifest_evaluator(self, spec_id: int) -> Any:
        build = super()._build_manifest_evaluator
        return lambda manifest: build(spec_id)(manifest)


class _SameRows(_Overwrite):
    """A snapshot that says of itself that only files have changed, so that readers of changes pass over it.

    pyiceberg makes none such by itself.
    """

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Any:
        said = super()._summary(snapshot_properties)
        return Summary(Operation.REPLACE, **said.additional_properties)


def rows_of(
    table: Any, tasks: Iterable[Any], columns: tuple[str, ...] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of files, as the table has them now: columns by their number, deleted rows left out."""
    schema = table.schema() if columns is None else table.schema().select(*columns)
    scan = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
    for task in tasks:
        yield from scan.to_record_batches([task])  # one file at a time is in memory


@final
class FileWriter:
    """Writes one new Parquet file of *table*; `close` tells its entry for the table, None if it is empty."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._schema = schema_to_pyarrow(table.schema())
        self.url = f"{table.location()}/data/{uuid.uuid4().hex}.parquet"
        self._file: Any = None
        self._writer: Any = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def write(self, batch: pa.RecordBatch, flush_at: int = _ROW_GROUP_BYTES) -> None:
        """Add rows; they go to the file when there are *flush_at* bytes of them."""
        if batch.num_rows:
            self._waiting.append(batch)
            self._waiting_bytes += batch.nbytes
        if self._waiting_bytes >= min(flush_at, _ROW_GROUP_BYTES):
            self.flush()

    def flush(self) -> int:
        """Have all rows in the file; how long that is."""
        if self._waiting:
            if self._writer is None:
                self._file = self._table.io.new_output(self.url).create(overwrite=True)
                self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")
            # The files they come from may have been written by others, with text of another width.
            rows = pa.concat_tables(
                pa.Table.from_batches([each]).cast(self._schema) for each in self._waiting
            )
            self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
            self._waiting, self._waiting_bytes = [], 0
        return 0 if self._file is None else int(self._file.tell())

    def close(self) -> Any:
        self.flush()
        if self._writer is None:
            return None
        self._writer.close()
        self._file.close()
        return parquet_file_to_data_file(self._table.io, self._table.metadata, self.url)
