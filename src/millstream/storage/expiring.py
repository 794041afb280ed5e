"""Segments of which every record has said of itself that it is of no use any more.

Records go by whole segments, from the oldest on, so only the oldest is ever
looked into, once. The first record in it that never expires ends the look: where
records do not say how long they are of use, one batch of a segment is read.
"""

from typing import Final, final

from millstream.env.disk import Disk
from millstream.errors import Refused
from millstream.records.batch import CONTROL, Batch
from millstream.records.expiry import expires_at
from millstream.records.read import read
from millstream.storage.cleaning import NEVER
from millstream.storage.cursor import AHEAD, Corrupt, Cursor
from millstream.storage.log import Log
from millstream.storage.segment import LOG, Segment

_UNPACKED_MAX: Final = 256 << 20  # what was taken must be readable, whatever the limits are by now


@final
class Look:
    """Finds out when the last record of *segment* expires; `run` may be called in any thread."""

    __slots__ = ("_expires_ms", "_file", "segment")

    def __init__(self, disk: Disk, segment: Segment) -> None:
        self.segment = segment
        self._file = disk.open(segment.path(LOG))
        self._expires_ms = NEVER

    def run(self) -> None:
        try:
            self._expires_ms = self._last_expiry()
        except Corrupt:
            return  # whoever reads it will be told; nobody may throw it away
        finally:
            self._file.close()

    def done(self) -> None:
        self.segment.expires_ms = self._expires_ms

    def _last_expiry(self) -> int:
        cursor = Cursor(self._file, 0, self.segment.size_bytes, self.segment.base_offset, AHEAD)
        latest_ms = -1
        while cursor.step():
            if cursor.attributes & CONTROL:
                continue
            cursor.check()
            at_ms = _expiry_of(cursor.batch())
            if at_ms == NEVER:
                return NEVER
            latest_ms = max(latest_ms, at_ms)
        return NEVER if latest_ms < 0 else latest_ms


def next_look(disk: Disk, log: Log) -> Look | None:
    """The look to take before it is known whether the oldest segment may go; None if that is known."""
    oldest = _oldest(log)
    if oldest is None or oldest.expires_ms is not None:
        return None
    return Look(disk, oldest)


def drop_expired(log: Log, limit: int, now_ms: int) -> bool:
    """Delete the oldest segment if it is known that all in it has expired, below *limit*; whether it was."""
    oldest = _oldest(log)
    if oldest is None or oldest.expires_ms is None:
        return False
    if oldest.expires_ms > now_ms or oldest.next_offset > limit:
        return False
    log.delete_before(max(log.start_offset, oldest.next_offset))
    return log.segments[0] is not oldest


def _oldest(log: Log) -> Segment | None:
    """The oldest segment, if it takes no more and this topic's may be deleted."""
    if log.offline or not log.config.deletes or len(log.segments) < 2 or not log.segments[0].size_bytes:
        return None
    return log.segments[0]


def _expiry_of(batch: Batch) -> int:
    """When the last record of *batch* expires; NEVER if one never does, -1 if there are none."""
    latest_ms = -1
    try:
        records = read(batch, max_bytes=_UNPACKED_MAX)
    except Refused:
        return NEVER
    for record in records:
        at_ms = expires_at(record)
        if at_ms is None:
            return NEVER
        latest_ms = max(latest_ms, at_ms)
    return latest_ms
