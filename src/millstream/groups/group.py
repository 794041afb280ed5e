"""One group: its members, and how far they have come.

Where state must outlive the process, deciding and writing are apart. The
steps decide and return changes; `apply` alone writes what is durable, live
and on recovery alike. What only lives (who waits, whose session ends when)
is the members' own, and begins anew with `restored`.

Members speak the classic protocol or the newer one. The first of the newer
makes the group one of the newer protocol, in which the others may go on as
they were; when the last of them leaves it is a classic group again.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import (
    Change,
    CommittedOffset,
    GroupRemoved,
    GroupSaved,
    OffsetRemoved,
    OffsetSaved,
    OffsetStaged,
    SavedGroup,
)
from millstream.groups.classic import ClassicGroup
from millstream.groups.config import GroupConfig
from millstream.groups.migration import downgraded, speaks_only_classic, upgraded
from millstream.groups.mixed import ClassicMembers
from millstream.groups.modern import ModernGroup, Topic, Topics
from millstream.groups.modern_changes import MemberWritten, ModernChange
from millstream.groups.modern_description import ModernDescription, described
from millstream.groups.modern_state import tombstones
from millstream.groups.offsets import Commit, Offsets
from millstream.groups.outcomes import Beat, Done, Fetched, Join, Leaver, Now, Outcome, State, Sync
from millstream.groups.subscription import CONSUMER, topics_of

_NO_TOPICS: Final[Mapping[str, Topic]] = {}


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
    type: str = "classic"


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

    def __init__(
        self, name: str, config: Callable[[], GroupConfig], topics: Topics = lambda: _NO_TOPICS
    ) -> None:
        self.name = name
        self._config = config
        self._topics = topics
        self.members = ClassicGroup(config)
        self.modern: ModernGroup | None = None  # if so, the above is deserted
        self._modern_is_written = False
        self.offsets = Offsets(config)
        self.saved: SavedGroup | None = None

    @property
    def is_nothing(self) -> bool:
        """No members, no offsets, nothing written: such a group need not be remembered."""
        written = self.saved is not None or self.modern is not None or self.offsets.are_staged
        return not written and not len(self.offsets) and self.members.is_deserted

    @property
    def is_empty(self) -> bool:
        """Nobody is a member, though somebody may be on the way to becoming one."""
        if self.modern is not None:
            return not self.modern.state.members
        return self.members.state is State.EMPTY

    def next_deadline_ms(self) -> int | None:
        """When to `tick` next: when something is due, or sooner, but never later."""
        if self.modern is not None:
            return self.modern.deadlines.next_ms()
        return self.members.next_deadline_ms()

    # What members do

    def heard(self, beat: Beat, caller: int, unique: str, now: Now) -> Outcome:
        """A member of the newer protocol joins, lives or leaves."""
        if self.modern is not None:
            return self._back(self.modern.heard(beat, caller, unique, now), now)
        out = Outcome()
        modern = ModernGroup(self._config, self._topics)
        if not beat.joins:
            return modern.heard(beat, caller, unique, now)  # nobody is a member of that
        try:
            before = self._upgraded(modern)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        modern.restored(now)
        joined = modern.heard(beat, caller, unique, now)
        if joined.changes:
            self.modern = modern
            out = self.members.abandoned(
                ErrorCode.REBALANCE_IN_PROGRESS, "the group is rebalancing; join again"
            )
            out.changes = [*before, *joined.changes]
        out.replies += joined.replies
        return out

    def joined(self, join: Join, caller: int, unique: str, now: Now) -> Outcome:
        """A member of the classic protocol joins, or joins again."""
        modern = self.modern
        if modern is None:
            return self.members.joined(join, caller, unique, now)
        replaced = modern.state.instances.get(join.instance_id or "") if not join.member_id else None
        if modern.state.members.keys() <= {replaced}:
            out = self.members.joined(join, caller, unique, now)
            if not self.members.is_deserted:
                out.changes[:0] = tombstones(modern.state)
            return out
        if replaced is None or not self._may_go_back(modern, [replaced]):
            return ClassicMembers(modern).joined(join, caller, unique, now)
        out = self._downgraded(modern, [replaced], now)
        joined = self.members.joined(join, caller, unique, now)
        out.changes += joined.changes
        out.replies += joined.replies
        return out

    def synced(self, sync: Sync, caller: int, now: Now) -> Outcome:
        if self.modern is not None:
            return ClassicMembers(self.modern).synced(sync, caller, now)
        return self.members.synced(sync, caller, now)

    def heartbeat(
        self, member_id: str, instance_id: str | None, generation: int, caller: int, now: Now
    ) -> Outcome:
        if self.modern is not None:
            return ClassicMembers(self.modern).heartbeat(member_id, instance_id, generation, caller, now)
        return self.members.heartbeat(member_id, instance_id, generation, caller, now)

    def left(self, leavers: tuple[Leaver, ...], caller: int, now: Now) -> Outcome:
        if self.modern is not None:
            return ClassicMembers(self.modern).left(leavers, caller)
        return self.members.left(leavers, caller, now)

    def tick(self, now: Now) -> Outcome:
        """Time has passed."""
        if self.modern is not None:
            return self._back(self.modern.tick(now), now)
        return self.members.tick(now)

    # What happened besides

    def committed(self, commit: Commit, caller: int, now: Now) -> Outcome:
        """A member, or someone who reads without being one, has come this far."""
        out = Outcome()
        try:
            self._check_commit(commit)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        if self.modern is None:
            self.members.heard_from(commit.member_id, now)
        changes, errors = self.offsets.commit(commit, now.wall_ms)
        out.changes.extend(changes)
        out.producer = commit.producer
        out.reply(caller, Done(errors))
        return out

    def asked(
        self, partitions: Sequence[tuple[str, int]] | None, caller: int, member_id: str = "", epoch: int = -1
    ) -> Outcome:
        """Someone wants to know the offsets in *partitions*; None stands for all there are.

        A member of the newer protocol says who it is, so that it does not begin where it has no business.
        """
        if self.modern is not None and (member_id or epoch >= 0):
            try:
                self.modern.check_epoch(member_id, None, epoch)
            except Refused as refusal:
                return Outcome(replies=[(caller, refusal)])
        if partitions is None:
            known: dict[tuple[str, int], CommittedOffset | None] = {
                (topic, partition): offset for topic, partition, offset in self.offsets.all()
            }
        else:
            known = {each: self.offsets.get(*each) for each in partitions}
        return Outcome(replies=[(caller, Fetched(known, self.offsets.unstable()))])

    def deleted(self, caller: int) -> Outcome:
        """An operator wants the group forgotten."""
        out = Outcome()
        if self.is_nothing:
            out.refuse(caller, ErrorCode.GROUP_ID_NOT_FOUND, "no such group")
        elif not self.is_empty:
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
        if self.modern is None and not self.is_empty and self.members.protocol_type != CONSUMER:
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
        nothing_left = len(removed) == len(self.offsets) and not self.offsets.are_staged
        if self.is_empty and members.is_deserted and nothing_left:
            out.changes.extend(self._written())
        return out

    # What is known

    def listing(self) -> Listing:
        if self.modern is not None:
            return Listing(self.name, self.modern.where(), CONSUMER, type="consumer")
        return Listing(self.name, self.members.state, self.members.protocol_type or "")

    def describe_modern(self) -> ModernDescription:
        if self.modern is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no consumer group {self.name!r}")
        return described(self.name, self.modern)

    def describe(self) -> Description:
        """The group if it is classic; one of the newer protocol is Dead to those who ask for classic ones."""
        members = self.members
        settled = members.protocol if members.state is State.STABLE else None
        return Description(
            name=self.name,
            state=State.DEAD if self.is_nothing or self.modern is not None else members.state,
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
            case OffsetSaved() | OffsetStaged() | OffsetRemoved():
                self.offsets.apply(change)
            case _:
                self._apply_modern(change)

    def restored(self, now: Now, code: ErrorCode = ErrorCode.NOT_COORDINATOR, why: str = "") -> Outcome:
        """Go on from what is written, as after a restart; whoever waits is told *why*."""
        out = self.members.abandoned(code, why)
        if self.saved is not None:
            self.members.restored(self.saved, now)
        if not self._modern_is_written:
            self.modern = None
        if self.modern is not None:
            self.modern.restored(now)
        return out

    def _apply_modern(self, change: ModernChange) -> None:
        if self.modern is None:
            self.modern = ModernGroup(self._config, self._topics)
        self.modern.apply(change)
        self._modern_is_written = not self.modern.state.is_nothing
        if not self._modern_is_written:
            self.modern = None

    def _check_commit(self, commit: Commit) -> None:
        if commit.producer is not None and commit.is_anonymous:
            return  # older producers do not say for whom they commit; their epoch tells the right one
        if self.modern is not None:
            self._check_modern_commit(self.modern, commit)
            return
        members = self.members
        if commit.generation < 0 and members.state is State.EMPTY:
            return  # an operator's tool, or a consumer that assigns itself
        if commit.generation >= 0 and self.is_nothing:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "no such group")
        members.check_member(commit.member_id, commit.instance_id)
        members.check_generation(commit.generation)
        if members.state is State.COMPLETING and commit.producer is None:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "partitions are being handed out anew; join again")

    def _check_modern_commit(self, modern: ModernGroup, commit: Commit) -> None:
        if commit.generation < 0 and self.is_empty:
            return
        partitions = [(new.topic, new.partition) for new in commit.offsets]
        modern.check_commit(commit.member_id, commit.instance_id, commit.generation, partitions)
        if modern.state.members[commit.member_id].classic is None and not commit.knows_epochs:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, "members of the newer protocol commit by version 9")

    def _everything(self) -> list[Change]:
        """What takes back all that was written."""
        return [*self.offsets.remove_all(), *self._written()]

    def _written(self) -> list[Change]:
        """What takes back all that was written of members."""
        changes: list[Change] = [] if self.modern is None else list(tombstones(self.modern.state))
        if self.saved is not None:
            changes.append(GroupRemoved())
        return changes

    # From one protocol to the other

    def _upgraded(self, modern: ModernGroup) -> list[Change]:
        """What makes *modern* of the classic group there is, which may be none."""
        changes: list[Change] = [] if self.saved is None else [GroupRemoved()]
        if self.is_empty:
            return changes
        config, members = self._config(), self.members
        fits = members.protocol_type == CONSUMER and len(members.members) <= config.consumer_max_size
        if not fits or not config.may_upgrade:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{self.name!r} is a group of the classic protocol")
        for change in upgraded(members, self._topics()):
            modern.apply(change)
            changes.append(change)
        return changes

    def _back(self, out: Outcome, now: Now) -> Outcome:
        """*out* itself, or if nobody of the newer protocol is left after it, the way back to the classic."""
        modern = self.modern
        changed = [each for each in out.changes if isinstance(each, MemberWritten)]
        gone = [each.id for each in changed if each.member is None]
        if modern is None or not gone or len(changed) > len(gone) or not self._may_go_back(modern, gone):
            return out
        back = self._downgraded(modern, gone, now)
        back.replies = out.replies
        return back

    def _may_go_back(self, modern: ModernGroup, gone: Collection[str]) -> bool:
        config, size = self._config(), len(modern.state.members)
        fits = size <= config.max_size and config.may_downgrade
        was_mixed = any(modern.state.members[id].classic is None for id in gone if id in modern.state.members)
        return fits and was_mixed and speaks_only_classic(modern, gone)

    def _downgraded(self, modern: ModernGroup, gone: Collection[str], now: Now) -> Outcome:
        changes, saved = downgraded(modern, gone, now.wall_ms)
        self.members.restored(saved, now)
        return Outcome(changes=changes)

    def _topics_read(self) -> frozenset[str] | None:
        """The topics members subscribe to; None if they have their own ways, or speak unclearly."""
        members = self.members
        if self.modern is not None:
            return self.modern.topics_read()
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
