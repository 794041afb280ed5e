"""The two indexes of a segment, which are filled, kept and lost together."""

from collections.abc import Sequence
from typing import final

from millstream.records.runs import Note
from millstream.storage.offset_index import OffsetIndex
from millstream.storage.time_index import TimeIndex


@final
class Indexes:
    """An entry in each every so many bytes: where the batch is, and how new the newest is by then."""

    __slots__ = ("offsets", "times")

    def __init__(self, offsets: OffsetIndex, times: TimeIndex) -> None:
        self.offsets = offsets
        self.times = times

    @classmethod
    def empty(cls, base_offset: int) -> "Indexes":
        return cls(OffsetIndex(base_offset), TimeIndex(base_offset))

    @property
    def entries(self) -> tuple[int, int]:
        """How many each has."""
        return len(self.offsets), len(self.times)

    def note(self, last_offset: int, position: int, newest: tuple[int, int], interval: int) -> None:
        """A batch lies at *position*; give it an entry if the last one is *interval* bytes back."""
        if position - self.offsets.last_position > interval:
            self.offsets.add(last_offset, position)
            self.times.add(*newest)

    def note_run(self, notes: Sequence[Note], newest: tuple[int, int]) -> None:
        """All of *notes*, which are far enough apart; before them the newest was *newest*."""
        self.offsets.add_all([each[0] for each in notes], [each[1] for each in notes])
        last = None
        for _, _, timestamp_ms, offset in notes:
            if offset != last:  # mostly it is the same
                last = offset
                self.times.add(*(newest if offset < 0 else (timestamp_ms, offset)))
