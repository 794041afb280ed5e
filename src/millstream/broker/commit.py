"""Group commit: one sync for all waiting appends.

A log has at most one sync under way. What is appended meanwhile waits for the
next one, so the busier a log is the more appends share a sync, and an idle one
answers as fast as the disk does. Logs sync side by side in the loop's executor:
the file system commits them together.
"""

import asyncio
from collections.abc import Callable
from typing import final

from millstream.broker.waiting import Hosted
from millstream.env.disk import DiskFailed
from millstream.storage.log import Sync


@final
class Commit:
    """Makes appends durable and tells those who wait. *failed* is called when the disk gives up."""

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self.syncs = 0
        self._failed = failed
        self._running = 0
        self._ended: asyncio.Future[None] | None = None

    def appended(self, hosted: Hosted) -> None:
        """*hosted* has grown: see to it that it gets committed."""
        if hosted.partition.log.config.leaves_syncing_to_the_system:
            hosted.committed()
        else:
            self.sync(hosted)

    def sync(self, hosted: Hosted) -> None:
        """Make all of *hosted* durable, together with what is appended until the sync begins."""
        if not hosted.syncing:
            hosted.syncing = True
            self._running += 1
            # Not at once: whatever else this turn of the loop appends shares the sync.
            asyncio.get_running_loop().call_soon(self._start, hosted)

    async def settled(self, hosted: Hosted) -> None:
        """Return when no sync of *hosted* is under way."""
        while hosted.syncing:
            await self._next_end()

    async def drained(self) -> None:
        """Return when no sync is under way."""
        while self._running:
            await self._next_end()

    def _start(self, hosted: Hosted) -> None:
        sync = None if hosted.dropped else hosted.partition.log.unsynced()
        if sync is None:
            self._end(hosted)
            hosted.committed()
            return
        self.syncs += 1
        done = asyncio.get_running_loop().run_in_executor(None, sync.run)
        done.add_done_callback(lambda future: self._done(hosted, sync, future))

    def _done(self, hosted: Hosted, sync: Sync, future: "asyncio.Future[None]") -> None:
        if future.cancelled():
            return
        error = future.exception()
        if isinstance(error, OSError) and hosted.dropped and not isinstance(error, DiskFailed):
            self._end(hosted)  # its files went away under the sync, as they should
            return
        if isinstance(error, OSError):
            self._failed(error)
            self._end(hosted)  # whoever waits for that need not wait for ever
            return
        if error is not None:
            raise error
        hosted.partition.log.synced(sync)
        hosted.committed()
        if hosted.partition.log.unsynced() is None:
            self._end(hosted)
        else:
            self._start(hosted)

    def _end(self, hosted: Hosted) -> None:
        hosted.syncing = False
        self._running -= 1
        if self._ended is not None:
            self._ended.set_result(None)
            self._ended = None

    async def _next_end(self) -> None:
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._ended)
