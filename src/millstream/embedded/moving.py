"""Time that can be made to jump: the broker's wall clock, and all that it waits for."""

import asyncio
from typing import final

from millstream.env.clock import Clock, SystemClock


@final
class MovingClock(Clock):
    """The system's clock, *ahead_ms* ahead of itself."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self._clock = SystemClock()

    def now_ms(self) -> int:
        return self._clock.now_ms() + self.ahead_ms


@final
class MovingLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, whose time can be moved on: every timer that is then due runs at once."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0

    def time(self) -> float:
        return super().time() + self._ahead

    def jump(self, seconds: float) -> None:
        """To be called in the loop's own thread, between two of its turns."""
        self._ahead += seconds
