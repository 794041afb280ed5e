"""What a simulated member of a group has in hand: partitions, how far it has read them, what it committed.

The same for members of both protocols. Every hold of a partition is noted in
the history with the moments that the broker vouched for it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, final

from millstream.client.refusals import error_code
from millstream.errors import ErrorCode
from millstream.sim.fetcher import Fetched, Fetcher, by_topic
from millstream.sim.history import Commit, History, Hold, Key, Outcome, Poll, ReadCommit
from millstream.sim.link import Later, Link, settle
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchResponse,
)

_LAST_VERSION_WITH_NAMES: Final = 9  # of OffsetCommit and OffsetFetch


@final
class Hand:
    """One member's partitions. *generation* is the group's, if it is of the classic protocol alone.

    Elsewhere a member's epoch moves on while it goes on working, so what it may
    commit is told by the hold itself.
    """

    def __init__(self, name: str, group: str, coordinator: Link, fetcher: Fetcher, history: History) -> None:
        self.generation: int | None = None
        self.positions: dict[Key, int] = {}
        self._name = name
        self._group = group
        self._coordinator = coordinator
        self._fetcher = fetcher
        self._history = history
        self._holds: dict[Key, Hold] = {}
        self._uncommitted: set[Key] = set()

    @property
    def keys(self) -> list[Key]:
        return sorted(self._holds)

    def take(self, keys: Iterable[Key], asked: int) -> None:
        """The broker gave us *keys* in answer to what was asked at *asked*."""
        for key in sorted(keys):
            hold = Hold(process=self._name, begun=asked, group=self._group, key=key)
            self._holds[key] = self._history.begin(hold)
            self._history.end(hold, Outcome.OK)

    async def begin(self, member_id: str | None = None, epoch: int = -1) -> None:
        """Go on where the group left off, in what we were given and have not begun with yet."""
        new = [key for key in self.keys if key not in self.positions]
        if new:
            found = await read_commits(
                self._coordinator, self._history, self._name, self._group, new, member_id, epoch
            )
            self.positions |= {key: offset for key, offset in found.items() if key in self._holds}

    def confirm(self, asked: int) -> None:
        """The broker has answered what was asked at *asked* and left us all that we have."""
        for hold in self._holds.values():
            hold.confirmed = asked

    def drop(self, keys: Collection[Key] | None = None) -> None:
        """Let go of *keys*, or of everything."""
        for key in list(self._holds) if keys is None else sorted(keys):
            self._holds.pop(key, None)
            self.positions.pop(key, None)
            self._uncommitted.discard(key)

    async def poll(self) -> None:
        begun = self._history.tick()
        for fetched in await self._fetcher.fetch(self.positions, wait_s=0.25):
            self._took(fetched, begun)

    async def commit(self, member_id: str, epoch: int, instance_id: str | None) -> list[ErrorCode]:
        """Say what is done; what became of each, and nothing if no answer came."""
        commits = [
            self._history.begin(
                Commit(
                    process=self._name,
                    begun=self._history.tick(),
                    group=self._group,
                    generation=self._generation_of(key),
                    key=key,
                    offset=self.positions[key],
                )
            )
            for key in sorted(self._uncommitted)
        ]
        if not commits:
            return []
        self._uncommitted.clear()
        offsets = {commit.key: commit.offset for commit in commits}
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[
                OffsetCommitRequestTopic(
                    topic, partitions=[OffsetCommitRequestPartition(i, offsets[topic, i]) for i in indexes]
                )
                for topic, indexes in by_topic(offsets).items()
            ],
        )
        said = await self._coordinator.ask(request, OffsetCommitResponse, at_most=_LAST_VERSION_WITH_NAMES)
        codes = {
            (t.name, p.partition_index): error_code(p.error_code) for t in said.topics for p in t.partitions
        }
        for commit in commits:
            code = codes[commit.key]
            if code is ErrorCode.NONE:
                self._history.end(commit, Outcome.OK)
            elif not code.retriable:
                self._history.end(commit, Outcome.FAIL)
        return list(codes.values())

    def _took(self, fetched: Fetched, begun: int) -> None:
        key = fetched.key
        if fetched.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            # Nothing is ever deleted here, so the end has moved back behind what was delivered.
            self._history.complain("out-of-range", key, f"{self._name} asked for {self.positions[key]}")
            raise Later(fetched.code.name)
        if settle(fetched.code) is not ErrorCode.NONE:
            self._history.complain("refused-fetch", key, f"{self._name}: {fetched.code.name}")
            raise Later(fetched.code.name)
        if fetched.next_offset == self.positions[key]:
            return
        poll = Poll(
            process=self._name,
            begun=begun,
            key=key,
            position=self.positions[key],
            records=fetched.values,
            reached=fetched.next_offset,
            generation=self._generation_of(key),
            committed=self._fetcher.committed,
        )
        self._history.begin(poll)
        self._history.end(poll, Outcome.OK)
        self.positions[key] = fetched.next_offset
        self._uncommitted.add(key)

    def _generation_of(self, key: Key) -> int:
        return self._holds[key].begun if self.generation is None else self.generation


async def read_commits(
    link: Link,
    history: History,
    process: str,
    group: str,
    keys: Sequence[Key],
    member_id: str | None = None,
    epoch: int = -1,
) -> dict[Key, int]:
    """Where *group* left each of *keys*; the beginning, where it has not been yet."""
    begun = history.tick()
    topics = [
        OffsetFetchRequestGroupTopic(name, partition_indexes=some) for name, some in by_topic(keys).items()
    ]
    said = await link.ask(
        OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, member_id, epoch, topics)], require_stable=True
        ),
        OffsetFetchResponse,
        at_most=_LAST_VERSION_WITH_NAMES,
    )
    positions: dict[Key, int] = {}
    for found in said.groups:
        if settle(found.error_code) is not ErrorCode.NONE:
            raise Later(error_code(found.error_code).name)
        for topic in found.topics:
            for partition in topic.partitions:
                settle(partition.error_code)
                key = topic.name, partition.partition_index
                read = ReadCommit(
                    process=process, begun=begun, group=group, key=key, offset=partition.committed_offset
                )
                history.begin(read)
                history.end(read, Outcome.OK)
                positions[key] = max(partition.committed_offset, 0)
    return positions
