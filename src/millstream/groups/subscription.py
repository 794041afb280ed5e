"""What consumers say they read: the one thing in a member's metadata that a broker looks at.

Everything else in it belongs to the members. A subscription of any version
begins like version 0, and only that much is read:

    i16 version, i32 count, count * topic: string
"""

from collections.abc import Iterable
from typing import Final

from millstream.errors import Refused
from millstream.wire.primitives import Reader

CONSUMER: Final = "consumer"


def topics_of(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics named in *subscriptions*; None if one of them makes no sense."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            reader = Reader(subscription)
            reader.int16()
            topics.update(reader.string() for _ in range(reader.array(min_size=2)))
    except Refused:
        return None
    return frozenset(topics)
