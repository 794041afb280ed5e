"""Orders of a shop that does not exist, for the demo: sales rise and fall, and some records are broken."""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Final, NamedTuple, final

_PRODUCTS: Final = (
    ("espresso", 2.4),
    ("flat white", 3.8),
    ("filter coffee", 3.1),
    ("tea", 2.9),
    ("cake", 4.5),
)
_WEIGHTS: Final = (30, 25, 20, 15, 10)
_BROKEN: Final = (
    b"this is no order",
    b'{"id": "half an ord',
    b'{"id": "x1", "product": "tea", "amount": "three", "ts": "2026-11-01T10:00:00Z"}',
)


@final
class Order(NamedTuple):
    """A record for the topic."""

    key: bytes
    value: bytes


def orders(count: int, end_ms: int, minutes: int, chance: Random) -> Iterator[Order]:
    """*count* orders of the *minutes* before *end_ms*, in order, and a few records that are broken."""
    start = end_ms - minutes * 60_000
    broken = {count * part // (len(_BROKEN) + 1): bad for part, bad in enumerate(_BROKEN, start=1)}
    for n in range(count):
        passed = n / count
        passed += 0.05 * math.sin(4 * math.pi * passed)  # two busy times, and time never goes back
        at = start + round(minutes * 60_000 * passed)
        product, price = chance.choices(_PRODUCTS, _WEIGHTS)[0]
        pieces = chance.choice((1, 1, 1, 2, 2, 3))
        yield Order(
            product.encode(),
            json.dumps(
                {
                    "id": f"order-{end_ms % 10**9}-{n}",
                    "product": product,
                    "amount": round(price * pieces, 2),
                    "ts": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds"),
                }
            ).encode(),
        )
        if n in broken:
            yield Order(b"broken", broken[n])
