"""Every group this node coordinates: what may be asked of them.

`group_keeper.py` sees to it that what they decide is written before it is said. It, and with it all of
`groups/`, is imported when there is a group: that took a fifth of the time in which a node starts.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, final
from uuid import UUID

from millstream.broker.change_log import ChangeLog
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig

if TYPE_CHECKING:
    from millstream.broker.group_keeper import GroupKeeper, KnownTopics
    from millstream.groups.group import Description, Listing
    from millstream.groups.modern_description import ModernDescription
    from millstream.groups.offsets import Commit
    from millstream.groups.outcomes import (
        Beat,
        Done,
        Fetched,
        Heard,
        Join,
        Joined,
        Leaver,
        Left,
        MemberIdGiven,
        Reconciled,
        Sync,
        Synced,
    )


@final
class Groups:
    """Every group by name. Methods act at once; the futures they return tell what is safe to say.

    A future fails with Refused if the answer is no. Nothing need be awaited
    for anything to happen, and a future may be cancelled at any time.
    """

    def __init__(
        self,
        change_log: ChangeLog,
        topics: "KnownTopics",
        clock: Clock,
        random: Random,
        config: Callable[[], GroupConfig],
        config_of: Callable[[str], GroupConfig] | None = None,
    ) -> None:
        """*config* is what groups go by, *config_of* what one of them does, if they differ."""
        self._random = random
        self._log = change_log
        self._given = (topics, clock, config, config_of or (lambda name: config()))
        self._kept: GroupKeeper | None = None
        self._is_stopped = False

    def __len__(self) -> int:
        return 0 if self._kept is None else len(self._kept)

    @property
    def waiting(self) -> int:
        """How many callers have no answer yet."""
        return 0 if self._kept is None else self._kept.waiting

    def start(self) -> None:
        """Load all groups, partition by partition, while other work goes on; then look after them."""
        if not all(map(self._log.is_empty, range(self._log.partitions))):
            self._have_keeper()

    async def ready(self) -> None:
        """Return once every group is loaded."""
        if self._kept is not None:
            await self._kept.ready()

    def stop(self) -> None:
        """Coordinate nothing any more; whoever waits is sent to look for another coordinator."""
        self._is_stopped = True
        if self._kept is not None:
            self._kept.stop()

    def partition_of(self, name: str) -> int:
        """The partition of `__consumer_offsets` that group *name* is written to."""
        return self._keeper.partition_of(name)

    # What members ask

    def join(self, name: str, join: "Join") -> "asyncio.Future[Joined | MemberIdGiven]":
        unique = self._unless_known(join.member_id)
        return self._keeper.ask(
            name, lambda group, caller, now: group.joined(join, caller, unique, now), new=True
        )

    def hear(self, name: str, beat: "Beat") -> "asyncio.Future[Reconciled]":
        """A heartbeat of the newer protocol, which joins and leaves too."""
        unique = self._unless_known(beat.member_id)
        return self._keeper.ask(
            name,
            lambda group, caller, now: group.heard(beat, caller, unique, now),
            new=beat.joins,
        )

    def sync(self, name: str, sync: "Sync") -> "asyncio.Future[Synced]":
        return self._keeper.ask(name, lambda group, caller, now: group.synced(sync, caller, now))

    def heartbeat(
        self, name: str, member_id: str, instance_id: str | None, generation: int
    ) -> "asyncio.Future[Heard]":
        if name and self._keeper.is_on_its_way(name):
            from millstream.groups.outcomes import Heard  # the keeper has imported it

            # It will be known soon, and a refusal would make the member rejoin for nothing.
            future: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()
            future.set_result(Heard())
            return future
        return self._keeper.ask(
            name,
            lambda group, caller, now: group.heartbeat(member_id, instance_id, generation, caller, now),
            only_prolongs=True,
        )

    def leave(self, name: str, leavers: "Sequence[Leaver]") -> "asyncio.Future[Left]":
        return self._keeper.ask(name, lambda group, caller, now: group.left(tuple(leavers), caller, now))

    # Offsets

    def commit_offsets(self, name: str, commit: "Commit") -> "asyncio.Future[Done]":
        """Keep those offsets whose partitions exist; `Done` tells which could not be kept.

        Those of a transaction are kept once it commits.
        """
        missing = self._missing((new.topic, new.partition) for new in commit.offsets)
        kept = tuple(new for new in commit.offsets if (new.topic, new.partition) not in missing)
        commit = replace(commit, offsets=kept)
        return self._keeper.ask(
            name,
            lambda group, caller, now: group.committed(commit, caller, now).with_errors(missing),
            nameless=True,
            new=True,
            only_prolongs=True,
        )

    def transaction_ended(
        self, partition: int, producer_id: int, committed: bool, safe: "asyncio.Future[None]"
    ) -> None:
        """The marker in *partition* ends what *producer_id* wrote there; it is committed when *safe* is done.

        What it says is known at once, and told to nobody before that.
        """
        if self._kept is not None:
            self._kept.transaction_ended(partition, producer_id, committed, safe)

    def fetch_offsets(
        self,
        name: str,
        partitions: Sequence[tuple[str, int]] | None,
        member_id: str = "",
        epoch: int = -1,
    ) -> "asyncio.Future[Fetched]":
        """The offsets in *partitions*, or with None all there are, for a member if it says that it is one."""
        return self._keeper.ask(
            name,
            lambda group, caller, now: group.asked(partitions, caller, member_id, epoch),
            nameless=True,
        )

    def read_up_to(self, name: str, topic: str, partition: int) -> int:
        """Before which offset group *name* has read a partition, as it has committed; 0 if nobody knows."""
        try:
            found = self._keeper.look_at(name).offsets.get(topic, partition)
        except Refused:  # the group is still being loaded
            return 0
        return 0 if found is None else found.offset

    def delete_offsets(self, name: str, partitions: Sequence[tuple[str, int]]) -> "asyncio.Future[Done]":
        """Forget offsets of topics that no member reads; `Done` tells which had to stay."""
        missing = self._missing(partitions)
        present = [each for each in partitions if each not in missing]
        return self._keeper.ask(
            name,
            lambda group, caller, now: group.offsets_deleted(present, caller).with_errors(missing),
            nameless=True,
        )

    def topic_deleted(self, topic: str) -> None:
        """Forget every group's offsets in *topic*."""
        if self._kept is not None:
            self._kept.topic_deleted(topic)

    # What operators ask

    def describe(self, name: str) -> "Description":
        """The group as it stands, Dead if there is none."""
        return self._keeper.look_at(name).describe()

    def describe_modern(self, name: str) -> "ModernDescription":
        """The group as it stands; Refused unless it is one of the newer protocol."""
        return self._keeper.look_at(name).describe_modern()

    def listed(self) -> "list[Listing]":
        """Every group, by name."""
        return [group.listing() for group in self._keeper.all() if not group.is_nothing]

    def delete(self, name: str) -> "asyncio.Future[Done]":
        """Forget the group and its offsets; Refused if it has members."""
        return self._keeper.ask(name, lambda group, caller, now: group.deleted(caller), nameless=True)

    @property
    def _keeper(self) -> "GroupKeeper":
        return self._have_keeper() if self._kept is None else self._kept

    def _have_keeper(self) -> "GroupKeeper":
        from millstream.broker.group_keeper import GroupKeeper  # see above

        self._kept = keeper = GroupKeeper(self._log, *self._given)
        keeper.start()
        if self._is_stopped:
            keeper.stop()
        return keeper

    def _unless_known(self, member_id: str) -> str:
        """Something nobody else is called by, for one who has no id yet."""
        return "" if member_id else str(UUID(int=self._random.getrandbits(128), version=4))

    def _missing(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], ErrorCode]:
        return {
            (topic, index): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for topic, index in partitions
            if not 0 <= index < self._keeper.partition_count(topic)
        }
