"""An Iceberg table kept in order: small files packed, old snapshots forgotten, files of nobody deleted."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, final

from millstream.spark.lake.files import delete_files, empty_folders, files_before
from millstream.spark.lake.iceberg_files import FileWriter, Rewritten, rows_of
from millstream.spark.lake.table import Compacted

_ONE_COMMIT: Final = 50  # new files
_SMALL: Final = 0.75  # of the target: what is larger is well as it is


@final
class Packing:
    """Files that have been written to take the place of smaller ones."""

    def __init__(self) -> None:
        self._done = Rewritten()
        self._deletes: dict[str, int] = {}  # how many files of deleted rows each file had when it was read

    def add(self, tasks: list[Any], file: Any, url: str) -> None:
        self._done.removed.extend(task.file for task in tasks)
        self._deletes.update((task.file.file_path, len(task.delete_files)) for task in tasks)
        self._done.written.append(url)
        if file is not None:  # every row had been deleted
            self._done.added.append(file)

    @property
    def written(self) -> list[str]:
        return self._done.written

    def commit(self, table: Any) -> bool:
        """Do it, if all that is to be replaced is still there as it was."""
        there = {task.file.file_path: len(task.delete_files) for task in table.scan().plan_files()}
        if any(there.get(path) != deletes for path, deletes in self._deletes.items()):
            return False
        change = table.transaction()
        self._done.into(change, {}, same_rows=True)
        change.commit_transaction()
        return True

    def added_to(self, total: Compacted) -> Compacted:
        return Compacted(
            total.before + len(self._done.removed),
            total.before_bytes + sum(each.file_size_in_bytes for each in self._done.removed),
            total.after + len(self._done.added),
            total.after_bytes + sum(each.file_size_in_bytes for each in self._done.added),
        )


def packed(table: Any, target_bytes: int) -> Iterator[Packing]:
    """The small files of *table* written to larger ones, in portions to be committed each at once."""
    packing = Packing()
    for tasks in _by_partition(table, target_bytes):
        for some, file, url in _written(table, tasks, target_bytes):
            packing.add(some, file, url)
            if len(packing.written) == _ONE_COMMIT:
                yield packing
                packing = Packing()
    if packing.written:
        yield packing


def _by_partition(table: Any, target_bytes: int) -> list[list[Any]]:
    """The small files of each partition that has several. Those of an older way to partition stay."""
    found: dict[Any, list[Any]] = {}
    for task in table.scan().plan_files():
        if task.file.spec_id == table.metadata.default_spec_id and (
            task.file.file_size_in_bytes < target_bytes * _SMALL or task.delete_files
        ):
            found.setdefault(task.file.partition, []).append(task)
    return [sorted(some, key=lambda task: task.file.file_path) for some in found.values() if len(some) > 1]


def _written(table: Any, tasks: list[Any], target_bytes: int) -> Iterator[tuple[list[Any], Any, str]]:
    """Files of about *target_bytes*, each with those whose rows it has."""
    writer, taken = FileWriter(table), []
    waiting_bytes = 0
    for task in tasks:
        for batch in rows_of(table, [task]):
            writer.write(batch, flush_at=target_bytes)
        taken.append(task)
        waiting_bytes += task.file.file_size_in_bytes
        # What was small is smaller still when it is packed, so that only the file itself tells its size.
        if waiting_bytes >= target_bytes:
            waiting_bytes = writer.flush()
            if waiting_bytes >= target_bytes * _SMALL:
                yield taken, writer.close(), writer.url
                writer, taken, waiting_bytes = FileWriter(table), [], 0
    if taken:
        yield taken, writer.close(), writer.url


def expire_snapshots(table: Any, before: datetime) -> int:
    """Have *table* forget snapshots taken before *before*, except for branches' and tags'; how many."""
    kept = {ref.snapshot_id for ref in table.metadata.refs.values()}
    limit_ms = before.timestamp() * 1000
    old = [
        each.snapshot_id
        for each in table.metadata.snapshots
        if each.timestamp_ms < limit_ms and each.snapshot_id not in kept
    ]
    if old:
        table.maintenance.expire_snapshots().by_ids(old).commit()
    return len(old)


def sweep_files(load: Callable[[], Any], before: datetime) -> list[str]:
    """Delete what lies in the table's folder since before *before* and belongs to nothing; the URLs."""
    location = load().location()
    # Listed before the table is read: what is committed in between is then known to the table.
    old = files_before(location, before)
    known = _known(load())
    gone = sorted(url for url in old if _bare(url) not in known)
    delete_files(gone)
    empty_folders(f"{location}/data", before)
    return gone


def _known(table: Any) -> set[str]:
    """Every file that some snapshot of the table needs, and the table itself."""
    metadata = table.metadata
    found = {_bare(table.metadata_location), *(_bare(each.metadata_file) for each in metadata.metadata_log)}
    found.update(_bare(each.statistics_path) for each in metadata.statistics)
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        found.add(_bare(snapshot.manifest_list))
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                found.add(_bare(manifest.manifest_path))
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                found.update(_bare(entry.data_file.file_path) for entry in entries)
    return found


def _bare(url: str) -> str:
    """A path is the same with and without `file://`."""
    return url.removeprefix("file://").replace("//", "/")
