"""Which segments have had their time."""

from collections.abc import Sequence
from typing import Final, final

from millstream.storage.config import LogConfig
from millstream.storage.segment import Segment

JUMP_MS: Final = 5 * 60_000
STEADY_MS: Final = 10 * 60_000


def expired(segments: Sequence[Segment], config: LogConfig, now_ms: int, *, by_time: bool = True) -> int:
    """How many of *segments*, from the oldest on, are to be deleted.

    Size alone never takes the newest segment; time may.
    """
    if not config.deletes:
        return 0
    return max(
        _too_old(segments, config.retention_ms, now_ms) if by_time else 0,
        _too_many(segments, config.retention_bytes),
    )


def held(
    segments: Sequence[Segment],
    config: LogConfig,
    now_ms: int,
    due: int,
    held_from: int,
    *,
    by_time: bool = True,
) -> int:
    """How many of the *due* oldest segments go though somebody has yet to read from *held_from* on.

    Those they have read, and those that are too old or too many even so.
    """
    read = 0
    while read < due and segments[read].next_offset <= held_from:
        read += 1
    longest_ms = _wider(config.retention_ms, config.retention_hold_max_ms)
    most = max(
        _too_old(segments, longest_ms, now_ms) if by_time else 0,
        _too_many(segments, _wider(config.retention_bytes, config.retention_hold_max_bytes)),
    )
    return min(due, max(read, most))


def _wider(limit: int, other: int) -> int:
    return -1 if limit < 0 or other < 0 else max(limit, other)


def _too_old(segments: Sequence[Segment], retention_ms: int, now_ms: int) -> int:
    if retention_ms < 0:
        return 0
    count = 0
    for index, segment in enumerate(segments):
        if not segment.size_bytes:
            continue  # nothing in it to have an age: it goes when one after it does
        if now_ms - _newest_ms(segment) <= retention_ms:
            break
        count = index + 1
    return count


def _newest_ms(segment: Segment) -> int:
    # Records may come without timestamps; then the segment is as old as its file is to us.
    newest_ms, _ = segment.newest
    return newest_ms if newest_ms >= 0 else segment.created_ms


def _too_many(segments: Sequence[Segment], retention_bytes: int) -> int:
    if retention_bytes < 0:
        return 0
    excess = sum(segment.size_bytes for segment in segments) - retention_bytes
    count = 0
    for segment in segments[:-1]:
        excess -= segment.size_bytes
        if excess < 0:
            break
        count += 1
    return count


@final
class ClockGuard:
    """Tells when the wall clock may be relied on to delete.

    A clock set a year ahead makes everything old at once. So the wall clock is
    held against one that never jumps, and after a jump nothing is deleted by
    time until it has run steadily for a while. So too after a start, since
    nobody saw what was done to the clock before.
    """

    __slots__ = ("_drift_ms", "_steady_from_ms", "jumps")

    def __init__(self) -> None:
        self.jumps = 0
        self._drift_ms: int | None = None
        self._steady_from_ms = 0

    def trusts(self, wall_ms: int, monotonic_ms: int) -> bool:
        """Whether time-based deletion may go on. To be asked at every tick."""
        drift_ms = wall_ms - monotonic_ms
        if self._drift_ms is None:
            self._steady_from_ms = monotonic_ms
        elif abs(drift_ms - self._drift_ms) > JUMP_MS:
            self.jumps += 1
            self._steady_from_ms = monotonic_ms
        self._drift_ms = drift_ms
        return monotonic_ms - self._steady_from_ms >= STEADY_MS
