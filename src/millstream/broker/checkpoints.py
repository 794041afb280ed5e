"""How far each log is synced and where it begins, noted on disk one note at a time."""

import asyncio
from typing import final

from millstream.broker.threads import in_thread
from millstream.storage.store import Store


@final
class Checkpoints:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = asyncio.Lock()  # an older note must not be written over a newer one

    async def settled(self) -> None:
        """Return when all notes that were asked for are on disk, or known not to be."""
        async with self._turn:
            pass

    async def note(self) -> None:
        """Return once what is known now is on disk."""
        async with self._turn:
            noting = self._store.checkpointing()
            if noting is not None:
                await in_thread(noting.run)
