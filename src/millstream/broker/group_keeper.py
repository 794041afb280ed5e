"""Groups as they are kept: what one decides is written, and said when that is safe.

A group decides in the plain call; its changes are appended in the same call.
What anyone is told waits until they are committed, and so does whatever is
told after them: no answer rests on something a crash could take back.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Protocol, final

from millstream.broker.change_log import ChangeLog, Ended, Writer
from millstream.broker.group_errors import as_clients_know_it
from millstream.cluster.coordinators import coordinator_partition
from millstream.cluster.image import Topic
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.groups.admission import check_group_id
from millstream.groups.changes import (
    OFFSETS_TOPIC,
    GroupSaved,
    OffsetRemoved,
    OffsetSaved,
    OffsetStaged,
    decode,
    encode,
)
from millstream.groups.config import GroupConfig
from millstream.groups.group import Group
from millstream.groups.modern_changes import EpochWritten
from millstream.groups.outcomes import Now, Outcome, Reply
from millstream.storage.retention import ClockGuard

log = logging.getLogger(__name__)

_RECORDS_A_SLICE: Final = 500  # replayed in one go before others get the loop
_GROUPS_A_SLICE: Final = 100  # looked at in one go, likewise


class KnownTopics(Protocol):
    """Tells which topics there are."""

    def topic(self, name: str) -> Topic:
        """The topic *name*; Refused if there is none."""
        ...

    def by_name(self) -> Mapping[str, Topic]:
        """Every topic; the same mapping as long as nothing has changed."""
        ...


@final
class _Held:
    """A group, its timer, and the last of its changes that may not be committed yet."""

    __slots__ = ("committed", "group", "partition", "timer", "timer_ms")

    def __init__(self, group: Group, partition: int) -> None:
        self.group = group
        self.partition = partition
        self.committed: asyncio.Future[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.timer_ms = 0

    @property
    def is_settled(self) -> bool:
        """Whether all that was written is committed; what failed never is, and is read again."""
        last = self.committed
        return last is None or (last.done() and not last.cancelled() and last.exception() is None)


@final
class GroupKeeper:
    """Every group by name, loaded from the log, written to it, and told the time."""

    def __init__(
        self,
        change_log: ChangeLog,
        topics: KnownTopics,
        clock: Clock,
        config: Callable[[], GroupConfig],
        config_of: Callable[[str], GroupConfig],
    ) -> None:
        self._log = change_log
        self._topics = topics
        self._clock = clock
        self._config = config
        self._config_of = config_of
        self._partitions = 0
        self._loaded: set[int] = set()
        self._groups: dict[str, _Held] = {}
        # The groups that have something of an open transaction, by partition and producer id.
        self._staging: dict[tuple[int, int], set[str]] = {}
        self._callers: dict[int, asyncio.Future[Any]] = {}
        self._last_caller = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def waiting(self) -> int:
        """How many callers have no answer yet."""
        return len(self._callers)

    def start(self) -> None:
        """Load all groups, partition by partition, while other work goes on; then look after them."""
        loop = asyncio.get_running_loop()
        self._partitions = self._log.partitions
        # Where nothing is written nothing need be waited for: we may be called for the first group of all.
        self._loaded = {each for each in range(self._partitions) if self._log.is_empty(each)}
        self._tasks = [loop.create_task(self._load_all()), loop.create_task(self._keep_up())]

    async def ready(self) -> None:
        """Return once every group is loaded."""
        if not self._tasks[0].done():
            await asyncio.wait(self._tasks[:1])

    def stop(self) -> None:
        """Coordinate nothing any more; whoever waits is sent to look for another coordinator."""
        self._is_stopped = True
        for task in self._tasks:
            task.cancel()
        self._loaded.clear()
        for held in list(self._groups.values()):
            self._drop(held, "this node is shutting down")

    # Looking

    def partition_of(self, name: str) -> int:
        return coordinator_partition(name, self._partitions)

    def look_at(self, name: str) -> Group:
        """The group *name* as it stands, one of which nothing is known if there is none."""
        held = self._groups.get(name)
        if held is None:
            self._check_loaded(name)
            return Group(name, self._config)
        return held.group

    def all(self) -> list[Group]:
        """Every group, by name; Refused while they are being loaded."""
        if len(self._loaded) < self._partitions:
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "groups are being loaded")
        return [held.group for _, held in sorted(self._groups.items())]

    def is_on_its_way(self, name: str) -> bool:
        """Whether the group, if there is such a one, will be known soon."""
        return not self._is_stopped and not self._is_loaded(name)

    def partition_count(self, topic: str) -> int:
        """How many partitions *topic* has; none if there is no such topic."""
        try:
            return self._topics.topic(topic).partitions
        except Refused:
            return 0

    # What happens to many of them

    def topic_deleted(self, topic: str) -> None:
        for held in list(self._groups.values()):
            self._carry_out(held, held.group.topic_deleted(topic))

    def transaction_ended(
        self, partition: int, producer_id: int, committed: bool, safe: "asyncio.Future[None]"
    ) -> None:
        for name in sorted(self._staging.pop((partition, producer_id), ())):
            held = self._groups.get(name)
            if held is not None and held.group.offsets.settle(producer_id, committed):
                held.committed = safe
                self._carry_out(held, Outcome())
                safe.add_done_callback(partial(self._settled, held, []))

    # Asking a group

    def ask(
        self,
        name: str,
        step: Callable[[Group, int, Now], Outcome],
        *,
        nameless: bool = False,
        new: bool = False,
        only_prolongs: bool = False,
    ) -> asyncio.Future[Any]:
        """Let the group take *step*; the future is its answer to this caller.

        A group without a name may be asked only if *nameless*, and one more
        group may come of it only if *new*. A step that *only_prolongs*
        sessions leaves the timer alone: it fires, finds nothing and is set again.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            held = self._find(name, nameless, new)
        except Refused as refusal:
            future.set_exception(refusal)
            future.exception()  # seen: a caller that has gone must not make the loop complain
            return future
        self._last_caller += 1
        caller = self._last_caller
        self._callers[caller] = future
        self._carry_out(held, step(held.group, caller, self._now()), only_prolongs)
        if not future.done():
            future.add_done_callback(partial(self._answered, held, caller))
        return future

    def _find(self, name: str, nameless: bool, new: bool) -> _Held:
        held = self._groups.get(name)
        if held is not None:
            return held
        check_group_id(name, may_be_empty=nameless)
        self._check_loaded(name)
        if new and len(self._groups) >= self._config().max_count:
            raise Refused(ErrorCode.POLICY_VIOLATION, f"group.max.count is {self._config().max_count}")
        return _Held(self._new(name), self.partition_of(name))

    def _new(self, name: str) -> Group:
        return Group(name, partial(self._config_of, name), self._topics.by_name)

    def _is_loaded(self, name: str) -> bool:
        return name in self._groups or self.partition_of(name) in self._loaded

    def _check_loaded(self, name: str) -> None:
        if self._is_stopped:
            raise Refused(ErrorCode.NOT_COORDINATOR, "this node is shutting down")
        if not self._is_loaded(name):
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the group is being loaded")

    def _answered(self, held: _Held, caller: int, future: asyncio.Future[Any]) -> None:
        """The future of one who had to wait is done, by us or by its owner, who has lost interest."""
        self._callers.pop(caller, None)
        if future.cancelled() and self._is_current(held):
            self._carry_out(held, held.group.members.hung_up(caller, self._now()))

    # Carrying out what a group decides

    def _carry_out(self, held: _Held, outcome: Outcome, only_prolongs: bool = False) -> None:
        if outcome.changes and not self._write(held, outcome):
            return
        if held.committed is None or held.is_settled:
            self._give(outcome.replies)
        elif outcome.replies or outcome.changes:
            held.committed.add_done_callback(partial(self._settled, held, outcome.replies))
        if not only_prolongs or held.group.modern is not None:
            self._arm(held)
        self._keep(held)

    def _write(self, held: _Held, outcome: Outcome) -> bool:
        group = held.group
        try:
            held.committed = self._log.append(
                held.partition,
                [encode(group.name, change) for change in outcome.changes],
                None if outcome.producer is None else Writer(*outcome.producer),
            )
        except Refused as refusal:
            log.warning("group not written group=%r reason=%s", group.name, refusal)
            self._undo(held, outcome, refusal)
            return False
        if outcome.producer is not None:
            self._staging.setdefault((held.partition, outcome.producer[0]), set()).add(group.name)
        for change in outcome.changes:
            group.apply(change)
            if isinstance(change, GroupSaved):
                saved = change.group
                log.info(
                    "group=%r generation=%d members=%d", group.name, saved.generation, len(saved.members)
                )
            elif isinstance(change, EpochWritten) and change.epoch is not None:
                log.info("group=%r epoch=%d", group.name, change.epoch)
        return True

    def _undo(self, held: _Held, outcome: Outcome, refusal: Refused) -> None:
        """Nothing was written, so nothing has happened: go back to what is written."""
        of_offsets = OffsetSaved | OffsetRemoved | OffsetStaged
        touches_members = not all(isinstance(change, of_offsets) for change in outcome.changes)
        code = as_clients_know_it(refusal.code, of_members=touches_members)
        self._refuse(outcome.replies, code, refusal.detail)
        if touches_members:
            self._give(held.group.restored(self._now(), code, refusal.detail).replies)
        self._arm(held)
        self._keep(held)

    def _settled(
        self, held: _Held, replies: list[tuple[int, Reply]], committed: asyncio.Future[None]
    ) -> None:
        error = asyncio.CancelledError() if committed.cancelled() else committed.exception()
        if error is None:
            self._give(replies)
            if self._is_current(held):
                self._keep(held)
            return
        code = (
            as_clients_know_it(error.code, of_members=True)
            if isinstance(error, Refused)
            else ErrorCode.NOT_COORDINATOR
        )
        why = "whether this was written is not known"
        self._refuse(replies, code, why)
        if self._is_current(held):
            log.error("groups read again after a failed write partition=%d error=%s", held.partition, error)
            self._unload(held.partition, why)
            for _ in self._load(held.partition):
                pass

    def _give(self, replies: Iterable[tuple[int, Reply]]) -> None:
        for caller, reply in replies:
            future = self._callers.pop(caller, None)
            if future is None or future.done():
                continue
            if isinstance(reply, Refused):
                future.set_exception(reply.with_traceback(None))
                future.exception()  # seen: a caller that has gone must not make the loop complain
            else:
                future.set_result(reply)

    def _refuse(self, replies: Iterable[tuple[int, Reply]], code: ErrorCode, why: str) -> None:
        self._give((caller, Refused(code, why)) for caller, _ in replies)

    def _is_current(self, held: _Held) -> bool:
        return self._groups.get(held.group.name) is held

    def _keep(self, held: _Held) -> None:
        """Remember the group, unless there is nothing to remember."""
        if not held.group.is_nothing or not held.is_settled:
            self._groups[held.group.name] = held
        elif self._is_current(held):
            del self._groups[held.group.name]

    # Time

    def _now(self) -> Now:
        # Rounded, so that a timer never fires a fraction before the millisecond it was set for.
        return Now(round(asyncio.get_running_loop().time() * 1000), self._clock.now_ms())

    def _arm(self, held: _Held) -> None:
        deadline_ms = held.group.next_deadline_ms()
        if held.timer is not None:
            if deadline_ms is not None and held.timer_ms <= deadline_ms:
                return
            held.timer.cancel()
            held.timer = None
        if deadline_ms is not None:
            held.timer_ms = deadline_ms
            held.timer = asyncio.get_running_loop().call_at(deadline_ms / 1000, self._tick, held)

    def _tick(self, held: _Held) -> None:
        held.timer = None
        if self._is_current(held):
            self._carry_out(held, held.group.tick(self._now()))

    async def _keep_up(self) -> None:
        """Now and then, look for offsets that nobody needs any more."""
        guard = ClockGuard()
        while True:
            await asyncio.sleep(self._config().offsets_retention_check_interval_ms / 1000)
            now = self._now()
            if not guard.trusts(now.wall_ms, now.ms):
                continue  # a clock that was set must not make everything old at once
            for count, held in enumerate(list(self._groups.values()), 1):
                if self._is_current(held):
                    self._carry_out(held, held.group.retention_checked(now))
                if count % _GROUPS_A_SLICE == 0:
                    await asyncio.sleep(0)

    # Loading

    async def _load_all(self) -> None:
        for partition in sorted(set(range(self._partitions)) - self._loaded):
            try:
                for _ in self._load(partition):
                    await asyncio.sleep(0)
            except (Refused, OSError) as error:
                log.error(
                    "groups not loaded topic=%s partition=%d reason=%s", OFFSETS_TOPIC, partition, error
                )

    def _load(self, partition: int) -> Iterator[None]:
        """Read the groups of *partition* from its log, pausing now and then."""
        groups: dict[str, Group] = {}
        for count, entry in enumerate(self._log.replay(partition), 1):
            if isinstance(entry, Ended):
                for known in groups.values():
                    known.offsets.settle(entry.producer_id, entry.committed)
                continue
            try:
                found = decode(entry.key, entry.value, entry.producer_id)
            except Refused as refusal:
                log.error("record skipped topic=%s partition=%d reason=%s", OFFSETS_TOPIC, partition, refusal)
                continue
            if found is not None:
                name, change = found
                group = groups.get(name)
                if group is None:
                    group = groups[name] = self._new(name)
                group.apply(change)
            if count % _RECORDS_A_SLICE == 0:
                yield
        now = self._now()
        for group in groups.values():
            held = _Held(group, partition)
            group.restored(now)
            for producer_id in group.offsets.producers():
                self._staging.setdefault((partition, producer_id), set()).add(group.name)
            self._arm(held)
            self._keep(held)
            for topic in group.offsets.topics():
                if not self.partition_count(topic):
                    # It was deleted, and the power went before every group could write so.
                    self._carry_out(held, group.topic_deleted(topic))
        self._loaded.add(partition)

    def _unload(self, partition: int, why: str) -> None:
        """Forget the groups of *partition*; whoever waits is sent to look for another coordinator."""
        self._loaded.discard(partition)
        for key in [key for key in self._staging if key[0] == partition]:
            del self._staging[key]
        for held in [each for each in self._groups.values() if each.partition == partition]:
            self._drop(held, why)

    def _drop(self, held: _Held, why: str) -> None:
        del self._groups[held.group.name]
        if held.timer is not None:
            held.timer.cancel()
            held.timer = None
        self._give(held.group.members.abandoned(ErrorCode.NOT_COORDINATOR, why).replies)
