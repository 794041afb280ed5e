"""Wall time. For time-outs use the loop's own clock, which never jumps."""

import time
from abc import ABC, abstractmethod
from typing import final


class Clock(ABC):
    """Tells the time of day, which an operator may set forward or back."""

    @abstractmethod
    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""


@final
class SystemClock(Clock):
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def ticks_us() -> float:
    """Microseconds of real time, to tell how long something took; nothing simulated may depend on it."""
    return time.perf_counter() * 1_000_000
