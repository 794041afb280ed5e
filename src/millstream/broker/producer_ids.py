"""Numbers for idempotent producers, never given twice.

A block of numbers is taken from the registry at a time, so that most producers
cost no write; what is left of a block at a restart is never used.
"""

import asyncio
from typing import Final, final

from millstream.env.registry import ABSENT, Registry

_KEY: Final = "ids/producer"
_BLOCK: Final = 1000


@final
class ProducerIds:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._next = 0
        self._end = 0
        self._turn = asyncio.Lock()

    async def new(self) -> int:
        """A producer id that nobody has had."""
        async with self._turn:
            if self._next == self._end:
                await self._take_block()
            self._next += 1
            return self._next - 1

    async def _take_block(self) -> None:
        while True:
            items = await self._registry.range(_KEY)
            first, revision = (int(items[0].value), items[0].revision) if items else (0, ABSENT)
            if await self._registry.change({_KEY: b"%d" % (first + _BLOCK)}, {_KEY: revision}):
                self._next, self._end = first, first + _BLOCK
                return
