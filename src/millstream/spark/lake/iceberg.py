"""An Iceberg table, to which batches are committed once.

The commit that makes a batch's files part of the table also sets a property of
the table: the number of that batch, by pipeline and checkpoint. A batch that is
run again finds the number and changes nothing. Between looking and committing
nobody else may commit, or two drivers could both do so: Iceberg refuses a
commit that was prepared on an older snapshot, and then we look again. pyiceberg
would by itself try once more without looking, so tables are told not to have
that (`commit.retry.num-retries`).
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar, final

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.io.pyarrow import parquet_file_to_data_file, schema_to_pyarrow
from pyiceberg.transforms import IdentityTransform, parse_transform

from millstream.spark.lake.catalog import make_namespace
from millstream.spark.lake.files import delete_files, parquet_files
from millstream.spark.lake.iceberg_files import Rewritten
from millstream.spark.lake.iceberg_upkeep import expire_snapshots, packed, sweep_files
from millstream.spark.lake.iceberg_upsert import replacing
from millstream.spark.lake.partitions import PartitionBy, span_expression
from millstream.spark.lake.table import Compacted, Contended, LakeTable, check_fits, folder_name, pause
from millstream.spark.once import Once
from millstream.spark.words import InvalidOption

_MOST_TRIES: Final = 20
_RETRIES: Final = "commit.retry.num-retries"
_PROPERTIES: Final = {
    _RETRIES: "0",
    # A stream commits often: what lists its files is merged, and old metadata goes, as it does.
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}

T = TypeVar("T")


@final
class IcebergTable(LakeTable):
    """One table of a *catalog*, by *name*; if it is made here, partitioned as given."""

    def __init__(self, catalog: Any, name: str, partitions: Sequence[PartitionBy] = ()) -> None:
        self._catalog = catalog
        self._name = name
        self._partitions = partitions

    def prepare(self, schema: pa.Schema) -> None:
        if not self._catalog.table_exists(self._name):
            self._create(schema)

        def attempt(table: Any) -> None:
            check_fits(self._name, schema, _arrow(table))
            if set(schema.names) - {field.name for field in table.schema().fields}:
                with table.update_schema() as change:
                    change.union_by_name(_new_columns(schema, table))

        self._until_committed(attempt)

    def schema(self) -> pa.Schema | None:
        try:
            return _arrow(self._load())
        except NoSuchTableError:
            return None

    def holds(self, once: Once) -> bool:
        return _holds(self._load(), once)

    def folder(self, once: Once) -> str:
        return f"{self._load().location()}/data/{folder_name(once)}"

    def partitioned(self, frame: Any) -> tuple[Any, list[str]]:
        """With a column more for each partition: its folder's, which does not go into the files."""
        from pyspark.sql import functions as f

        folders = []
        for number, by in enumerate(self._partitions_of(self._load())):
            value = f.col(f"`{by.column}`").cast("string") if by.span is None else span_expression(frame, by)
            folders.append(f"by{number}_{by.name}")
            frame = frame.withColumn(folders[-1], f.concat(f.lit("="), value))  # so that empty is not null
        return frame, folders

    def append(self, folder: str, once: Once) -> bool:
        found = [f"{folder}/{path}" for path, *_ in parquet_files(folder)]
        return self._commit(once, lambda table: Rewritten(added=_data_files(table, found)))

    def upsert(self, folder: str, key: tuple[str, ...], once: Once, sequence_by: str | None = None) -> bool:
        found = [f"{folder}/{path}" for path, *_ in parquet_files(folder)]
        return self._commit(once, lambda table: replacing(table, key, found, sequence_by))

    def compact(self, target_bytes: int) -> Compacted:
        done = Compacted()
        for packing in packed(self._load(), target_bytes):
            if self._until_committed(packing.commit):
                done = packing.added_to(done)
            else:  # an upsert was faster with one of them
                delete_files(packing.written)
        return done

    def expire(self, before: datetime) -> int:
        return self._until_committed(lambda table: expire_snapshots(table, before))

    def sweep(self, before: datetime) -> list[str]:
        return sweep_files(self._load, before)

    def _load(self) -> Any:
        return self._catalog.load_table(self._name)

    def _create(self, schema: pa.Schema) -> None:
        make_namespace(self._catalog, self._name.rpartition(".")[0])
        for by in self._partitions:
            if by.column not in schema.names:
                raise InvalidOption(
                    f"table {self._name}: partitioned by {by}, and there is no column {by.column}"
                )
        new = self._catalog.create_table_transaction(self._name, schema, properties=_PROPERTIES)
        if self._partitions:
            with new.update_spec() as spec:
                for by in self._partitions:
                    kind = parse_transform(by.span) if by.span else IdentityTransform()
                    spec.add_field(by.column, kind, by.name)
        with contextlib.suppress(TableAlreadyExistsError, CommitFailedException):  # somebody else has made it
            new.commit_transaction()

    def _partitions_of(self, table: Any) -> list[PartitionBy]:
        """How the table is partitioned, whatever was asked for."""
        found = []
        for field in table.spec().fields:
            column, kind = table.schema().find_column_name(field.source_id), str(field.transform)
            if kind not in ("identity", "year", "month", "day", "hour"):
                raise InvalidOption(
                    f"table {self._name} is partitioned by {kind} of {column}: we cannot write that"
                )
            found.append(PartitionBy(column, None if kind == "identity" else kind))
        return found

    def _commit(self, once: Once, change: Callable[[Any], Rewritten]) -> bool:
        """Do what *change* says, as the batch *once*; False if that has been done."""
        number = {_property(once): str(once.batch_id)}

        def attempt(table: Any) -> bool:
            if _holds(table, once):
                return False
            done = change(table)
            commit = table.transaction()
            commit.set_properties(number)
            _name_mapping(table, commit)
            try:
                done.into(commit, number)
                commit.commit_transaction()
            except CommitFailedException:
                delete_files(done.written)
                raise
            return True

        return self._until_committed(attempt)

    def _until_committed(self, attempt: Callable[[Any], T]) -> T:
        """What *attempt* returns of the table as it is now, looked at anew whenever somebody was faster."""
        for number in range(_MOST_TRIES):
            try:
                table = self._load()
                if table.properties.get(_RETRIES) != "0":
                    table.transaction().set_properties({_RETRIES: "0"}).commit_transaction()
                return attempt(table)
            except CommitFailedException:
                pause(number)
        raise Contended(
            f"{self._name}: others committed {_MOST_TRIES} times while we tried to; is it shared?"
        )


def _property(once: Once) -> str:
    return f"millstream.batch.{once.pipeline}.{once.query_id}"


def _holds(table: Any, once: Once) -> bool:
    return int(table.properties.get(_property(once), -1)) >= once.batch_id


def _arrow(table: Any) -> pa.Schema:
    return schema_to_pyarrow(table.schema(), include_field_ids=False)


def _new_columns(schema: pa.Schema, table: Any) -> pa.Schema:
    there = {field.name for field in table.schema().fields}
    return pa.schema([field.with_nullable(True) for field in schema if field.name not in there])


def _name_mapping(table: Any, commit: Any) -> None:
    """Spark's files have names and no numbers for their columns: say which is which."""
    if table.metadata.name_mapping() is None:
        commit.set_properties({"schema.name-mapping.default": table.schema().name_mapping.model_dump_json()})


def _data_files(table: Any, urls: Iterable[str]) -> list[Any]:
    return [parquet_file_to_data_file(table.io, table.metadata, url) for url in urls]
