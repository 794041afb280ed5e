"""Memory for requests that are still arriving, shared by all connections."""

from collections import deque
from collections.abc import Callable
from typing import final


@final
class Budget:
    """Bytes to lend. A large request borrows all it needs before it is read: who has borrowed can finish."""

    def __init__(self, total: int) -> None:
        self.free = total
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for what others hold."""
        return bool(self._waiting)

    def borrow(self, size: int) -> bool:
        """Take *size* bytes if there are so many, and nobody came before."""
        if self._waiting or size > self.free:
            return False
        self.free -= size
        return True

    def wait(self, size: int, granted: Callable[[], None]) -> None:
        """Call *granted* when *size* bytes have been taken for the caller."""
        self._waiting.append((size, granted))

    def forget(self, granted: Callable[[], None]) -> None:
        """The caller of `wait` has gone."""
        self._waiting = deque(each for each in self._waiting if each[1] != granted)
        self._grant()

    def repay(self, size: int) -> None:
        self.free += size
        self._grant()

    def _grant(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.free:
            size, granted = self._waiting.popleft()
            self.free -= size
            granted()
