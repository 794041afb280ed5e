"""Which partition a record goes to, as Java's producer chooses it.

The same key must land in the same partition whichever client wrote it, so the
hash and the masking of its sign are Kafka's, bit for bit.
"""

from typing import Final, final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 of *data*, unsigned."""
    length = len(data)
    h = (_SEED ^ length) & _MASK
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ (k >> 24)) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ (h >> 13)) * _M & _MASK
    return h ^ (h >> 15)


def partition_of_key(key: bytes, count: int) -> int:
    """The partition, of *count*, that *key* belongs to."""
    return (murmur2(key) & 0x7FFFFFFF) % count


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
