"""The producers of a log, from the last snapshot and the batches written since."""

from collections.abc import Iterable, Sequence

from millstream.env.disk import Disk
from millstream.records.batch import CONTROL, TRANSACTIONAL
from millstream.storage import checkpoint
from millstream.storage.cursor import Cursor
from millstream.storage.producers import SNAPSHOT, Producers
from millstream.storage.segment import Segment, file_name


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{file_name(offset, SNAPSHOT)}"


def restore(
    disk: Disk, directory: str, snapshots: Iterable[int], segments: Sequence[Segment], limit: int, now_ms: int
) -> tuple[Producers, int]:
    """Who wrote what, by the latest snapshot up to *limit* and all batches of *segments* after it.

    Also the offset up to which that is so. A snapshot that cannot be read is
    passed over; without any, all of the log is walked.
    """
    producers, offset = latest(disk, directory, [each for each in snapshots if each <= limit])
    for segment in segments:
        if segment.next_offset > offset:
            cursor = segment.cursor(segment.locate(offset))
            while cursor.step():
                note(producers, cursor, now_ms)
            offset = segment.next_offset
    return producers, offset


def latest(disk: Disk, directory: str, snapshots: Iterable[int]) -> tuple[Producers, int]:
    """Who had written what by the last of *snapshots* that can be read, and its offset; -1 if none can."""
    for offset in sorted(snapshots, reverse=True):
        found = _read(disk, snapshot_path(directory, offset))
        if found is not None:
            return found, offset
    return Producers(), -1


def note(producers: Producers, cursor: Cursor, now_ms: int) -> None:
    """The batch under *cursor* is in the log."""
    if cursor.attributes & CONTROL:
        producers.apply(cursor.batch(), now_ms)
    elif cursor.producer_id >= 0:
        producers.note(
            cursor.producer_id,
            cursor.producer_epoch,
            cursor.base_sequence,
            cursor.last_sequence,
            cursor.base_offset,
            cursor.append_time_ms,
            now_ms,
            transactional=cursor.attributes & TRANSACTIONAL != 0,
        )


def _read(disk: Disk, path: str) -> Producers | None:
    data = checkpoint.read_bytes(disk, path)
    return None if data is None else Producers.from_bytes(data)
