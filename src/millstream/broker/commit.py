"""Group commit: one sync for all waiting appends.

A log has at most one sync under way. What is appended meanwhile waits for the
next one, so the busier a log is the more appends share a sync, and an idle one
answers as fast as the disk does. Logs sync side by side in the loop's executor:
the file system commits them together.

On a quick disk the way to a thread and back takes longer than the sync. There a
log that syncs alone does so on the loop, as long as the disk stays quick.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, final

from millstream.broker.waiting import Hosted
from millstream.env.clock import ticks_us
from millstream.env.disk import DiskFailed
from millstream.storage.log import Sync, WideSync

_WEIGHT: Final = 1 / 8  # of one sync in the average


@final
class Commit:
    """Makes appends durable and tells those who wait. *failed* is called when the disk gives up.

    A sync runs on the loop if it is likely to take no longer than *on_loop_us*.
    """

    def __init__(
        self,
        failed: Callable[[OSError], None],
        on_loop_us: Callable[[], int],
        may_take: Callable[[int], bool],
    ) -> None:
        """*may_take* is asked whether the disk has so much to spare."""
        self.syncs = 0
        self._failed = failed
        self._on_loop_us = on_loop_us
        self._may_take = may_take
        self._roomy: dict[Hosted, None] = {}  # those whose log has headroom or ground
        self._usual_us: float | None = None  # what a sync took lately
        self._running = 0
        self._due: tuple[Hosted, asyncio.Handle] | None = None  # whose sync begins in the next turn
        self._ended: asyncio.Future[None] | None = None

    def appended(self, hosted: Hosted) -> None:
        """*hosted* has grown: see to it that it gets committed."""
        if hosted.partition.log.config.leaves_syncing_to_the_system:
            self._commit(hosted)
        else:
            self.sync(hosted)

    def sync(self, hosted: Hosted) -> None:
        """Make all of *hosted* durable, together with what is appended until the sync begins."""
        if not hosted.syncing:
            hosted.syncing = True
            self._running += 1
            # Not at once: whatever else this turn of the loop appends shares the sync.
            self._start_soon(hosted)

    def is_at_once(self, hosted: Hosted) -> bool:
        """Whether what is appended to *hosted* now could be committed by `at_once`."""
        if not self.syncs_first(hosted):
            return True
        is_free = not self._running or (self._running == 1 and self._is_due(hosted))
        return is_free and self._is_quick() and hosted.partition.log.syncs_data_alone

    def syncs_first(self, hosted: Hosted) -> bool:
        """Whether *hosted* must be synced before anything is committed."""
        return not hosted.partition.log.config.leaves_syncing_to_the_system

    def at_once(self, hosted: Hosted) -> None:
        """Commit all of *hosted* before this returns, unless the disk fails; `is_at_once` has agreed."""
        if not self.syncs_first(hosted):
            self._commit(hosted)
            return
        self._take_over(hosted)
        self._start(hosted)

    def synced(self, hosted: Hosted, times: int, took_us: float, error: OSError | None) -> None:
        """Somebody else has synced all of *hosted*, so many *times* in all, after `is_at_once` had agreed.

        After an *error* it is not known what the disk holds.
        """
        self._take_over(hosted)
        sync = hosted.partition.log.unsynced()
        assert sync is not None
        assert not isinstance(sync, WideSync)
        self.syncs += times
        if error is None:
            sync.was_run()
        else:
            error = sync.failed(error)
        self._done(hosted, sync, took_us / times, error, times)

    def _commit(self, hosted: Hosted) -> None:
        """What was appended to *hosted* counts, and need not be synced first."""
        hosted.committed()
        log = hosted.partition.log
        if log.needs_ground and log.lay_ground(self._may_take):  # who waited was told before
            self._roomy[hosted] = None

    def _take_over(self, hosted: Hosted) -> None:
        """Nothing but *hosted* is synced now; who waits for one that is due is served as well."""
        if self._due is not None and self._is_due(hosted):
            self._due[1].cancel()
            self._due = None
        else:
            assert not self._running
            hosted.syncing = True
            self._running = 1

    def tick(self) -> None:
        """Once a second or so: let logs that are no longer written to give back their headroom and ground."""
        for hosted in list(self._roomy):
            try:
                if hosted.dropped or not hosted.partition.log.tick_room():
                    del self._roomy[hosted]
            except DiskFailed as error:
                self._failed(error)
                return
            except OSError:
                pass  # no descriptor was to be had, say: it can wait for the next time

    def give_back_room(self) -> None:
        """The disk is short of room: give back all of it."""
        self.tick()  # who was at rest
        self.tick()  # who was not

    async def settled(self, hosted: Hosted) -> None:
        """Return when no sync of *hosted* is under way."""
        while hosted.syncing:
            await self._next_end()

    async def drained(self) -> None:
        """Return when no sync is under way."""
        while self._running:
            await self._next_end()

    def _start_soon(self, hosted: Hosted) -> None:
        self._due = hosted, asyncio.get_running_loop().call_soon(self._start, hosted)

    def _is_due(self, hosted: Hosted) -> bool:
        return self._due is not None and self._due[0] is hosted

    def _start(self, hosted: Hosted) -> None:
        if self._is_due(hosted):
            self._due = None
        sync = None if hosted.dropped else hosted.partition.log.unsynced()
        if sync is None:
            self._end(hosted)
            hosted.committed()
            return
        self.syncs += 1
        if self._running == 1 and not isinstance(sync, WideSync) and self._is_quick():
            self._done(hosted, sync, *_timed(sync))
        else:
            done = asyncio.get_running_loop().run_in_executor(None, _timed, sync)
            done.add_done_callback(partial(self._returned, hosted, sync))

    def _is_quick(self) -> bool:
        return self._usual_us is not None and self._usual_us < self._on_loop_us()

    def _returned(
        self, hosted: Hosted, sync: Sync, future: "asyncio.Future[tuple[float, OSError | None]]"
    ) -> None:
        if not future.cancelled():
            self._done(hosted, sync, *future.result())

    def _done(
        self, hosted: Hosted, sync: Sync, took_us: float, error: OSError | None, times: int = 1
    ) -> None:
        if not isinstance(sync, WideSync):
            usual_us = took_us if self._usual_us is None else self._usual_us
            self._usual_us = usual_us + (took_us - usual_us) * _WEIGHT
        if error is not None and hosted.dropped and not isinstance(error, DiskFailed):
            self._end(hosted)  # its files went away under the sync, as they should
            return
        if error is not None:
            self._failed(error)
            self._end(hosted)  # whoever waits for that need not wait for ever
            return
        log = hosted.partition.log
        log.synced(sync)
        try:
            hosted.committed()
        finally:
            if log.unsynced() is None:
                self._end(hosted)
            else:
                # Not from here: who was told may have appended more, and would be told of it in this call.
                self._start_soon(hosted)
        if log.lay_headroom(self._may_take, times):  # who waited was told before
            self._roomy[hosted] = None

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


def _timed(sync: Sync) -> tuple[float, OSError | None]:
    """Run *sync*; how many microseconds it took, and what the disk said if it did not go well."""
    began = ticks_us()
    error = None
    try:
        sync.run()
    except OSError as failure:
        error = failure
    return ticks_us() - began, error
