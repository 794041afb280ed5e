"""Which partition a record without a key goes to; keys are in `records/keys`."""

from typing import final


@final
class Sticky:
    """Chooses for records without a key: one partition until its batch is sent, then the next.

    Few full batches beat many small ones, and taking turns spreads them evenly.
    """

    def __init__(self, first: int = 0) -> None:
        self._current = first

    def choose(self, count: int) -> int:
        """The partition, of *count*, that keyless records go to now."""
        return self._current % count

    def batch_taken(self) -> None:
        """The current partition's batch is on its way: move on."""
        self._current += 1
