"""When to try again, and how long to wait before that."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import final


@final
@dataclass(frozen=True)
class Retry:
    """So many *attempts* in all, with waits that double from *first_delay* to *most_delay* seconds.

    Each wait is cut by chance to somewhere between half and all of it, so that
    many clients do not come back at once. *repeats* says whether a message that
    may have been written is sent again: it is then written at least once, and
    perhaps twice, with the same messageId. Without it, `Unreachable` tells that
    it may be there, and the program decides.
    """

    attempts: int = 5
    first_delay: float = 0.1
    most_delay: float = 5.0
    repeats: bool = True

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"there must be at least one attempt, not {self.attempts}")

    def delays(self, random: Random) -> Iterator[float]:
        """Seconds to wait before each attempt but the first."""
        delay = self.first_delay
        for _ in range(self.attempts - 1):
            yield min(delay, self.most_delay) * random.uniform(0.5, 1.0)
            delay *= 2
