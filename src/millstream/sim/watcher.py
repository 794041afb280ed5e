"""A simulated reader that follows partitions from their beginning, in one isolation level."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import final

from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.sim.fetcher import Fetcher
from millstream.sim.history import History, Key, Outcome, Poll
from millstream.sim.link import FAILURES, Later, Link, settle


@final
class Watcher:
    def __init__(
        self, name: str, link: Link, keys: Sequence[Key], history: History, random: Random, *, committed: bool
    ) -> None:
        self._name = name
        self._link = link
        self._history = history
        self._random = random
        self._fetcher = Fetcher(link, random, sessions=random.random() < 0.5, committed=committed)
        self._positions = dict.fromkeys(keys, 0)

    async def run(self) -> None:
        while True:
            try:
                await self._poll()
            except FAILURES as failure:
                if isinstance(failure, Unreachable):
                    self._link.drop()
                await asyncio.sleep(self._random.uniform(0.02, 0.3))
            await asyncio.sleep(self._random.uniform(0.0, 0.5))

    async def _poll(self) -> None:
        begun = self._history.tick()
        for fetched in await self._fetcher.fetch(self._positions, wait_s=0.25):
            key = fetched.key
            if settle(fetched.code) is not ErrorCode.NONE:
                self._history.complain("refused-fetch", key, f"{self._name}: {fetched.code.name}")
                raise Later(fetched.code.name)
            if fetched.next_offset > self._positions[key]:
                poll = Poll(
                    process=self._name,
                    begun=begun,
                    key=key,
                    position=self._positions[key],
                    records=fetched.values,
                    reached=fetched.next_offset,
                    committed=self._fetcher.committed,
                )
                self._history.begin(poll)
                self._history.end(poll, Outcome.OK)
                self._positions[key] = fetched.next_offset
