"""When members of a group of the newer protocol are given up."""

from collections.abc import Iterator
from typing import final


@final
class Deadlines:
    """Up to three for each member: to be heard at all, to do its part in a rebalance, and to sync.

    The last is for members of the classic protocol, which join and then sync.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, int] = {}
        self._rebalances: dict[str, int] = {}
        self._syncs: dict[str, int] = {}
        self._soonest_ms: int | None = None  # none is before this; it is exact after `passed`

    def session(self, id: str, ms: int) -> None:
        self._sessions[id] = self._by(ms)

    def rebalance(self, id: str, ms: int) -> None:
        self._rebalances[id] = self._by(ms)

    def sync(self, id: str, ms: int) -> None:
        self._syncs[id] = self._by(ms)

    def is_rebalancing(self, id: str) -> bool:
        return id in self._rebalances

    def reconciled(self, id: str) -> None:
        self._rebalances.pop(id, None)

    def synced(self, id: str) -> None:
        self._syncs.pop(id, None)

    def forget(self, id: str) -> None:
        for each in (self._sessions, self._rebalances, self._syncs):
            each.pop(id, None)

    def next_ms(self) -> int | None:
        """When to look next: when something is due, or sooner, but never later."""
        return self._soonest_ms

    def passed(self, now_ms: int) -> list[str]:
        """Those whose time is up; they are forgotten here."""
        late = sorted({id for id, ms in self._all() if ms <= now_ms})
        for id in late:
            self.forget(id)
        self._soonest_ms = min((ms for _, ms in self._all()), default=None)
        return late

    def _all(self) -> Iterator[tuple[str, int]]:
        yield from self._sessions.items()
        yield from self._rebalances.items()
        yield from self._syncs.items()

    def _by(self, ms: int) -> int:
        if self._soonest_ms is None or ms < self._soonest_ms:
            self._soonest_ms = ms
        return ms
