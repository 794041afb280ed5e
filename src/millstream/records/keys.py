"""Which partition a key belongs to, as Java's producer chooses it.

The same key must land in the same partition whichever client or door wrote
it, so the hash and the masking of its sign are Kafka's, bit for bit.
"""

from typing import Final

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
