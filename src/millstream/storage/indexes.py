"""The two indexes of a segment, which are filled, kept and lost together."""

from typing import final

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
