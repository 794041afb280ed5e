"""Who writes to one log: its producers, and their transactions that are not settled.

Producers are read from the snapshots and the batches since when somebody asks
for them: of many logs few are written to soon.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, final

from millstream.env.disk import Disk
from millstream.storage.producers import Ended, Producers
from millstream.storage.segment import Segment
from millstream.storage.snapshots import restore, snapshot_path

_SNAPSHOTS_KEPT: Final = 8  # one of them should be older than the recovery point that was last noted


@final
class Writers:
    """*snapshots* are the offsets at which the producers were written down."""

    __slots__ = ("_directory", "_disk", "_opened_ms", "_settling", "none_open", "producers", "snapshots")

    def __init__(
        self,
        disk: Disk,
        directory: str,
        opened_ms: int,
        snapshots: Sequence[int],
        producers: Producers | None,
        *,
        none_open: bool,
    ) -> None:
        """*producers* may be left for the *snapshots* to tell; with *none_open*, none is in a transaction."""
        self.producers = producers
        self.snapshots = tuple(snapshots)
        self._disk = disk
        self._directory = directory
        self._opened_ms = opened_ms
        self.none_open = none_open
        self._settling: deque[Ended] | None = None  # ended, but not committed: the marker might yet be lost

    @property
    def has_any(self) -> bool:
        """Whether any producer is remembered, in memory or in a snapshot."""
        return bool(self.snapshots) if self.producers is None else len(self.producers) > 0

    def load(self, segments: Sequence[Segment], end_offset: int) -> Producers:
        """The producers as the snapshots and the batches tell of them; Corrupt if those cannot be read."""
        self.producers, _ = restore(
            self._disk, self._directory, self.snapshots, segments, end_offset, self._opened_ms
        )
        return self.producers

    def at_start(self, segment: Segment, before: Sequence[Segment]) -> Producers:
        """The producers as they were when *segment* began, after those *before* it."""
        return restore(self._disk, self._directory, self.snapshots, before, segment.base_offset, 0)[0]

    # Transactions

    @property
    def are_settled(self) -> bool:
        """Whether no transaction is open or waits for its marker to be committed, as far as is known."""
        known = self.producers
        return self._settling is None and (self.none_open if known is None else known.first_open is None)

    def first_unstable(self, first_open: int | None) -> int | None:
        """*first_open*, or the first offset of those that have ended and are not settled, if that is less."""
        firsts = [each.first_offset for each in self._settling or ()]
        if first_open is not None:
            firsts.append(first_open)
        return min(firsts) if firsts else None

    def ended(self, ended: Ended) -> None:
        """The marker of a transaction is in the log."""
        if self._settling is None:
            self._settling = deque()
        self._settling.append(ended)

    def settle(self, high_watermark: int) -> None:
        """Markers below *high_watermark* are there for good."""
        settling = self._settling
        if settling is not None:
            while settling and settling[0].last_offset < high_watermark:
                settling.popleft()
            if not settling:
                self._settling = None

    # Snapshots

    def count_snapshot(self, latest: int) -> list[str]:
        """Count a snapshot at *latest*; return the files of those that are no longer needed for it."""
        kept = sorted({*self.snapshots, latest})[-_SNAPSHOTS_KEPT:]
        stale = [snapshot_path(self._directory, each) for each in self.snapshots if each not in kept]
        self.snapshots = tuple(kept)
        return stale

    def cut(self, end_offset: int) -> None:
        """The log ends at *end_offset* now: forget what came after."""
        for stale in self.snapshots:
            if stale > end_offset:
                self._disk.remove(snapshot_path(self._directory, stale))
        self.snapshots = tuple([each for each in self.snapshots if each <= end_offset])
        self.producers = None
        self.none_open = False
        if self._settling is not None:
            # Those whose marker went are open again, as the batches tell.
            self._settling = deque([each for each in self._settling if each.last_offset < end_offset]) or None
