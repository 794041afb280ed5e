"""How much passes: counted for good, and as a rate that forgets.

The rate is of about the last minute: what was counted weighs less and less,
as in a bucket that leaks. Nothing has to be sampled in between.
"""

from math import exp
from typing import Final, final

_MEMORY_MS: Final = 60_000
_AT_ONCE_MS: Final = 500  # what is counted within so long is counted as if it came at once


@final
class Meter:
    """A count, and how fast it grows."""

    __slots__ = ("at_ms", "total", "weight")

    def __init__(self) -> None:
        self.total = 0
        self.weight = 0.0
        self.at_ms = 0

    def add(self, amount: int, now_ms: int) -> None:
        self.total += amount
        if not 0 <= now_ms - self.at_ms < _AT_ONCE_MS:
            self.fade(now_ms)
        self.weight += amount

    def per_second(self, now_ms: int) -> float:
        if now_ms > self.at_ms:
            self.fade(now_ms)
        return self.weight * 1000 / _MEMORY_MS

    def fade(self, now_ms: int) -> None:
        """What was counted weighs less by now."""
        if now_ms > self.at_ms:  # a clock that was set back must not make more of it
            self.weight *= exp((self.at_ms - now_ms) / _MEMORY_MS)
        self.at_ms = now_ms


@final
class Traffic:
    """What came in, for one partition or for the node."""

    __slots__ = ("bytes", "records")

    def __init__(self) -> None:
        self.records = Meter()
        self.bytes = Meter()

    def add(self, records: int, size: int, now_ms: int) -> None:
        counted, sized = self.records, self.bytes
        if not 0 <= now_ms - counted.at_ms < _AT_ONCE_MS:
            counted.fade(now_ms)
            sized.fade(now_ms)
        counted.total += records
        counted.weight += records
        sized.total += size
        sized.weight += size
