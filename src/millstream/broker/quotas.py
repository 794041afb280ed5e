"""Quotas as this broker keeps and applies them.

The rules are kept in the registry under `quotas`, all in one value: they are
few, and are changed rarely and together.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Final, final

from millstream.broker.session import Session
from millstream.env.registry import ABSENT, Registry
from millstream.errors import ErrorCode, Refused
from millstream.security.quota import (
    CONNECTION,
    CONSUME,
    KEYS,
    MUTATION,
    PRODUCE,
    REQUEST,
    Entity,
    Match,
    Quotas,
    entity_of,
    select,
)

_KEY: Final = "quotas"


@final
class BrokerQuotas:
    """Counts what clients use; doors ask `owed_ms` how long a client has to wait, and make it wait."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._quotas = Quotas()
        self._revision = ABSENT
        self._owed: dict[Session, int] = {}
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        for item in await self._registry.range(_KEY):
            self._revision = item.revision
            self._quotas.set_rules(_from_json(item.value))

    @property
    def any(self) -> bool:
        """Whether there is any quota at all."""
        return bool(self._quotas.rules)

    def produced(self, session: Session, size: int) -> None:
        if self._quotas.limits(PRODUCE):
            self._use(PRODUCE, session, size)

    def consumed(self, session: Session, size: int) -> None:
        self._use(CONSUME, session, size)

    def worked(self, session: Session, seconds: float) -> None:
        """The loop was busy for *session* for so long; a hundred per cent is all of it."""
        self._use(REQUEST, session, seconds * 100)

    def changed(self, session: Session, count: int, *, strict: bool) -> None:
        """Count changes of topics or partitions; too many are refused if *strict*, else waited for."""
        if not self._quotas.limits(MUTATION):
            return
        wait_ms = self._quotas.use(MUTATION, _user(session), session.client_id, count, _now_ms())
        if wait_ms:
            self._owed[session] = max(self._owed.get(session, 0), wait_ms)
            if strict:
                raise Refused(
                    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
                    f"too many changes of topics; try again in {wait_ms} ms",
                )

    def connects(self, host: str) -> bool:
        """Whether one more connection from *host* is within its quota."""
        return not self._quotas.limits(CONNECTION) or self._quotas.connect(host, _now_ms())

    @property
    def counts_work(self) -> bool:
        """Whether it is worth measuring the time that requests take."""
        return self._quotas.limits(REQUEST)

    def owed_ms(self, session: Session) -> int:
        """How long *session* must wait for what it has used; asked once, then forgotten."""
        return self._owed.pop(session, 0) if self._owed else 0

    def describe(self, matches: Iterable[Match], *, strict: bool) -> dict[Entity, Mapping[str, float]]:
        return select(self._quotas.rules, matches, strict=strict)

    async def change(
        self, changes: Mapping[Entity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> None:
        """Set quotas of entities, or take them away (None): all of it, or nothing."""
        async with self._turn:
            rules = {entity: dict(values) for entity, values in self._quotas.rules.items()}
            for entity, values in changes.items():
                _lay(rules, entity, values)
            if validate_only:
                return
            self._revision = await self._registry.change({_KEY: _to_json(rules)}, {_KEY: self._revision})
            self._quotas.set_rules(rules)

    def _use(self, key: str, session: Session, amount: float) -> None:
        if not self._quotas.limits(key):
            return
        wait_ms = self._quotas.use(key, _user(session), session.client_id, amount, _now_ms())
        if wait_ms:
            self._owed[session] = max(self._owed.get(session, 0), wait_ms)


def check_entity(parts: Iterable[tuple[str, str | None]]) -> Entity:
    try:
        return entity_of(parts)
    except ValueError as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None


def _lay(rules: dict[Entity, dict[str, float]], entity: Entity, values: Mapping[str, float | None]) -> None:
    allowed = KEYS[frozenset(kind for kind, _ in entity)]
    own = rules.setdefault(entity, {})
    for key, value in values.items():
        if key not in allowed:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"there is no quota {key!r} here; there are {', '.join(allowed)}"
            )
        if value is None:
            own.pop(key, None)
        elif not value > 0:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{key} must be more than 0, not {value}")
        else:
            own[key] = value
    if not own:
        del rules[entity]


def _user(session: Session) -> str:
    return session.principal.removeprefix("User:")


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)


def _to_json(rules: Mapping[Entity, Mapping[str, float]]) -> bytes:
    return json.dumps([[list(entity), dict(values)] for entity, values in rules.items()]).encode()


def _from_json(value: bytes) -> dict[Entity, dict[str, float]]:
    return {tuple((kind, name) for kind, name in entity): values for entity, values in json.loads(value)}
