"""Upkeep: retention, compaction, checkpoints, free space, files to be removed.

Each chore runs again some time after it last ended. One that fails because of
the disk is a disk failure; any other failure is logged and tried again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, final

from millstream.broker.checkpoints import Checkpoints
from millstream.broker.commit import Commit
from millstream.broker.config import BrokerConfig
from millstream.broker.groups import Groups
from millstream.broker.threads import in_thread, short_turns
from millstream.broker.topics import Topics
from millstream.broker.waiting import Hosted
from millstream.env.disk import DiskFailed
from millstream.env.environment import Env
from millstream.storage.compaction import Compaction
from millstream.storage.expiring import drop_expired, next_look
from millstream.storage.log import Log
from millstream.storage.retention import ClockGuard
from millstream.storage.space import is_want_of_space
from millstream.storage.store import Store

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
_BALLAST_SECONDS: Final = 2.0  # after the start, which should not wait for it
_SWEEP_SECONDS: Final = 15.0
_LOGS_A_SLICE: Final = 200
_BREATH_SECONDS: Final = 0.001  # between slices of compaction, some milliseconds each, the loop has no rival


@final
class Chores:
    def __init__(
        self,
        env: Env,
        store: Store,
        topics: Topics,
        commit: Commit,
        checkpoints: Checkpoints,
        groups: Groups,
        config: Callable[[], BrokerConfig],
        failed: Callable[[OSError], None],
    ) -> None:
        self._clock = env.clock
        self._disk = env.disk
        self._store = store
        self._topics = topics
        self._commit = commit
        self._checkpoints = checkpoints
        self._groups = groups
        self._config = config
        self._failed = failed
        self._guard = ClockGuard()
        self._tasks: list[asyncio.Task[None]] = []
        self._compacting: dict[Hosted, tuple[Compaction, asyncio.Future[None]]] = {}

    def start(self) -> None:
        config = self._config
        self._tasks.append(asyncio.create_task(self._have_first_ballast()))
        self._every(lambda: _LOOK_SECONDS, self._look_at_disk)
        self._every(lambda: _SWEEP_SECONDS, self._sweep)
        self._every(lambda: config().checkpoint_ms / 1000, self._checkpoint)
        self._every(lambda: config().retention_check_ms / 1000, self._retain)
        self._every(lambda: config().compaction_check_ms / 1000, self._compact)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def settled(self, hosted: Hosted) -> None:
        """Return when nobody works on the files of *hosted* in another thread."""
        await self._commit.settled(hosted)
        under_way = self._compacting.get(hosted)
        if under_way is not None:
            compaction, ended = under_way
            compaction.abandon()
            await asyncio.shield(ended)

    def _every(self, seconds: Callable[[], float], chore: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.create_task(self._repeat(seconds, chore)))

    async def _repeat(self, seconds: Callable[[], float], chore: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds())  # asked each time: an operator may change it
            try:
                await chore()
            except DiskFailed as error:
                self._failed(error)
                return
            except Exception:
                log.exception("chore failed chore=%s", getattr(chore, "__name__", chore))

    async def _have_first_ballast(self) -> None:
        await asyncio.sleep(_BALLAST_SECONDS)
        await self._have_ballast()

    async def _have_ballast(self) -> None:
        try:
            await in_thread(self._store.space.fill_ballast)
        except OSError as error:
            log.warning("no ballast: the disk is too full for it error=%s", error.strerror)

    async def _look_at_disk(self) -> None:
        # Whoever met the failure may have gone by now: nobody else will say.
        if self._disk.failure is not None:
            self._failed(self._disk.failure)
        self._commit.tick()
        space = self._store.space
        space.min_free_percent = self._config().min_free_percent
        was_full = space.is_full
        space.look()
        if space.is_full and not was_full:
            log.error("disk almost full: writes are refused free_bytes=%d", self._disk.free_bytes())
            self._commit.give_back_room()
        if space.is_full:
            await self._sweep()  # what is to go goes now
        elif was_full:
            log.info("disk has room again: writes are served free_bytes=%d", self._disk.free_bytes())
            await self._have_ballast()

    async def _sweep(self) -> None:
        sweep = self._store.sweep(self._clock.now_ms())
        if sweep is not None:
            await in_thread(sweep.run)

    async def _checkpoint(self) -> None:
        for hosted in self._topics.all_hosted():
            if hosted.partition.log.unsynced() is not None:
                self._commit.sync(hosted)
        await self._checkpoints.note()

    async def _retain(self) -> None:
        now_ms = self._clock.now_ms()
        by_time = self._trusts(now_ms)
        for done, hosted in enumerate(self._topics.all_hosted()):
            if hosted.dropped:
                continue
            if by_time:
                hosted.partition.log.expire_producers(now_ms, self._config().producer_expiry_ms)
            try:
                self._retain_one(hosted, now_ms, by_time)
            except OSError as error:
                if not is_want_of_space(error):
                    raise
                # It has no room for a new segment. The next log may have some to give.
                log.warning("no room to roll log=%s", hosted.partition.log.name)
            if by_time:
                await self._drop_expired(hosted, now_ms)
            if done % _LOGS_A_SLICE == 0:
                await asyncio.sleep(0)

    def _trusts(self, now_ms: int) -> bool:
        """Whether the clock may be relied on to take things away."""
        jumps = self._guard.jumps
        trusts = self._guard.trusts(now_ms, int(asyncio.get_running_loop().time() * 1000))
        if self._guard.jumps != jumps:
            log.warning("the clock jumped: nothing is deleted by age until it has been steady for a while")
        return trusts

    async def _drop_expired(self, hosted: Hosted, now_ms: int) -> None:
        """Delete segments of which every record says that it is of no use any more."""
        opened = hosted.partition.log
        while not hosted.dropped:
            look = next_look(self._disk, opened)
            if look is not None:
                with short_turns():
                    await in_thread(look.run)
                look.done()
            if not drop_expired(opened, hosted.partition.high_watermark, now_ms):
                break
            log.info("expired log=%s start_offset=%d", opened.name, opened.start_offset)

    def _retain_one(self, hosted: Hosted, now_ms: int, by_time: bool) -> None:
        opened = hosted.partition.log
        deleted = opened.expire(
            now_ms, hosted.partition.high_watermark, by_time=by_time, held_from=self._held_from(opened)
        )
        if deleted:
            log.info(
                "retention log=%s segments=%d start_offset=%d", opened.name, deleted, opened.start_offset
            )
        opened.roll_if_due(now_ms)

    def _held_from(self, opened: Log) -> int | None:
        """From where on the log is kept for groups that have not read it; not if that is all the disk has."""
        groups = opened.config.retention_hold_groups
        if not groups or self._store.space.is_full:
            return None
        return min(self._groups.read_up_to(name, opened.topic, opened.partition) for name in groups)

    async def _compact(self) -> None:
        for hosted in self._topics.all_hosted():
            if self._config().compacts and not hosted.dropped and hosted.partition.log.config.compacts:
                await self._compact_one(hosted)

    async def _compact_one(self, hosted: Hosted) -> None:
        opened = hosted.partition.log
        budget = self._config().compaction_keys_bytes
        now_ms = self._clock.now_ms()
        compaction = opened.compaction(
            now_ms, hosted.partition.last_stable_offset, budget, by_time=self._trusts(now_ms)
        )
        if compaction is None:
            return
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._compacting[hosted] = compaction, ended
        slices = compaction.slices()
        try:
            with short_turns():
                while await in_thread(partial(next, slices, False)):  # noqa: ASYNC110 - a pause, not a wait
                    await asyncio.sleep(_BREATH_SECONDS)
        finally:
            slices.close()
            opened.compacted(compaction)
            del self._compacting[hosted]
            ended.set_result(None)
        log.info(
            "compacted log=%s read_bytes=%d written_bytes=%d",
            opened.name,
            compaction.read_bytes,
            compaction.written_bytes,
        )
