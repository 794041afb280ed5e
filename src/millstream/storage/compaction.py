"""Compaction: of each key the last record, of everything else nothing.

A closed segment is never changed. Those that are to be compacted are copied,
without what is no longer wanted, into new files, a group of small ones into
one. That is the long part, done in another thread on files of its own while
the log goes on. Then the new file takes the place of the old ones:

    1. `<base>.log.cleaned`   is written and synced; a crash leaves it, and it is removed
    2. the log's file CLEANED says how far the log may have gaps from now on
    3. `<base>.<end>.swap`    is what it is renamed to: from here on it is the new segment
    4. the old segments are renamed to be deleted, and the swap to `<base>.log`

A crash after 3 finds the swap and does 4 again. Only 4 is done by the log
itself, on the loop: nothing but renames.
"""

from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from typing import Final, final

from millstream.env.disk import Disk, DiskFailed, File
from millstream.records.batch import Batch
from millstream.records.control import read_marker
from millstream.storage import checkpoint
from millstream.storage.cleaned import Cleaned
from millstream.storage.cleaning import Cleaner, Keys, emptied, note_keys
from millstream.storage.config import FOREVER, LogConfig
from millstream.storage.cursor import FAR_AHEAD, Corrupt, Cursor
from millstream.storage.fates import Fates
from millstream.storage.indexes import Indexes
from millstream.storage.producers import Producers
from millstream.storage.segment import INDEX, LOG, MAX_RELATIVE, TIME_INDEX, Segment, file_name
from millstream.storage.snapshots import latest, note
from millstream.storage.txn_index import TXN_INDEX, AbortedTransaction

UNFINISHED: Final = ".cleaned"
SWAP: Final = ".swap"
KEYS_BUDGET_BYTES: Final = 128 << 20
OVERDUE_MS: Final = 10 * 60_000
_WRITE_AT_ONCE: Final = 1 << 20
_SLICE: Final = 1 << 19  # bytes read before others may have a turn
_SYNC_AT_ONCE: Final = 2 << 20  # or the syncs that producers wait for queue behind one large one


def first_uncleanable(segments: Sequence[Segment], config: LogConfig, limit: int, now_ms: int) -> int:
    """How many of the closed *segments*, oldest first, may be compacted: below *limit*, and not too young."""
    count = 0
    for segment in segments:
        if segment.next_offset > limit:
            break
        if config.min_compaction_lag_ms and now_ms - segment.newest[0] < config.min_compaction_lag_ms:
            break
        count += 1
    return count


def is_worthwhile(
    segments: Sequence[Segment], cleaned: Cleaned, config: LogConfig, now_ms: int, *, by_time: bool
) -> bool:
    """Whether enough of *segments* has not been compacted yet, or something has waited too long.

    What was left until a certain time waits a little longer than that: where
    records expire all the time, not every one of them is worth a pass.
    """
    if by_time and segments and now_ms - OVERDUE_MS >= cleaned.due_ms:
        return True
    dirty = [segment for segment in segments if segment.next_offset > cleaned.offset]
    if not dirty:
        return False
    dirty_bytes = sum([segment.size_bytes for segment in dirty])
    all_bytes = sum([segment.size_bytes for segment in segments])
    if dirty_bytes and dirty_bytes >= config.min_cleanable_dirty_ratio * all_bytes:
        return True
    if config.max_compaction_lag_ms == FOREVER:
        return False
    return now_ms - dirty[0].oldest_ms > config.max_compaction_lag_ms


@final
class Source:
    """A segment to be compacted, as another thread may see it."""

    __slots__ = ("_aborted", "base_offset", "file", "next_offset", "segment", "size_bytes")

    def __init__(self, disk: Disk, segment: Segment) -> None:
        self.segment = segment
        self.base_offset = segment.base_offset
        self.next_offset = segment.next_offset
        self.size_bytes = segment.size_bytes
        self.file = disk.open(segment.path(LOG))
        self._aborted = (
            None if segment.aborted is None else segment.aborted.again(disk, segment.path(TXN_INDEX))
        )

    def aborted(self) -> Iterator[AbortedTransaction]:
        """Its aborted transactions."""
        return iter(()) if self._aborted is None else self._aborted.all()

    def close(self) -> None:
        self.file.close()
        if self._aborted is not None:
            self._aborted.file.close()

    def cursor(self) -> Cursor:
        return Cursor(self.file, 0, self.size_bytes, self.base_offset, FAR_AHEAD)


@final
class Group:
    """Segments that become one; *new* is there once it is written, and None if nothing would change."""

    __slots__ = ("new", "sources")

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self.new: Written | None = None

    @property
    def base_offset(self) -> int:
        return self.sources[0].base_offset

    @property
    def end_offset(self) -> int:
        return self.sources[-1].next_offset


@final
class Written:
    """A new segment on the disk, not yet in its place."""

    __slots__ = ("entries", "newest", "size_bytes")

    def __init__(self, size_bytes: int, newest: tuple[int, int], entries: tuple[int, int]) -> None:
        self.size_bytes = size_bytes
        self.newest = newest
        self.entries = entries


@final
class Compaction:
    """One pass over a log. `run` may be called in any thread; then `Log.compacted` makes it count.

    Every transaction in *segments* is decided; *aborted_later* are those whose
    marker lies behind. Of one that was aborted nothing stays, so the new segments
    need no index of those. No crash and no truncation will take the log back to
    before any of *snapshots*, which tell what must stay of each producer, if only
    the header of a batch.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segments: Sequence[Segment],
        cleaned: Cleaned,
        snapshots: Sequence[int],
        aborted_later: Sequence[AbortedTransaction],
        config: LogConfig,
        now_ms: int | None,
        keys_budget_bytes: int = KEYS_BUDGET_BYTES,
    ) -> None:
        self.cleaned_offset = cleaned.offset
        self.groups: list[Group] = []
        self.done = False
        self.abandoned = False
        self.corrupt: Corrupt | None = None
        self.read_bytes = 0
        self.written_bytes = 0
        self._disk = disk
        self._directory = directory
        self._sources = [Source(disk, segment) for segment in segments]
        self._before = cleaned
        self._snapshots = snapshots
        self._last_words = Producers().last_words()
        self._aborted_later = aborted_later
        self._config = config
        self._keys = Keys(keys_budget_bytes)
        self._cleaner = Cleaner(self._keys, now_ms, config.delete_retention_ms)

    @property
    def cleaned(self) -> Cleaned:
        """How far compaction has been, once this pass counts."""
        copied_to = self.groups[-1].end_offset if self.groups else 0
        gaps_offset = max(self._before.gaps_offset, self.cleaned_offset, copied_to)
        return Cleaned(gaps_offset, self.cleaned_offset, self._before.offset, self._cleaner.due_ms)

    def run(self) -> None:
        """Write the new segments. After an OSError nothing is left of them, if the disk lets us."""
        for _ in self.slices():
            pass

    def slices(self) -> Generator[bool, None, None]:
        """`run` a slice at a time, True after each but the last: for who has others to give way to.

        A slice may be run in any thread, and the next one in another.
        """
        try:
            self._clear_away()
            yield from self._note_producers()
            yield from self._note_keys()
            yield from self._write_groups()
            self._announce()
            self.done = True
        except _Abandoned:
            self.discard()
        except Corrupt as corrupt:
            self.corrupt = corrupt
            self.discard()
        except DiskFailed:
            raise
        except OSError:
            self.discard()
            raise
        finally:
            for source in self._sources:
                source.close()

    def abandon(self) -> None:
        """Nobody waits for it any more: `run`, wherever it is, ends soon and leaves nothing."""
        self.abandoned = True

    def discard(self) -> None:
        """Remove all that was written: it is not wanted any more."""
        for group in self.groups:
            self.discard_group(group)
        if self.done:
            before = self._before
            Cleaned(self.cleaned.gaps_offset, before.offset, 0, before.due_ms).write(
                self._disk, self._directory
            )

    def discard_group(self, group: Group) -> None:
        group.new = None
        for path in self.unfinished(group):
            self._disk.remove(path)
        self._disk.remove(swap_path(self._directory, group.base_offset, group.end_offset))

    # Helpers

    def _clear_away(self) -> None:
        """Remove what a pass that was abandoned may have left after all."""
        for name in self._disk.list(self._directory):
            if name.endswith((UNFINISHED, SWAP)):
                self._disk.remove(f"{self._directory}/{name}")

    def _go_on(self) -> None:
        if self.abandoned:
            raise _Abandoned

    def _note_producers(self) -> Iterator[bool]:
        """Learn what was known of each producer when the last of the segments was closed, or a little later.

        Not what is known by now: what they wrote since may be lost yet, and then
        it is what they wrote before that tells which sequence comes next.
        """
        producers, offset = latest(self._disk, self._directory, self._snapshots)
        for source in self._sources:
            if source.next_offset <= offset:
                continue
            cursor = source.cursor()
            slice_end = _SLICE
            while cursor.step():
                if cursor.position >= slice_end:
                    slice_end = cursor.position + _SLICE
                    yield True
                self._go_on()
                if cursor.base_offset >= offset:
                    note(producers, cursor, 0)
        self._last_words = producers.last_words()

    def _note_keys(self) -> Iterator[bool]:
        """Learn the last offset of each key in what was not compacted yet, as far as memory goes.

        What was aborted replaces nothing.
        """
        fates = self._fates()
        for source in self._sources:
            if source.next_offset <= self.cleaned_offset:
                continue
            cursor = source.cursor()
            slice_end = _SLICE
            while cursor.step():
                if cursor.position >= slice_end:
                    slice_end = cursor.position + _SLICE
                    yield True
                self._go_on()
                if cursor.base_offset >= self.cleaned_offset:
                    if self._keys.is_full:
                        return
                    batch = cursor.batch()
                    if not (batch.is_transactional and not batch.is_control and fates.is_aborted(batch)):
                        note_keys(self._keys, batch)
                    self.cleaned_offset = cursor.next_offset
            self.cleaned_offset = source.next_offset

    def _write_groups(self) -> Iterator[bool]:
        """Copy the segments up to where keys were noted, as many into one as it may hold."""
        writer: _Writer | None = None
        fates = self._fates()
        for source in self._sources:
            if source.base_offset >= self.cleaned_offset:
                break
            if writer is None or not writer.takes(source, self._config.segment_bytes):
                if writer is not None:
                    self._finish(writer)
                group = Group([])
                self.groups.append(group)
                group.sources.append(source)
                path = self.unfinished(group)[0]
                file = checkpoint.write_loosely(self._disk, path, b"")
                writer = _Writer(file, group, self._config.index_interval_bytes)
            else:
                writer.group.sources.append(source)
            yield from self._copy(source, writer, fates)
        if writer is not None:
            self._finish(writer)

    def _copy(self, source: Source, writer: "_Writer", fates: Fates) -> Iterator[bool]:
        cursor = source.cursor()
        slice_end = _SLICE
        while cursor.step():
            if cursor.position >= slice_end:
                slice_end = cursor.position + _SLICE
                yield True
            self._go_on()
            cursor.check()
            batch = cursor.batch()
            data = self._left_of(batch, fates)
            if data is not batch.data:
                writer.changed = True
            if data is not None:
                writer.add(data)
        self.read_bytes += source.size_bytes

    def _finish(self, writer: "_Writer") -> None:
        group = writer.group
        written = writer.finish()
        log_path, index_path, time_path = self.unfinished(group)
        if len(group.sources) == 1 and not writer.changed:
            self._disk.remove(log_path)
            return
        indexes = writer.indexes
        for path, data in ((index_path, indexes.offsets.to_bytes()), (time_path, indexes.times.to_bytes())):
            file = checkpoint.write_loosely(self._disk, path, data)
            file.sync()
            file.close()
        self.written_bytes += written.size_bytes
        group.new = written

    def _left_of(self, batch: Batch, fates: Fates) -> bytes | memoryview | None:
        if batch.is_control:
            return self._left_of_control(batch, fates)
        keep_empty = batch.base_offset in self._last_words.offsets
        if batch.is_transactional and fates.is_aborted(batch):
            return emptied(batch) if keep_empty else None
        if batch.base_offset >= self.cleaned_offset:
            return batch.data
        return self._cleaner.left_of(batch, keep_empty=keep_empty)

    def _left_of_control(self, batch: Batch, fates: Fates) -> bytes | memoryview | None:
        """Of a marker all, as long as there is anything that it decides, and for a while after."""
        if read_marker(batch) is None or not fates.is_over(batch):
            return batch.data
        is_last_word = self._last_words.epochs.get(batch.producer_id) == batch.producer_epoch
        return self._cleaner.left_of_marker(batch, is_last_word=is_last_word)

    def _fates(self) -> Fates:
        return Fates(chain.from_iterable([*[each.aborted() for each in self._sources], self._aborted_later]))

    def _announce(self) -> None:
        """From here on a crash means going on, not going back."""
        self._go_on()
        changed = [group for group in self.groups if group.new is not None]
        self.cleaned.write(self._disk, self._directory)
        for group in changed:
            swap = swap_path(self._directory, group.base_offset, group.end_offset)
            self._disk.rename(self.unfinished(group)[0], swap)
        if changed:
            self._disk.sync_dir(self._directory)

    def unfinished(self, group: Group) -> list[str]:
        """Where its segment and indexes are while they are written; the indexes stay there until the swap."""
        names = [file_name(group.base_offset, suffix) for suffix in (LOG, INDEX, TIME_INDEX)]
        return [f"{self._directory}/{name}{UNFINISHED}" for name in names]


class _Abandoned(Exception):
    """Raised on the way out of a pass that was abandoned."""


@final
class _Writer:
    """Writes a segment from its start to its end."""

    __slots__ = (
        "_file",
        "_interval",
        "_newest",
        "_pending",
        "_pending_bytes",
        "_size",
        "_unsynced",
        "changed",
        "group",
        "indexes",
    )

    def __init__(self, file: File, group: Group, interval: int) -> None:
        self.group = group
        self.changed = False  # whether anything is not as it was
        self.indexes = Indexes.empty(group.base_offset)
        self._file = file
        self._interval = interval
        self._newest = (-1, -1)
        self._pending: list[bytes | memoryview] = []
        self._pending_bytes = 0
        self._size = 0
        self._unsynced = 0

    def takes(self, source: Source, segment_bytes: int) -> bool:
        """Whether all of *source* would still fit in."""
        if source.next_offset - self.group.base_offset > MAX_RELATIVE:
            return False
        return self._size + source.size_bytes <= segment_bytes

    def add(self, data: bytes | memoryview) -> None:
        batch = Batch(data)
        if batch.max_timestamp_ms > self._newest[0]:
            self._newest = (batch.max_timestamp_ms, batch.last_offset)
        self.indexes.note(batch.last_offset, self._size, self._newest, self._interval)
        self._size += batch.size
        self._pending.append(data)
        self._pending_bytes += batch.size
        if self._pending_bytes >= _WRITE_AT_ONCE:
            self._flush()

    def finish(self) -> Written:
        self._flush()
        self.indexes.times.add(*self._newest)
        self._file.sync()
        self._file.close()
        return Written(self._size, self._newest, self.indexes.entries)

    def _flush(self) -> None:
        self._file.append(*self._pending)
        self._unsynced += self._pending_bytes
        self._pending = []
        self._pending_bytes = 0
        if self._unsynced >= _SYNC_AT_ONCE:
            self._file.sync()
            self._unsynced = 0


def swap_path(directory: str, base_offset: int, end_offset: int) -> str:
    """Where the new segment waits that is to replace all from *base_offset* to *end_offset*."""
    return f"{directory}/{base_offset:020d}.{end_offset:020d}{SWAP}"
