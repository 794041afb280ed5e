"""A log after an unclean stop.

Below the recovery point everything was synced, and is believed until it is
read. From the segment that holds it on every batch is looked at: what is not a
whole batch with the next offset and the right checksum was never acknowledged,
and is cut off with all that follows.

A bad byte below the recovery point is another matter. That was safe once, so
the disk has failed us, and cutting would throw away what may be the only copy:
the log is left as it is, and goes offline.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, final

from millstream.env.disk import Disk, File
from millstream.storage import checkpoint
from millstream.storage.aborted import aborted_by
from millstream.storage.cleaned import Cleaned
from millstream.storage.compaction import UNFINISHED
from millstream.storage.config import LogConfig
from millstream.storage.cursor import FAR_AHEAD, Corrupt, Cursor
from millstream.storage.epochs import Epochs
from millstream.storage.known import Known
from millstream.storage.metadata import metadata_path
from millstream.storage.producers import SNAPSHOT, Producers
from millstream.storage.segment import BESIDE, FILES, LOG, Segment, file_name
from millstream.storage.snapshots import note, restore, snapshot_path
from millstream.storage.sync import Closing, epochs_path
from millstream.storage.trash import DELETED, Trash
from millstream.storage.txn_index import AbortedTransaction

CORRUPT: Final = ".corrupt"
ANY_EPOCH: Final = (1 << 31) - 1
_DIGITS: Final = 20
_SWAP_NAME: Final = re.compile(r"(\d{20})\.(\d{20})\.swap\Z")


@final
class Recovery:
    """What was found of a log, and what had to be done to it."""

    def __init__(
        self,
        disk: Disk,
        trash: Trash,
        name: str,
        config: LogConfig,
        now_ms: int,
        known: Known,
        latest_epoch: int = ANY_EPOCH,
    ) -> None:
        """*known* is what the checkpoints say of the log; nobody after *latest_epoch* has written to it."""
        self.segments: list[Segment] = []
        self.snapshots: list[int] = []
        self.producers = Producers()
        self.epochs = Epochs()
        self.start_offset = known.start_offset
        self.cleaned: Cleaned | None = None
        self.failure: str | None = None
        self.scanned_bytes = 0
        self.truncated_bytes = 0
        self.set_aside: list[str] = []
        self._closing: list[Closing] = []
        self._known = known
        self._synced_offset = known.recovery_point or 0
        self._disk = disk
        self._trash = trash
        self._name = name
        self._config = config
        self._now_ms = now_ms
        self._latest_epoch = latest_epoch

    def run(self) -> None:
        """Find out what there is, and make it whole."""
        self._look_around()
        if not self.segments:
            if self._synced_offset:
                self.failure = f"no segments, though offsets up to {self._synced_offset} were synced"
            return
        oldest = self.segments[0].base_offset
        self.start_offset = max(self.start_offset, oldest)
        self._synced_offset = max(self._synced_offset, oldest)
        first = self._first_to_scan()
        try:
            self._restore(first)
            self._scan(first)
        except Corrupt as corrupt:
            self.failure = str(corrupt)
        else:
            self.start_offset = min(self.start_offset, self.end_offset)
            self._make_safe()
            self._discard_below_start()

    @property
    def end_offset(self) -> int:
        return self.segments[-1].next_offset if self.segments else 0

    # Looking

    def _look_around(self) -> None:
        """List the segments; remove what belongs to none of them."""
        self._finish_compaction()
        names = self._disk.list(self._name)
        bases = [base for name in names if (base := _base(name, LOG)) is not None]
        self.snapshots = [offset for name in names if (offset := _base(name, SNAPSHOT)) is not None]
        for name in names:
            path = f"{self._name}/{name}"
            if name.endswith((DELETED, checkpoint.TEMPORARY)):
                self._trash.add(path, 0, is_dir=False)
            for suffix in BESIDE:
                base = _base(name, suffix)
                if base is not None and base not in bases:
                    self._trash.add_file(path, 0)
        for base, following in zip_longest(bases, bases[1:], fillvalue=-1):
            segment = self._new_segment(base)
            size = self._disk.open(segment.path(LOG)).size()
            segment.trust(max(following, base), size, None, None)
            self.segments.append(segment)

    def _finish_compaction(self) -> None:
        """Go on where compaction was cut off: back to the start, or on to the end."""
        names = self._disk.list(self._name)
        self.cleaned = Cleaned.read(self._disk, self._name)
        if self.cleaned is not None and any(name.endswith(LOG + UNFINISHED) for name in names):
            # Not all of the pass came to count, so none of it is taken to have.
            self.cleaned.offset = self.cleaned.offset_before
            self.cleaned.write(self._disk, self._name)
        for name in names:
            swap = _SWAP_NAME.match(name)
            if name.endswith(UNFINISHED):
                self._disk.remove(f"{self._name}/{name}")
            elif swap is not None:
                self._finish_swap(name, int(swap[1]), int(swap[2]))

    def _finish_swap(self, swap: str, base_offset: int, end_offset: int) -> None:
        """Put the new segment in the place of all it replaces."""
        for name in self._disk.list(self._name):
            for suffix in FILES:
                base = _base(name, suffix)
                if base is not None and base_offset <= base < end_offset:
                    self._trash.add_file(f"{self._name}/{name}", 0)
        self._disk.rename(f"{self._name}/{swap}", f"{self._name}/{file_name(base_offset, LOG)}")

    def _first_to_scan(self) -> int:
        """The segment with the last synced offset.

        That is not the one the recovery point is in when it lies on a border: the
        indexes of the segment before may not have got to the disk.
        """
        if self._known.recovery_point is None:
            return 0
        first = len(self.segments) - 1
        while first > 0 and self.segments[first].base_offset >= self._synced_offset:
            first -= 1
        return first

    def _restore(self, first: int) -> None:
        """Learn who wrote, and who led, before segment *first*.

        No snapshot of later is looked at: which transactions were aborted in that
        segment is told by its batches and who was in one at its start.
        """
        start = self.segments[first].base_offset
        self.producers, _ = restore(
            self._disk, self._name, self.snapshots, self.segments[:first], start, self._now_ms
        )
        lines = checkpoint.read(self._disk, epochs_path(self._name))
        if lines is None:
            self.epochs = _epochs_of(self.segments[: first + 1])
        else:
            self.epochs = Epochs.from_lines(lines)
            self.epochs.saved()

    # Scanning

    def _scan(self, first: int) -> None:
        """Look at every batch from segment *first* on, and cut where one is not as it was written."""
        before = self.epochs.lines()
        self.epochs.truncate_end(self.segments[first].base_offset)
        for index in range(first, len(self.segments)):
            bad = self._scan_segment(index)
            if bad is None and index + 1 < len(self.segments):
                bad = self._join(index)
            if bad is not None:
                self._cut(index)
                break
            if index + 1 < len(self.segments):
                self._close(index)
        if self.end_offset < self._synced_offset:
            raise Corrupt(0, f"the end at offset {self.end_offset}, though {self._synced_offset} was synced,")
        if self.epochs.lines() == before and self.epochs.unsaved_from is not None:
            self.epochs.saved()

    def _scan_segment(self, index: int) -> Corrupt | None:
        """Take what is whole of one segment; what is wrong after that, if anything."""
        old = self.segments[index]
        segment = self.segments[index] = self._new_segment(old.base_offset)
        file = segment.open_as_found()
        file.forget()  # the last life may have died of a failed sync
        cursor = Cursor(file, 0, old.size_bytes, old.base_offset, FAR_AHEAD)
        bad = None
        aborted: list[AbortedTransaction] = []
        try:
            while cursor.step():
                self._check(cursor, segment.next_offset, index)
                if not segment.size_bytes and cursor.max_timestamp_ms >= 0:
                    segment.created_ms = min(cursor.max_timestamp_ms, self._now_ms)
                if cursor.leader_epoch > self.epochs.latest:
                    self.epochs.assign(cursor.leader_epoch, cursor.base_offset)
                ended = aborted_by(self.producers, cursor)
                if ended is not None:
                    aborted.append(ended)
                note(self.producers, cursor, self._now_ms)
                segment.accept(cursor.last_offset, cursor.size, cursor.max_timestamp_ms)
        except Corrupt as corrupt:
            if _is_blank(file, segment.size_bytes, old.size_bytes):
                segment.undo()  # headroom: nothing was ever there
            else:
                bad = corrupt
                self._forbid_cutting(segment.next_offset, index, corrupt)
                self.truncated_bytes += old.size_bytes - segment.size_bytes
        file.give_back_blocks()  # ground that the last life had no time to give back
        segment.set_aborted(aborted)
        self.scanned_bytes += segment.size_bytes
        return bad

    def _check(self, cursor: Cursor, expected: int, index: int) -> None:
        cursor.check()
        if cursor.base_offset != expected and not self._may_have_gaps(expected, index):
            raise Corrupt(cursor.position, f"offset {cursor.base_offset} where {expected} comes next")
        # The checksum does not cover the epoch. One that is too high would make all that follows look wrong.
        if cursor.leader_epoch > self._latest_epoch:
            raise Corrupt(cursor.position, f"leader epoch {cursor.leader_epoch}, of nobody yet")
        if cursor.leader_epoch < self.epochs.latest:
            raise Corrupt(cursor.position, f"leader epoch {cursor.leader_epoch} after {self.epochs.latest}")

    def _join(self, index: int) -> Corrupt | None:
        """Whether segment *index* ends where the next begins."""
        segment, following = self.segments[index], self.segments[index + 1]
        if segment.next_offset < following.base_offset and self._may_have_gaps(segment.next_offset, index):
            segment.next_offset = following.base_offset
        if segment.next_offset == following.base_offset:
            return None
        bad = Corrupt(segment.size_bytes, f"offset {following.base_offset} after {segment.next_offset - 1}")
        self._forbid_cutting(segment.next_offset, index, bad)
        return bad

    def _may_have_gaps(self, offset: int, index: int) -> bool:
        """Whether compaction may have taken batches out at *offset*."""
        if self.cleaned is None:
            return index + 1 < len(self.segments)
        return offset < self.cleaned.gaps_offset

    def _forbid_cutting(self, offset: int, index: int, bad: Corrupt) -> None:
        """Raise *bad* if what lies from *offset* on may have been acknowledged."""
        if self._known.recovery_point is None:
            # Nobody knows how much was synced. The tail may be torn, and nothing else.
            if any(later.size_bytes for later in self.segments[index + 1 :]):
                raise bad
        elif offset < self._synced_offset:
            raise bad

    # Mending

    def _close(self, index: int) -> None:
        """Segment *index* is whole: write beside it what a roll would have."""
        closing = Closing(self.segments[index])
        end_offset = self.segments[index].next_offset
        closing.write_also(snapshot_path(self._name, end_offset), self.producers.to_bytes(), [])
        self.snapshots = sorted({*self.snapshots, end_offset})
        self._closing.append(closing)

    def _cut(self, index: int) -> None:
        """Let segment *index* be the last, and end where it was whole."""
        for later in reversed(self.segments[index + 1 :]):
            self.truncated_bytes += later.size_bytes
            self._set_aside(later)
        del self.segments[index + 1 :]
        segment = self.segments[index]
        segment.undo()
        for snapshot in self.snapshots:
            if snapshot > segment.next_offset:
                self._disk.remove(snapshot_path(self._name, snapshot))
        self.snapshots = [each for each in self.snapshots if each <= segment.next_offset]
        self._disk.sync_dir(self._name)

    def _set_aside(self, segment: Segment) -> None:
        path = segment.path(LOG)
        aside, tries = path + CORRUPT, 1
        while self._disk.exists(aside):
            aside, tries = f"{path}{CORRUPT}.{tries}", tries + 1
        self._disk.rename(path, aside)
        for suffix in BESIDE:
            self._trash.add_file(segment.path(suffix), 0)
        self.set_aside.append(aside)

    def _make_safe(self) -> None:
        """See that all that was found would survive another power cut: the killed process may not have."""
        # A segment that is empty was never synced, so not even its name is sure to be on the disk.
        if self.end_offset != self._synced_offset or self._closing or not self.segments[-1].size_bytes:
            for closing in self._closing:
                closing.run(self._disk)
            self.segments[-1].file.sync()
            self._disk.sync_dir(self._name)
            if not self._known.recovery_point:
                self._make_name_safe()
        for segment in self.segments:
            for file in segment.opened_files:
                file.close()  # most of many logs are not needed soon

    def _make_name_safe(self) -> None:
        """Nothing was ever noted of this log, so not even whose it is may be on the disk.

        The name of its directory is: a life begins with syncing those.
        """
        metadata = self._disk.open(metadata_path(self._name))
        metadata.sync()
        metadata.close()

    def _new_segment(self, base_offset: int) -> Segment:
        interval = self._config.index_interval_bytes
        return Segment(self._disk, self._name, base_offset, interval, self._now_ms)

    def _discard_below_start(self) -> None:
        """Delete again what had been deleted, before the power went and the disk knew."""
        while len(self.segments) > 1 and self.segments[1].base_offset <= self.start_offset:
            segment = self.segments.pop(0)
            for suffix in FILES:
                self._trash.add_file(segment.path(suffix), 0)


def _is_blank(file: File, start: int, end: int) -> bool:
    """Whether there is nothing but zeros from *start* to *end*."""
    while start < end:
        data = file.read(start, min(FAR_AHEAD, end - start))
        if not data or data.count(0) != len(data):
            return False
        start += len(data)
    return True


def _base(name: str, suffix: str) -> int | None:
    """The offset in the name of a file of this kind; None if it is of another."""
    if len(name) == _DIGITS + len(suffix) and name.endswith(suffix) and name[:_DIGITS].isdecimal():
        return int(name[:_DIGITS])
    return None


def _epochs_of(segments: Sequence[Segment]) -> Epochs:
    """The epochs of all *segments* but the last, by their batches.

    Epochs never go back, so a segment that begins with the same one as the next
    holds no other.
    """
    epochs = Epochs()
    firsts = [_first_epoch(segment) for segment in segments]
    for index, segment in enumerate(segments[:-1]):
        cursor = segment.cursor()
        while cursor.step():
            if cursor.leader_epoch > epochs.latest:
                epochs.assign(cursor.leader_epoch, cursor.base_offset)
            if firsts[index] == firsts[index + 1]:
                break
    return epochs


def _first_epoch(segment: Segment) -> int | None:
    """The epoch of the first batch; None if there is none that can be read."""
    cursor = segment.cursor()
    try:
        return cursor.leader_epoch if cursor.step() else None
    except Corrupt:
        return None
