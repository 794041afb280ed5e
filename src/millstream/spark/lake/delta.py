"""A Delta table, to which batches are committed once.

The commit that makes a batch's files part of the table carries a transaction
identifier of Delta's own: pipeline and checkpoint, and the number of the batch.
A batch that is run again finds the number and changes nothing. Between looking
and committing nobody else may commit: a commit names the version it was
prepared on, and if somebody was faster it fails, and we look again.
"""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar, final

import pyarrow as pa
import pyarrow.dataset
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.transaction import AddAction

from millstream.spark.lake.delta_files import folder_values, statistics
from millstream.spark.lake.files import as_url, delete_folder, empty_folders, parquet_files, reach
from millstream.spark.lake.partitions import PartitionBy, span_expression
from millstream.spark.lake.table import (
    Compacted,
    Contended,
    Incompatible,
    LakeTable,
    check_fits,
    folder_name,
    pause,
)
from millstream.spark.once import Once
from millstream.spark.words import InvalidOption

_MOST_TRIES: Final = 20
_MOST_ROUNDS: Final = 8
_PARTITION_TYPES: Final = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_date,
    pa.types.is_boolean,
)

T = TypeVar("T")


@final
class DeltaLakeTable(LakeTable):
    """The table *name* in *warehouse*: `lake.orders` lies in the folder `lake/orders`."""

    def __init__(self, name: str, warehouse: str | Path, partitions: Sequence[PartitionBy] = ()) -> None:
        self._name = name
        self._partitions = partitions
        self.url = f"{as_url(warehouse).rstrip('/')}/{name.replace('.', '/')}"
        self._place = self.url.removeprefix("file://")  # Delta would take a URL to be quoted

    def prepare(self, schema: pa.Schema) -> None:
        wanted = pa.schema([field.with_nullable(True) for field in schema])
        if not DeltaTable.is_deltatable(self._place):
            self._create(wanted)

        def attempt(table: DeltaTable) -> None:
            there = _arrow(table)
            check_fits(self._name, wanted, there)
            new = [field for field in wanted if field.name not in there.names]
            if new:
                table.alter.add_columns(Schema.from_arrow(pa.schema(new)).fields)

        self._until_committed(attempt)

    def schema(self) -> pa.Schema | None:
        try:
            return _arrow(self._load())
        except TableNotFoundError:
            return None

    def holds(self, once: Once) -> bool:
        return _holds(self._load(), once)

    def folder(self, once: Once) -> str:
        return f"{self.url}/{folder_name(once)}"

    def partitioned(self, frame: Any) -> tuple[Any, list[str]]:
        """With the columns that the spans of time become: Delta knows no others to partition by."""
        columns = self._load().metadata().partition_columns
        for by in self._partitions:
            if by.span is not None and by.name in columns:
                frame = frame.withColumn(by.name, span_expression(frame, by))
        for name in columns:
            if name not in frame.columns:
                raise Incompatible(
                    f"table {self._name} is partitioned by {name}, which the batch does not have"
                )
        return frame, columns

    def append(self, folder: str, once: Once) -> bool:
        added = self._actions(folder)

        def attempt(table: DeltaTable) -> bool:
            if _holds(table, once):
                return False
            _add(table, added, once)
            return True

        return self._until_committed(attempt)

    def upsert(self, folder: str, key: tuple[str, ...], once: Once, sequence_by: str | None = None) -> bool:
        if not parquet_files(folder):  # a merge of nothing would not be committed
            return self.append(folder, once)

        def attempt(table: DeltaTable) -> bool:
            if _holds(table, once):
                return False
            rows = _rows(folder, table)
            merge = table.merge(
                rows,
                _same(rows, key),
                source_alias="new",
                target_alias="old",
                streamed_exec=False,  # so that files that cannot hold the keys are not read
                commit_properties=_commit(once),
            )
            unless = None
            if sequence_by is not None:
                unless = f'old."{sequence_by}" IS NULL OR new."{sequence_by}" >= old."{sequence_by}"'
            merge.when_matched_update_all(predicate=unless).when_not_matched_insert_all().execute()
            if not _holds(table, once):
                # No row was new enough, and a merge that changes nothing is not committed.
                _add(table, [], once)
            return True

        done = self._until_committed(attempt)
        if done:
            delete_folder(folder)
        return done

    def compact(self, target_bytes: int) -> Compacted:
        """In rounds: Delta goes by the size of small files, which is more than they are packed to."""
        before = _sizes(self._load())
        for _ in range(_MOST_ROUNDS):
            said = self._until_committed(lambda table: table.optimize.compact(target_size=target_bytes))
            if not said["numFilesRemoved"]:
                break
        after = _sizes(self._load())
        old = [size for path, size in before.items() if path not in after]
        new = [size for path, size in after.items() if path not in before]
        return Compacted(len(old), sum(old), len(new), sum(new)) if old else Compacted()

    def expire(self, before: datetime) -> int:
        """Delta's log is cut by its own rule, `delta.logRetentionDuration`; a checkpoint lets it be."""
        table = self._load()
        old = len(table.history())
        table.create_checkpoint()
        table.cleanup_metadata()
        return old - len(self._load().history())

    def sweep(self, before: datetime) -> list[str]:
        """What the table has let go of since *before* stays too, for those who read an older version."""
        hours = max(0, math.ceil((datetime.now(UTC) - before) / timedelta(hours=1)))
        gone = self._load().vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
        empty_folders(self.url, before)
        return sorted(f"{self.url}/{path}" for path in gone)

    def _load(self) -> DeltaTable:
        return DeltaTable(self._place)

    def _create(self, columns: pa.Schema) -> None:
        names = [by.name for by in self._partitions]
        spans = [pa.field(by.name, pa.string()) for by in self._partitions if by.span is not None]
        schema = pa.schema([*columns, *spans])
        for by in self._partitions:
            if by.column not in schema.names:
                raise InvalidOption(
                    f"table {self._name}: partitioned by {by}, and there is no column {by.column}"
                )
            kind = schema.field(by.name).type
            if not any(test(kind) for test in _PARTITION_TYPES):
                raise InvalidOption(
                    f"table {self._name}: a Delta table is not partitioned by {by}, of type {kind}"
                )
        DeltaTable.create(self._place, Schema.from_arrow(schema), mode="ignore", partition_by=names)

    def _actions(self, folder: str) -> list[AddAction]:
        """What adds the files in *folder* to the table."""
        below = folder.removeprefix(f"{self.url}/")
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        return [
            AddAction(
                path=f"{below}/{path}",  # which deltalake writes to the log as a URL
                size=size,
                partition_values=folder_values(path),
                modification_time=now_ms,
                data_change=True,
                stats=statistics(metadata),
            )
            for path, size, metadata in parquet_files(folder)
        ]

    def _until_committed(self, attempt: Callable[[DeltaTable], T]) -> T:
        """What *attempt* returns of the table as it is now, looked at anew whenever somebody was faster."""
        for number in range(_MOST_TRIES):
            try:
                return attempt(self._load())
            except CommitFailedError:
                pause(number)
        raise Contended(
            f"{self._name}: others committed {_MOST_TRIES} times while we tried to; is it shared?"
        )


def _application(once: Once) -> str:
    return f"millstream.{once.pipeline}.{once.query_id}"


def _holds(table: DeltaTable, once: Once) -> bool:
    found = table.transaction_version(_application(once))
    return found is not None and int(found) >= once.batch_id


def _add(table: DeltaTable, added: list[AddAction], once: Once) -> None:
    partitions = table.metadata().partition_columns
    table.create_write_transaction(
        added, "append", table.schema(), partitions, commit_properties=_commit(once)
    )


def _commit(once: Once) -> CommitProperties:
    return CommitProperties(
        max_commit_retries=0, app_transactions=[Transaction(_application(once), once.batch_id)]
    )


def _sizes(table: DeltaTable) -> dict[str, int]:
    """How large each file is that the table is made of."""
    actions = pa.table(table.get_add_actions(flatten=True))
    return dict(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))


def _arrow(table: DeltaTable) -> pa.Schema:
    return pa.schema(table.schema().to_arrow())


def _rows(folder: str, table: DeltaTable) -> pa.Table:
    """What Spark has written to *folder*, with every column of *table*."""
    schema = _arrow(table)
    names = table.metadata().partition_columns
    by_folder = pyarrow.dataset.partitioning(pa.schema([schema.field(name) for name in names]), flavor="hive")
    system, path = reach(folder)
    rows = pyarrow.dataset.dataset(
        path, filesystem=system, schema=schema, format="parquet", partitioning=by_folder
    )
    return rows.to_table()


def _same(rows: pa.Table, key: tuple[str, ...]) -> str:
    """When two rows have the same *key*. No value is the same as no value; asked only where it matters."""
    return " AND ".join(
        f'(old."{name}" {"IS NOT DISTINCT FROM" if rows[name].null_count else "="} new."{name}")'
        for name in key
    )
