"""Where each leader's reign began.

The table is kept in memory and in a small file. The batches carry their epochs
too, so the file is needed only from the second reign on, and can be made again.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, final

FILE: Final = "leader-epoch-checkpoint"
UNKNOWN: Final = (-1, -1)


@final
class Epochs:
    """Epochs and the offsets they begin at; both rise."""

    __slots__ = ("_changed_from", "_epochs", "_has_file", "_starts")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self._has_file = False
        self._changed_from: int | None = None

    def __len__(self) -> int:
        return len(self._epochs)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._epochs, self._starts, strict=True)

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else -1

    @property
    def has_file(self) -> bool:
        return self._has_file

    @property
    def unsaved_from(self) -> int | None:
        """From which offset on the table is in neither the file nor the batches; None if nowhere."""
        return self._changed_from if self._has_file or len(self._epochs) > 1 else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """A leader of *epoch* begins to write at *start_offset*."""
        assert epoch > self.latest, (epoch, self.latest)
        self.truncate_end(start_offset)
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self._changed(start_offset)

    def end_of(self, epoch: int, end_offset: int) -> tuple[int, int]:
        """(epoch, offset) where *epoch* ended in this log, which ends at *end_offset*.

        The epoch in the answer is the latest up to *epoch* that wrote anything
        here. An epoch from the future is answered (-1, -1), one older than all
        that is known with the start of the first.
        """
        if not self._epochs or epoch > self._epochs[-1]:
            return UNKNOWN
        if epoch == self._epochs[-1]:
            return epoch, end_offset
        following = bisect_right(self._epochs, epoch)
        if following == 0:
            return epoch, self._starts[0]
        return self._epochs[following - 1], self._starts[following]

    def epoch_of(self, offset: int) -> int:
        """Under which leader *offset* was written; -1 if that is not known."""
        at = bisect_right(self._starts, offset) - 1
        return self._epochs[at] if at >= 0 else -1

    def truncate_end(self, offset: int) -> None:
        """The log now ends at *offset*: forget reigns that began there or later."""
        while self._starts and self._starts[-1] >= offset:
            self._epochs.pop()
            self._changed(self._starts.pop())

    def truncate_start(self, offset: int) -> None:
        """The log now begins at *offset*: so does the reign that holds it. The file need not hear of it."""
        ended = bisect_right(self._starts, offset) - 1
        if ended >= 0:
            del self._epochs[:ended]
            del self._starts[:ended]
            self._starts[0] = offset

    def saved(self) -> None:
        """The file is as the table is."""
        self._has_file = True
        self._changed_from = None

    def lines(self) -> list[str]:
        return [f"{epoch} {start}" for epoch, start in self]

    @classmethod
    def from_lines(cls, lines: Sequence[str]) -> "Epochs":
        """The table that `lines` gave."""
        epochs = cls()
        for line in lines:
            epoch, start = line.split()
            epochs._epochs.append(int(epoch))
            epochs._starts.append(int(start))
        return epochs

    def _changed(self, offset: int) -> None:
        if self._changed_from is None or offset < self._changed_from:
            self._changed_from = offset
