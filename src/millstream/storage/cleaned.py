"""How far compaction has been: a small file in the directory of a log it has been to."""

from typing import Final, final

from millstream.env.disk import Disk
from millstream.storage import checkpoint
from millstream.storage.cleaning import NEVER

CLEANED: Final = "cleaner-offset-checkpoint"


@final
class Cleaned:
    """Below *gaps_offset* batches may be missing, so recovery must not miss them.

    Below *offset* nothing is left to do, unless the pass that said so was cut
    off: then it is below *offset_before*. At *due_ms* something of what was left
    will have had its time: a tombstone, a marker, a record that expires.
    """

    __slots__ = ("due_ms", "gaps_offset", "offset", "offset_before")

    def __init__(
        self, gaps_offset: int = 0, offset: int = 0, offset_before: int = 0, due_ms: int = NEVER
    ) -> None:
        self.gaps_offset = gaps_offset
        self.offset = offset
        self.offset_before = offset_before
        self.due_ms = due_ms

    def astuple(self) -> tuple[int, int, int, int]:
        return self.gaps_offset, self.offset, self.offset_before, self.due_ms

    def write(self, disk: Disk, directory: str) -> None:
        words = zip(("gaps", "cleaned", "before", "due"), self.astuple(), strict=True)
        checkpoint.write(disk, f"{directory}/{CLEANED}", [f"{word} {number}" for word, number in words])

    @classmethod
    def read(cls, disk: Disk, directory: str) -> "Cleaned | None":
        """What the file says; zeros if there is none, None if it cannot be read."""
        path = f"{directory}/{CLEANED}"
        if not disk.exists(path):
            return cls()
        lines = checkpoint.read(disk, path)
        return None if lines is None else cls(*[int(line.split()[1]) for line in lines])
