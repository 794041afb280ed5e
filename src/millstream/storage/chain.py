"""The segments of one log, in order, without a hole."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import final

from millstream.env.disk import Disk
from millstream.records.read import Record
from millstream.storage.compaction import Compaction, Group, Written, swap_path
from millstream.storage.config import LogConfig
from millstream.storage.segment import FILES, INDEX, LOG, TIME_INDEX, Segment, Slice
from millstream.storage.sync import Closing
from millstream.storage.trash import Trash


@final
class Chain:
    """Begins segments at one end and gives them up at either.

    *closing* are those closed lately that are not synced yet with all that
    lies beside them; *names* counts changes of the directory.
    """

    __slots__ = ("_directory", "_disk", "_trash", "closing", "names", "segments")

    def __init__(self, disk: Disk, trash: Trash, directory: str, segments: list[Segment]) -> None:
        self.segments = segments
        self.closing: list[Closing] | None = None
        self.names = 0
        self._disk = disk
        self._trash = trash
        self._directory = directory

    @property
    def active(self) -> Segment:
        """The newest, the only one that is written to."""
        return self.segments[-1]

    @property
    def settled(self) -> list[Segment]:
        """The closed ones that are synced with all that lies beside them."""
        return self.segments[: max(len(self.segments) - 1 - len(self.closing or ()), 0)]

    @property
    def size_bytes(self) -> int:
        return sum([segment.size_bytes for segment in self.segments])

    def since(self, offset: int) -> Sequence[Segment]:
        """The segment that holds *offset*, and all after it."""
        segments = self.segments
        if not segments or offset >= segments[-1].base_offset:
            return segments[-1:]
        return segments[max(bisect_right(segments, offset, key=_base_offset) - 1, 0) :]

    def read(self, offset: int, max_bytes: int, end_offset: int) -> Slice | None:
        """Whole batches of one segment, from the one that holds *offset* or follows it on."""
        for segment in self.since(offset):
            if segment.base_offset >= end_offset:
                return None
            found = segment.read(offset, max_bytes, end_offset)
            if found is not None:
                return found
        return None

    def batch_start(self, offset: int) -> int:
        """Where the batch that holds *offset*, or follows it, begins; the end if there is none."""
        for segment in self.since(offset):
            cursor = segment.cursor(segment.locate(offset))
            if cursor.step():
                return cursor.base_offset
        return self.active.next_offset if self.segments else 0

    def find_time(self, timestamp_ms: int, offset: int, end_offset: int) -> Record | None:
        """The first record from *offset* to before *end_offset* that is not older than this."""
        for segment in self.segments:
            if segment.base_offset >= end_offset:
                return None
            record = segment.find_time(timestamp_ms, offset, end_offset)
            if record is not None:
                return record
        return None

    def find_max_time(self, offset: int, end_offset: int) -> Record | None:
        """The first of the records from *offset* to before *end_offset* with the highest timestamp."""
        best: Record | None = None
        for segment in self.segments:
            if segment.base_offset >= end_offset:
                break
            if best is None or segment.newest[0] > best.timestamp_ms:
                record = segment.find_max_time(offset, end_offset)
                if record is not None and (best is None or record.timestamp_ms > best.timestamp_ms):
                    best = record
        return best

    def begin(self, base_offset: int, interval: int, now_ms: int) -> Segment:
        """Make a new segment; nothing changes if the disk has no room for one."""
        segment = Segment(self._disk, self._directory, base_offset, interval, now_ms)
        segment.create()
        self.names += 1
        self.segments.append(segment)
        return segment

    def close(self, closing: Closing) -> None:
        """The segment of *closing* takes no more; it is to be synced."""
        if self.closing is None:
            self.closing = []
        self.closing.append(closing)

    def settle(self) -> None:
        """Some of what was closing may have been synced."""
        if self.closing:
            self.closing = [closing for closing in self.closing if not closing.done] or None

    def drop_below(self, offset: int, delay_ms: int) -> None:
        """Delete segments with nothing at or above *offset*.

        Not one whose closing is still to be synced: with it would go the only
        trace of who wrote it. It is its turn when that is done.
        """
        count, settled = 0, len(self.settled)
        while count < settled and self.segments[count + 1].base_offset <= offset:
            self.discard(self.segments[count], delay_ms)
            count += 1
        del self.segments[:count]

    def cut(self, offset: int, delay_ms: int) -> None:
        """Delete segments that begin after *offset*, and truncate the one before.

        One that begins there stays, though nothing is left in it: of the one before it
        compaction may have taken the last batches out, and then its name alone tells
        where the log ends.
        """
        while len(self.segments) > 1 and self.segments[-1].base_offset > offset:
            self.discard(self.segments.pop(), delay_ms)
        closed = self.segments[:-1]
        self.closing = [each for each in self.closing or () if each.segment in closed] or None
        self.active.truncate(offset)

    def swap_all(self, compaction: Compaction, config: LogConfig) -> None:
        """Let all that *compaction* has written take the place of what it was made of."""
        for group in compaction.groups:
            new, paths = group.new, compaction.unfinished(group)
            if new is not None and not self.swap(
                group, new, paths, config.index_interval_bytes, config.file_delete_delay_ms
            ):
                compaction.discard_group(group)  # some of it was deleted meanwhile

    def swap(
        self, group: Group, new: Written, unfinished: Sequence[str], interval: int, delay_ms: int
    ) -> bool:
        """Let *new* take the place of *group*; False if some of it is no longer here."""
        if any(source.segment not in self.segments for source in group.sources):
            return False
        first = self.segments.index(group.sources[0].segment)
        old = self.segments[first : first + len(group.sources)]
        for segment in old:
            self.discard(segment, delay_ms)
        segment = Segment(self._disk, self._directory, group.base_offset, interval, old[-1].created_ms)
        segment.trust(group.end_offset, new.size_bytes, new.newest, new.entries)
        _, index, time_index = unfinished
        self._disk.rename(swap_path(self._directory, group.base_offset, group.end_offset), segment.path(LOG))
        self._disk.rename(index, segment.path(INDEX))
        self._disk.rename(time_index, segment.path(TIME_INDEX))
        self.segments[first : first + len(old)] = [segment]
        return True

    def discard(self, segment: Segment, delay_ms: int) -> None:
        """Take the files of *segment* out of the way."""
        for suffix in FILES:
            files = segment.opened_files if suffix == LOG else ()
            self._trash.add_file(segment.path(suffix), delay_ms, files)
        self.names += 1


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
