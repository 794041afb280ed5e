"""Wall clocks of simulated nodes: each may be wrong in its own way."""

import asyncio
from typing import Final, final

from millstream.env.clock import Clock

START_MS: Final = 1_750_000_000_000  # some day in June 2025, when every simulated run begins


@final
class SimClock(Clock):
    """Follows the loop's time, *offset_ms* apart from it, until somebody sets it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, offset_ms: int = 0) -> None:
        self.offset_ms = offset_ms
        self._loop = loop

    def now_ms(self) -> int:
        return START_MS + int(self._loop.time() * 1000) + self.offset_ms

    def jump(self, by_ms: int) -> None:
        """Somebody, or NTP, sets the clock forward or back."""
        self.offset_ms += by_ms
