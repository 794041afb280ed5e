"""Where in the broker's own topics something is kept, and so who looks after it."""

import struct


def coordinator_partition(name: str, partitions: int) -> int:
    """Which partition holds the group or transactional id *name*: Java's hash of it, as tools compute it."""
    hashed = 0
    raw = name.encode("utf-16-be", "surrogatepass")
    for (unit,) in struct.iter_unpack(">H", raw):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    if hashed >= 1 << 31:
        hashed = (1 << 32) - hashed
    # The one number whose absolute value does not fit an int; Kafka takes 0 for it.
    return 0 if hashed == 1 << 31 else hashed % partitions
