"""Every group this node coordinates: what groups decide is written, and then said.

A group decides in the plain call; its changes are appended in the same call.
What anyone is told waits until they are committed, and so does whatever is
told after them: no answer rests on something a crash could take back.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, Final, Protocol, final
from uuid import UUID

from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.groups.admission import check_group_id
from millstream.groups.changes import (
    OFFSETS_TOPIC,
    GroupRemoved,
    GroupSaved,
    coordinator_partition,
    decode,
    encode,
)
from millstream.groups.config import GroupConfig
from millstream.groups.group import Description, Group
from millstream.groups.offsets import Commit
from millstream.groups.outcomes import (
    Done,
    Fetched,
    Heard,
    Join,
    Joined,
    Leaver,
    Left,
    MemberIdGiven,
    Now,
    Outcome,
    Reply,
    Sync,
    Synced,
)

log = logging.getLogger(__name__)

_RECORDS_A_SLICE: Final = 500  # replayed in one go before others get the loop
_GROUPS_A_SLICE: Final = 100  # looked at in one go, likewise

_UNAVAILABLE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_ELSEWHERE: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})
_TOO_LARGE: Final = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})


class GroupLog(ABC):
    """Where changes of groups are kept: the partitions of `__consumer_offsets`."""

    @abstractmethod
    def append(self, partition: int, records: list[tuple[bytes, bytes | None]]) -> asyncio.Future[None]:
        """Append *records*, (key, value) each, in this call; the future is done when they are committed.

        Raises Refused if nothing was appended. A future that fails means that
        nobody knows.
        """

    @abstractmethod
    def replay(self, partition: int) -> Iterator[tuple[bytes, bytes | None]]:
        """Every record of *partition*, oldest first; nothing if there is no such partition yet."""


class KnownTopics(Protocol):
    """Tells which partitions there are."""

    def hosted(self, name: str, index: int) -> object:
        """Raises Refused unless there is such a partition."""
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
        return self.committed is None or self.committed.done()


@final
class Groups:
    """Every group by name. Methods act at once; the futures they return tell what is safe to say.

    A future fails with Refused if the answer is no. Nothing need be awaited
    for anything to happen, and a future may be cancelled at any time.
    """

    def __init__(
        self,
        group_log: GroupLog,
        topics: KnownTopics,
        clock: Clock,
        random: Random,
        config: Callable[[], GroupConfig],
    ) -> None:
        self.rebalances = 0
        self._log = group_log
        self._topics = topics
        self._clock = clock
        self._random = random
        self._config = config
        self._partitions = config().offsets_topic_num_partitions
        self._loaded: set[int] = set()
        self._groups: dict[str, _Held] = {}
        self._callers: dict[int, asyncio.Future[Any]] = {}
        self._last_caller = 0
        self._tasks: list[asyncio.Task[None]] = []

    def __len__(self) -> int:
        return len(self._groups)

    def start(self) -> None:
        """Load all groups, partition by partition, while other work goes on; then look after them."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._load_all()), loop.create_task(self._keep_up())]

    def stop(self) -> None:
        """Coordinate nothing any more; whoever waits is sent to look for another coordinator."""
        for task in self._tasks:
            task.cancel()
        for partition in range(self._partitions):
            self._unload(partition, "this node is shutting down")

    def partition_of(self, name: str) -> int:
        """The partition of `__consumer_offsets` that group *name* is written to."""
        return coordinator_partition(name, self._partitions)

    # What members ask

    def join(self, name: str, join: Join) -> "asyncio.Future[Joined | MemberIdGiven]":
        unique = str(UUID(int=self._random.getrandbits(128), version=4))
        return self._ask(
            name, lambda group, caller, now: group.members.joined(join, caller, unique, now), new=True
        )

    def sync(self, name: str, sync: Sync) -> "asyncio.Future[Synced]":
        return self._ask(name, lambda group, caller, now: group.members.synced(sync, caller, now))

    def heartbeat(
        self, name: str, member_id: str, instance_id: str | None, generation: int
    ) -> "asyncio.Future[Heard]":
        if name and not self._is_loaded(name):
            # It will be known soon, and a refusal would make the member rejoin for nothing.
            return self._answer(Heard())
        return self._ask(
            name,
            lambda group, caller, now: group.members.heartbeat(
                member_id, instance_id, generation, caller, now
            ),
            only_prolongs=True,
        )

    def leave(self, name: str, leavers: Sequence[Leaver]) -> "asyncio.Future[Left]":
        return self._ask(name, lambda group, caller, now: group.members.left(tuple(leavers), caller, now))

    # Offsets

    def commit_offsets(self, name: str, commit: Commit) -> "asyncio.Future[Done]":
        """Keep those offsets whose partitions exist; `Done` tells which could not be kept."""
        missing = self._missing((new.topic, new.partition) for new in commit.offsets)
        kept = tuple(new for new in commit.offsets if (new.topic, new.partition) not in missing)
        commit = Commit(
            member_id=commit.member_id,
            instance_id=commit.instance_id,
            generation=commit.generation,
            retention_ms=commit.retention_ms,
            offsets=kept,
        )
        return self._ask(
            name,
            lambda group, caller, now: _with_errors(group.committed(commit, caller, now), missing),
            nameless=True,
            new=True,
            only_prolongs=True,
        )

    def fetch_offsets(
        self, name: str, partitions: Sequence[tuple[str, int]] | None
    ) -> "asyncio.Future[Fetched]":
        """The offsets in *partitions*, or with None all there are."""
        return self._ask(name, lambda group, caller, now: group.asked(partitions, caller), nameless=True)

    def delete_offsets(self, name: str, partitions: Sequence[tuple[str, int]]) -> "asyncio.Future[Done]":
        """Forget offsets of topics that no member reads; `Done` tells which had to stay."""
        missing = self._missing(partitions)
        present = [each for each in partitions if each not in missing]
        return self._ask(
            name,
            lambda group, caller, now: _with_errors(group.offsets_deleted(present, caller), missing),
            nameless=True,
        )

    def topic_deleted(self, topic: str) -> None:
        """Forget every group's offsets in *topic*."""
        for held in list(self._groups.values()):
            self._carry_out(held, held.group.topic_deleted(topic))

    # What operators ask

    def describe(self, name: str) -> Description:
        """The group as it stands, Dead if there is none."""
        held = self._groups.get(name)
        if held is None:
            self._check_loaded(name)
            return Group(name, self._config).describe()
        return held.group.describe()

    def list(self) -> list[Description]:
        """Every group, by name."""
        if len(self._loaded) < self._partitions:
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "groups are being loaded")
        described = [held.group.describe() for _, held in sorted(self._groups.items())]
        return [each for each in described if each.state.value != "Dead"]

    def delete(self, name: str) -> "asyncio.Future[Done]":
        """Forget the group and its offsets; Refused if it has members."""
        return self._ask(name, lambda group, caller, now: group.deleted(caller), nameless=True)
