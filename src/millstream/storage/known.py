"""What is written down about logs besides the logs themselves.

Two small files for all logs of a store, a line a log:

    recovery-point-offset-checkpoint   below this offset all is synced (`-`: nobody knows)
    log-start-offset-checkpoint        below this offset all is deleted

A file that cannot be read says nothing about any log. That a file can be read
and does not name a log means something: the log is younger than the file.
"""

from collections.abc import Iterable, Mapping
from typing import Final, final
from uuid import UUID

from millstream.env.disk import Disk
from millstream.storage import checkpoint

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
FILES: Final = (RECOVERY_POINTS, LOG_STARTS)
_UNKNOWN: Final = "-"

Offsets = Mapping[str, tuple[str, int | None]]  # topic id, in hex, and offset of each log


@final
class Known:
    """What is known of one log; the recovery point is None if nobody knows it."""

    __slots__ = ("recovery_point", "start_offset")

    def __init__(self, recovery_point: int | None, start_offset: int) -> None:
        self.recovery_point = recovery_point
        self.start_offset = start_offset


@final
class Checkpoints:
    """The two files as a life finds them."""

    __slots__ = ("_points", "_starts")

    def __init__(self, points: Offsets | None, starts: Offsets | None) -> None:
        self._points = points
        self._starts = starts

    @classmethod
    def read(cls, disk: Disk) -> "Checkpoints":
        return cls(*[_parse(checkpoint.read(disk, file)) for file in FILES])

    def of(self, name: str, topic_id: UUID) -> Known:
        return Known(_offset(self._points, name, topic_id), _offset(self._starts, name, topic_id) or 0)

    def names(self, name: str, topic_id: UUID) -> bool:
        """Whether a log of this name and topic was ever written down."""
        entry = (self._points or {}).get(name)
        return entry is not None and entry[0] == topic_id.hex


def lines(offsets: Iterable[tuple[str, UUID, int | None]]) -> list[str]:
    """*offsets* as the lines of a file."""
    return [f"{name} {id.hex} {_UNKNOWN if offset is None else offset}" for name, id, offset in offsets]


def _parse(found: list[str] | None) -> Offsets | None:
    if found is None:
        return None
    offsets: dict[str, tuple[str, int | None]] = {}
    for line in found:
        name, id, offset = line.split()
        offsets[name] = (id, None if offset == _UNKNOWN else int(offset))
    return offsets


def _offset(offsets: Offsets | None, name: str, topic_id: UUID) -> int | None:
    if offsets is None:
        return None
    id, offset = offsets.get(name, ("", 0))
    return offset if id == topic_id.hex else 0
