"""One group: its members, and how far they have come.

Where state must outlive the process, deciding and writing are apart. The
steps decide and return changes; `apply` alone writes what is durable, live
and on recovery alike. What only lives (who waits, whose session ends when)
is the members' own, and begins anew with `restored`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import final

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import (
    Change,
    CommittedOffset,
    GroupRemoved,
    GroupSaved,
    OffsetRemoved,
    OffsetSaved,
    SavedGroup,
)
from millstream.groups.classic import ClassicGroup
from millstream.groups.config import GroupConfig
from millstream.groups.offsets import Commit, Offsets
from millstream.groups.outcomes import Done, Fetched, Now, Outcome, State
from millstream.groups.subscription import CONSUMER, topics_of


@final
@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member as an operator sees it."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@final
@dataclass(frozen=True, slots=True)
class Listing:
    """A group in a list of many."""

    name: str
    state: State
    protocol_type: str


@final
@dataclass(frozen=True, slots=True)
class Description:
    """A group as an operator sees it; *protocol* and metadata are settled only while it is Stable."""

    name: str
    state: State
    protocol_type: str
    protocol: str
    members: tuple[MemberDescription, ...]


@final
class Group:
    """Everything known of one group name, if only that nothing is."""

    def __init__(self, name: str, config: Callable[[], GroupConfig]) -> None:
        self.name = name
        self._config = config
        self.members = ClassicGroup(config)
        self.offsets = Offsets(config)
        self.saved: SavedGroup | None = None

    @property
    def is_nothing(self) -> bool:
        """No members, no offsets, nothing written: such a group need not be remembered."""
        return self.saved is None and not len(self.offsets) and self.members.is_deserted

    # What happened

    def committed(self, commit: Commit, caller: int, now: Now) -> Outcome:
        """A member, or someone who reads without being one, has come this far."""
        out = Outcome()
        try:
            self._check_commit(commit)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        self.members.heard_from(commit.member_id, now)
        changes, errors = self.offsets.commit(commit, now.wall_ms)
        out.changes.extend(changes)
        out.reply(caller, Done(errors))
        return out

    def asked(self, partitions: Sequence[tuple[str, int]] | None, caller: int) -> Outcome:
        """Someone wants to know the offsets in *partitions*; None stands for all there are."""
        if partitions is None:
            known: dict[tuple[str, int], CommittedOffset | None] = {
                (topic, partition): offset for topic, partition, offset in self.offsets.all()
            }
        else:
            known = {each: self.offsets.get(*each) for each in partitions}
        return Outcome(replies=[(caller, Fetched(known))])

    def deleted(self, caller: int) -> Outcome:
        """An operator wants the group forgotten."""
        out = Outcome()
        if self.is_nothing:
            out.refuse(caller, ErrorCode.GROUP_ID_NOT_FOUND, "no such group")
        elif self.members.state is not State.EMPTY:
            out.refuse(caller, ErrorCode.NON_EMPTY_GROUP, "the group has members")
        else:
            out.changes.extend(self._everything())
            self.members = ClassicGroup(self._config)
            out.reply(caller, Done())
        return out

    def offsets_deleted(self, partitions: Iterable[tuple[str, int]], caller: int) -> Outcome:
        """An operator wants offsets forgotten; those of topics that members read stay."""
        out = Outcome()
        if self.is_nothing:
            out.refuse(caller, ErrorCode.GROUP_ID_NOT_FOUND, "no such group")
            return out
        if self.members.state is not State.EMPTY and self.members.protocol_type != CONSUMER:
            out.refuse(
                caller, ErrorCode.NON_EMPTY_GROUP, "the group has members, and what they read is their secret"
            )
            return out
        errors: dict[tuple[str, int], ErrorCode] = {}
        read = self._topics_read()
        for topic, partition in partitions:
            if read is None or topic in read:
                errors[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif self.offsets.get(topic, partition) is not None:
                out.changes.append(OffsetRemoved(topic, partition))
        out.reply(caller, Done(errors))
        return out

    def topic_deleted(self, topic: str) -> Outcome:
        """A topic is gone, and offsets in it mean nothing; one created again would not be the same."""
        return Outcome(changes=list(self.offsets.remove_topic(topic)))

    def retention_checked(self, now: Now) -> Outcome:
        """Look for offsets whose time is over, and forget a group that has nothing left."""
        out = Outcome()
        members = self.members
        rebalancing = members.state in (State.PREPARING, State.COMPLETING)
        read = None if rebalancing else self._topics_read()
        if read is None:
            return out  # members read we do not know what, so everything counts as needed
        removed = self.offsets.remove_expired(now.wall_ms, self._unused_since, read)
        out.changes.extend(removed)
        if self.saved is not None and members.is_deserted and len(removed) == len(self.offsets):
            out.changes.append(GroupRemoved())
        return out

    # What is known

    def listing(self) -> Listing:
        return Listing(self.name, self.members.state, self.members.protocol_type or "")

    def describe(self) -> Description:
        members = self.members
        settled = members.protocol if members.state is State.STABLE else None
        return Description(
            name=self.name,
            state=State.DEAD if self.is_nothing else members.state,
            protocol_type=members.protocol_type or "",
            protocol=settled or "",
            members=tuple(
                MemberDescription(
                    id=each.id,
                    instance_id=each.instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    metadata=each.metadata(settled),
                    assignment=each.assignment,
                )
                for each in members.members
            ),
        )

    # What is written

    def apply(self, change: Change) -> None:
        """*change* is in the log."""
        match change:
            case GroupSaved(saved):
                self.saved = saved
            case GroupRemoved():
                self.saved = None
            case OffsetSaved() | OffsetRemoved():
                self.offsets.apply(change)

    def restored(self, now: Now, code: ErrorCode = ErrorCode.NOT_COORDINATOR, why: str = "") -> Outcome:
        """Go on from what is written, as after a restart; whoever waits is told *why*."""
        out = self.members.abandoned(code, why)
        if self.saved is not None:
            self.members.restored(self.saved, now)
        return out

    def _check_commit(self, commit: Commit) -> None:
        members = self.members
        if commit.generation < 0 and members.state is State.EMPTY:
            return  # an operator's tool, or a consumer that assigns itself
        if commit.generation >= 0 and self.is_nothing:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "no such group")
        members.check_member(commit.member_id, commit.instance_id)
        members.check_generation(commit.generation)
        if members.state is State.COMPLETING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "partitions are being handed out anew; join again")

    def _everything(self) -> list[Change]:
        """What takes back all that was written."""
        changes: list[Change] = list(self.offsets.remove_all())
        if self.saved is not None:
            changes.append(GroupRemoved())
        return changes

    def _topics_read(self) -> frozenset[str] | None:
        """The topics members subscribe to; None if they have their own ways, or speak unclearly."""
        members = self.members
        if members.state is State.EMPTY:
            return frozenset()
        if members.protocol_type != CONSUMER:
            return None
        return topics_of(each.metadata(members.protocol) for each in members.members)

    def _unused_since(self, offset: CommittedOffset) -> int:
        members = self.members
        if members.protocol_type is not None and members.state is State.EMPTY and members.since_ms >= 0:
            return members.since_ms
        return offset.committed_ms
