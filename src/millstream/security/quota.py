"""Quotas: how much of the node one client may take up.

A rule is set for a user, a client id, both, or an address; a name of None
stands for all who have no rule of their own. Of the rules that fit a client
the nearest one holds, in Kafka's order:

    user and client id     user and any client id     user
    any user and client id any user and any client id any user
    client id              any client id

What is used is counted in a bucket that refills at the rule's rate and holds
one second of it. Whoever has overdrawn it waits until it is level again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

PRODUCE: Final = "producer_byte_rate"
CONSUME: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
MUTATION: Final = "controller_mutation_rate"
CONNECTION: Final = "connection_creation_rate"

KEYS: Final = {
    frozenset({USER}): (PRODUCE, CONSUME, REQUEST, MUTATION),
    frozenset({CLIENT_ID}): (PRODUCE, CONSUME, REQUEST, MUTATION),
    frozenset({USER, CLIENT_ID}): (PRODUCE, CONSUME, REQUEST, MUTATION),
    frozenset({IP}): (CONNECTION,),
}
"""Which quotas can be set for which kinds of entity."""

_WAIT_MAX_MS: Final = 30_000  # a client that is told to wait longer gives up on us instead
_BUCKETS_MAX: Final = 10_000  # client ids are free text: whoever makes them up must not fill our memory

Entity = tuple[tuple[str, str | None], ...]
"""What a rule is for: (kind, name) pairs by kind; None means everyone without a rule of their own."""
Rules = Mapping[Entity, Mapping[str, float]]


@final
@dataclass(frozen=True, slots=True)
class Match:
    """One part of a question about rules: entities of *kind*, of that name, of the default, or of any."""

    kind: str
    name: str | None = None
    is_any: bool = False

    def fits(self, entity: Entity) -> bool:
        for kind, name in entity:
            if kind == self.kind:
                return self.is_any or name == self.name
        return False


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """The entity of these parts; ValueError if there is none such."""
    entity = tuple(sorted(parts))
    if frozenset(kind for kind, _ in entity) not in KEYS or len({kind for kind, _ in entity}) != len(entity):
        raise ValueError(f"there are no quotas for {', '.join(kind for kind, _ in entity) or 'nobody'}")
    return entity


def select(rules: Rules, matches: Iterable[Match], *, strict: bool) -> dict[Entity, Mapping[str, float]]:
    """The rules that fit all *matches*; if *strict*, those that have no other parts."""
    wanted = list(matches)
    return {
        entity: values
        for entity, values in rules.items()
        if all(match.fits(entity) for match in wanted) and not (strict and len(entity) != len(wanted))
    }


@final
class Quotas:
    """Told what is used and when; says how long to wait. Pure: time comes in as milliseconds."""

    def __init__(self) -> None:
        self.rules: dict[Entity, dict[str, float]] = {}
        self._limited: frozenset[str] = frozenset()
        self._buckets: dict[tuple[str, Entity], _Bucket] = {}

    def set_rules(self, rules: Rules) -> None:
        """Let *rules* be all there are; what was overdrawn under others is forgiven."""
        self.rules = {entity: dict(values) for entity, values in rules.items() if values}
        self._limited = frozenset(key for values in self.rules.values() for key in values)
        self._buckets.clear()

    def limits(self, key: str) -> bool:
        """Whether any rule is about *key* at all: mostly none is, and nothing need be counted."""
        return key in self._limited

    def use(self, key: str, user: str, client_id: str, amount: float, now_ms: int) -> int:
        """Count *amount* for a client; how many milliseconds it should wait for that."""
        found = self._rule(key, _candidates(user, client_id))
        return 0 if found is None else self._take(key, *found, amount, now_ms)

    def connect(self, host: str, now_ms: int) -> bool:
        """Whether *host* may open one more connection now."""
        found = self._rule(CONNECTION, _addresses(host))
        return found is None or self._take(CONNECTION, *found, 1, now_ms) == 0

    def _rule(self, key: str, candidates: Iterable[tuple[Entity, Entity]]) -> tuple[float, Entity] | None:
        for entity, who in candidates:
            rate = self.rules.get(entity, {}).get(key)
            if rate is not None:
                return rate, who
        return None

    def _take(self, key: str, rate: float, who: Entity, amount: float, now_ms: int) -> int:
        bucket = self._buckets.pop((key, who), None)
        if bucket is None:
            bucket = _Bucket(rate, now_ms)
            if len(self._buckets) >= _BUCKETS_MAX:
                del self._buckets[next(iter(self._buckets))]  # the longest unused
        self._buckets[key, who] = bucket
        return bucket.take(rate, amount, now_ms)


@final
class _Bucket:
    __slots__ = ("_filled_ms", "_level")

    def __init__(self, rate: float, now_ms: int) -> None:
        self._level = rate
        self._filled_ms = now_ms

    def take(self, rate: float, amount: float, now_ms: int) -> int:
        passed_ms = max(now_ms - self._filled_ms, 0)
        self._level = min(self._level + rate * passed_ms / 1000, rate) - amount
        self._filled_ms = now_ms
        if self._level >= 0:
            return 0
        wait_ms = -self._level / rate * 1000 if rate > 0 else _WAIT_MAX_MS
        # What cannot be waited for is not held against the client for ever either.
        self._level = max(self._level, -rate * _WAIT_MAX_MS / 1000)
        return min(int(wait_ms) + 1, _WAIT_MAX_MS)


def _candidates(user: str, client_id: str) -> list[tuple[Entity, Entity]]:
    """Rules that could hold for a client, nearest first, each with whom its bucket is shared by."""
    both: Entity = ((CLIENT_ID, client_id), (USER, user))
    alone: Entity = ((USER, user),)
    client: Entity = ((CLIENT_ID, client_id),)
    return [
        (both, both),
        (((CLIENT_ID, None), (USER, user)), both),
        (alone, alone),
        (((CLIENT_ID, client_id), (USER, None)), both),
        (((CLIENT_ID, None), (USER, None)), both),
        (((USER, None),), alone),
        (client, client),
        (((CLIENT_ID, None),), client),
    ]


def _addresses(host: str) -> list[tuple[Entity, Entity]]:
    own: Entity = ((IP, host),)
    return [(own, own), (((IP, None),), own)]
