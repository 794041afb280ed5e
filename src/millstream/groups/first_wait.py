"""How long an empty group waits before its first rebalance.

Consumers of one application start within moments of each other. A group that
rebalanced for each of them would do so many times over; one that waits a
little, and a little more as long as somebody new has come, does it once.
"""

from typing import final


@final
class FirstWait:
    """The wait between Empty and the next generation, never longer than a member gives to a rebalance."""

    def __init__(self, delay_ms: int, rebalance_timeout_ms: int, now_ms: int) -> None:
        self._delay_ms = delay_ms
        self._left_ms = max(rebalance_timeout_ms - delay_ms, 0)
        self._somebody_came = False
        self.deadline_ms = now_ms + delay_ms

    def somebody_came(self) -> None:
        self._somebody_came = True

    def is_over(self, now_ms: int) -> bool:
        """Whether to begin; if not, *deadline_ms* has moved."""
        if now_ms < self.deadline_ms:
            return False
        if not self._somebody_came or self._left_ms == 0:
            return True
        delay_ms = min(self._delay_ms, self._left_ms)
        self._left_ms -= delay_ms
        self._somebody_came = False
        self.deadline_ms = now_ms + delay_ms
        return delay_ms == 0
