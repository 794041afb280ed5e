"""The membership of one group in Kafka's classic protocol: join, sync, heartbeat, leave.

    Empty ──join──> PreparingRebalance ──all joined, or time is up──> CompletingRebalance
      ^                 ^   │                                             │
      └──── nobody ─────┼───┘                              leader's assignments
                        └─── join, leave, silence ────────── Stable <─────┘

A rebalance is two waits. In the first everyone joins, again if need be; the
one elected leader is then told who they are, and in the second everyone waits
for the leader to say who does what. What members say to each other in
metadata and assignments is theirs: nothing here looks inside.

Only two things are ever written: a generation with its assignments, and that
the group is empty. After a restart a group is therefore found Stable or Empty.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, final

from millstream.errors import ErrorCode, Refused
from millstream.groups.admission import check_assignments, check_join, without_repeats
from millstream.groups.changes import GroupSaved, SavedGroup
from millstream.groups.config import GroupConfig
from millstream.groups.first_wait import FirstWait
from millstream.groups.members import NEW_MEMBER_JOIN_TIMEOUT_MS, Member, Members
from millstream.groups.outcomes import (
    Heard,
    Join,
    Joined,
    JoinedMember,
    Leaver,
    Left,
    MemberIdGiven,
    Now,
    Outcome,
    State,
    Sync,
    Synced,
)

_MAX_GENERATION: Final = 2**31 - 1
_MEMBER_ID_PREFIX_CHARS: Final = 255
_COMPANY_MS: Final = 200  # those who come within so long of each other come together
_QUIET_MS: Final = 5  # and are all there when nobody has come for so long


@final
class _GivenId(NamedTuple):
    """That a newcomer was told its id, and when it is forgotten if nobody comes with it."""

    given_ms: int
    deadline_ms: int


@final
class ClassicGroup:
    """The members of one group. Pure: told the time, touches nothing, returns outcomes."""

    def __init__(self, config: Callable[[], GroupConfig]) -> None:
        self._config = config
        self._reset()

    def _reset(self) -> None:
        self.state = State.EMPTY
        self.since_ms = -1
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members = Members()
        self._given_ids: dict[str, _GivenId] = {}  # not yet used, in the order they were given
        self._joining: dict[str, int] = {}  # members whose join waits -> caller
        self._syncing: dict[str, int] = {}  # members whose sync waits -> caller
        self._unsynced: set[str] = set()  # members that have not asked for this generation's assignment
        self._join_deadline_ms: int | None = None
        self._sync_deadline_ms: int | None = None
        self._first_wait: FirstWait | None = None
        self._soonest_ms: int | None = None  # no deadline is before this; it is exact after a tick

    @property
    def is_deserted(self) -> bool:
        """No members, and nobody on the way to becoming one."""
        return self.state is State.EMPTY and not self._given_ids

    def next_deadline_ms(self) -> int | None:
        """When to `tick` next: when something is due, or sooner, but never later."""
        return self._soonest_ms

    # What happened

    def joined(self, join: Join, caller: int, unique: str, now: Now) -> Outcome:
        """Someone wants to be a member, or to be one still; *unique* makes a new id if one is needed."""
        out = Outcome()
        try:
            self._check_join(join)
            if not self.members.have_room_for(join, self._joining, self._config()):
                self._turn_away(join.member_id, now, out)
            if join.member_id == "":
                self._join_new(join, caller, unique, now, out)
            elif join.member_id in self._given_ids and join.instance_id is None:
                self._add(join, join.member_id, caller, now, out)
            else:
                self._rejoin(self.check_member(join.member_id, join.instance_id), join, caller, now, out)
        except Refused as refusal:
            out.reply(caller, refusal)
        return out

    def synced(self, sync: Sync, caller: int, now: Now) -> Outcome:
        """A member asks what its part is; if it leads, it says what everyone's is."""
        out = Outcome()
        try:
            member = self._check_sync(sync)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        self._renew(member, now)
        self._unsynced.discard(member.id)
        if not self._unsynced:
            self._sync_deadline_ms = None
        if self.state is State.STABLE:
            out.reply(caller, Synced(self.protocol_type, self.protocol, member.assignment))
            return out

        self._supersede(self._syncing, member, out)
        self._syncing[member.id] = caller
        if member.id == self.leader:
            self._assign(dict(sync.assignments), now, out)
        return out

    def heartbeat(
        self, member_id: str, instance_id: str | None, generation: int, caller: int, now: Now
    ) -> Outcome:
        """A member is alive."""
        out = Outcome()
        try:
            member = self.check_member(member_id, instance_id)
            self.check_generation(generation)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        self._renew(member, now)
        if self.state is State.PREPARING:
            out.refuse(caller, ErrorCode.REBALANCE_IN_PROGRESS, "the group is rebalancing; join again")
        else:
            out.reply(caller, Heard())
        return out

    def left(self, leavers: tuple[Leaver, ...], caller: int, now: Now) -> Outcome:
        """Members go, by their own will or an operator's; those who cannot are told why, one by one."""
        out = Outcome()
        size_before = len(self.members)
        results = tuple((leaver, self._leave(leaver, out)) for leaver in leavers)
        out.reply(caller, Left(results))
        self._go_on_without(len(self.members) < size_before, now, out)
        return out

    def hung_up(self, caller: int, now: Now) -> Outcome:
        """*caller* does not wait for its answer any more.

        Most come back and ask again as who they are. One that was never told
        its id cannot, and would hold up everybody else.
        """
        out = Outcome()
        member_id = next((id for id, parked in self._joining.items() if parked == caller), None)
        if member_id is not None and self.members[member_id].is_new and not self.members[member_id].knows_id:
            self._remove(self.members[member_id], out)
            self._go_on_without(True, now, out)
        return out

    def heard_from(self, member_id: str, now: Now) -> None:
        """A member did something that shows it is alive."""
        if member_id in self.members and self.state in (State.STABLE, State.PREPARING):
            self._renew(self.members[member_id], now)

    def tick(self, now: Now) -> Outcome:
        """Time has passed."""
        out = Outcome()
        forgotten = [id for id, given in self._given_ids.items() if given.deadline_ms <= now.ms]
        for id in forgotten:
            del self._given_ids[id]
        silent = [
            each for each in self.members if each.session_deadline_ms <= now.ms and not self._is_excused(each)
        ]
        for member in silent:
            self._remove(member, out)
        if silent or forgotten:
            self._go_on_without(bool(silent), now, out)
        if self._first_wait is not None and self._first_wait.is_over(now.ms):
            self._complete_join(now, out)
        if self._join_deadline_ms is not None and self._join_deadline_ms <= now.ms:
            self._complete_join(now, out)
        if self._sync_deadline_ms is not None and self._sync_deadline_ms <= now.ms:
            self._sync_time_is_up(now, out)
        self._soonest_ms = min(self._deadlines(), default=None)
        return out

    def abandoned(self, code: ErrorCode, why: str) -> Outcome:
        """Nothing that is known here counts any more; everyone who waits is told so."""
        out = Outcome()
        for caller in (*self._joining.values(), *self._syncing.values()):
            out.refuse(caller, code, why)
        self._reset()
        return out

    def restored(self, saved: SavedGroup, now: Now) -> None:
        """Go on from what was written; members have their whole session to be heard again."""
        self._reset()
        self.state = State.STABLE if saved.members else State.EMPTY
        self.since_ms = saved.since_ms
        self.generation = saved.generation
        self.protocol_type = saved.protocol_type
        self.protocol = saved.protocol
        self.leader = saved.leader
        for member in saved.members:
            self.members.add(Member.restored(member, saved.protocol))
            self._renew(self.members[member.id], now)
        # If the limit was lowered, who rejoins first may stay. Nobody leads a group that was of the newer
        # protocol, and somebody must.
        if len(self.members) > self._config().max_size or (saved.members and saved.leader is None):
            self._prepare(now, Outcome())

    # What anyone may ask about

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member of that name; Refused if there is none, or another goes by that instance id now."""
        if instance_id is not None:
            holder = self.members.id_of_instance(instance_id)
            if holder is not None and holder != member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"{instance_id!r} is another member now")
            if holder is None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"no member is {instance_id!r}")
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "no such member; join again")
        return self.members[member_id]

    def check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION, f"the group is in generation {self.generation}")

    # Joining

    def _check_join(self, join: Join) -> None:
        check_join(join, self._config())
        same_type = join.protocol_type == self.protocol_type
        if len(self.members) and not (
            same_type and self.members.share_any(name for name, _ in join.protocols)
        ):
            why = f"the group is of type {self.protocol_type!r}, and all members must share a protocol"
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, why)

    def _turn_away(self, member_id: str, now: Now, out: Outcome) -> None:
        if member_id in self.members:
            self._remove(self.members[member_id], out)
            self._go_on_without(True, now, out)
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, "see group.max.size and group.max.bytes")

    def _join_new(self, join: Join, caller: int, unique: str, now: Now, out: Outcome) -> None:
        name = join.client_id if join.instance_id is None else join.instance_id
        new_id = f"{name[:_MEMBER_ID_PREFIX_CHARS]}-{unique}"
        if join.instance_id is not None:
            old_id = self.members.id_of_instance(join.instance_id)
            if old_id is not None:
                self._replace(self.members[old_id], new_id, join, caller, now, out)
                return
        elif join.knows_two_steps:
            self._give_id(new_id, _GivenId(now.ms, now.ms + join.session_timeout_ms))
            out.reply(caller, MemberIdGiven(new_id))
            return
        self._add(join, new_id, caller, now, out)

    def _give_id(self, member_id: str, given: _GivenId) -> None:
        if len(self._given_ids) >= self._config().max_pending_members:
            del self._given_ids[next(iter(self._given_ids))]
        self._by(given.deadline_ms)
        self._given_ids[member_id] = given
        # A wait that was asked for may be prolonged for minutes: by members alone.
        if self._first_wait is not None and self._config().initial_rebalance_delay_ms == 0:
            self._first_wait.somebody_came()

    def _add(self, join: Join, member_id: str, caller: int, now: Now, out: Outcome) -> None:
        member = Member.new(join, member_id, self._by(now.ms + NEW_MEMBER_JOIN_TIMEOUT_MS))
        if not len(self.members):
            self.protocol_type = join.protocol_type
            self.leader = member_id
        self.members.add(member)
        self._given_ids.pop(member_id, None)
        self._joining[member_id] = caller
        if self._first_wait is not None:
            self._first_wait.somebody_came()
        self._rebalance(now, out)

    def _rejoin(self, member: Member, join: Join, caller: int, now: Now, out: Outcome) -> None:
        unchanged = member.protocols == without_repeats(join.protocols)
        settled = self.state is State.COMPLETING or (self.state is State.STABLE and member.id != self.leader)
        if unchanged and settled:
            # It did not get our answer, so it gets the same one again. A leader that rejoins a stable
            # group means something by it: perhaps there are new partitions to hand out.
            self._renew(member, now)
            out.reply(caller, self._joined(member.id))
            return
        self.members.update(member, join)
        self._supersede(self._joining, member, out)
        self._joining[member.id] = caller
        self._rebalance(now, out)

    def _replace(self, member: Member, new_id: str, join: Join, caller: int, now: Now, out: Outcome) -> None:
        """A static member is back under a new id. The old id is fenced, its place and its work go on."""
        old_id, leader_before = member.id, self.leader
        for parked in (self._joining.pop(old_id, None), self._syncing.pop(old_id, None)):
            if parked is not None:
                out.refuse(parked, ErrorCode.FENCED_INSTANCE_ID, f"{member.instance_id!r} has joined again")
        self.members.rename(member, new_id)
        if old_id in self._unsynced:
            self._unsynced.remove(old_id)
            self._unsynced.add(new_id)
        if self.leader == old_id:
            self.leader = new_id
        self.members.update(member, join)
        member.is_new = False
        self._renew(member, now)

        if self.state is State.STABLE and self.members.elect_protocol() == self.protocol:
            out.changes.append(GroupSaved(self._saved()))
            # An older leader would take its own id for an order to assign, and it must not.
            skipping = join.knows_skipping
            out.reply(caller, self._joined(new_id, leader=None if skipping else leader_before, skip=skipping))
            return
        self._joining[new_id] = caller
        self._rebalance(now, out)

    def _supersede(self, parked: dict[str, int], member: Member, out: Outcome) -> None:
        """*member* asks again while its earlier question waits: the earlier one is closed."""
        if member.id in parked:
            out.refuse(parked.pop(member.id), ErrorCode.REBALANCE_IN_PROGRESS, "you have asked again")

    def _joined(self, member_id: str, leader: str | None = None, skip: bool = False) -> Joined:
        leads = member_id == (leader or self.leader)
        told = self.members if leads else ()
        return Joined(
            member_id=member_id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=leader or self.leader or "",
            skip_assignment=skip and leads,
            members=tuple(
                JoinedMember(each.id, each.instance_id, each.metadata(self.protocol)) for each in told
            ),
        )

    # Rebalancing

    def _rebalance(self, now: Now, out: Outcome) -> None:
        """Membership changed: begin a rebalance, or see whether the present one has all it waits for."""
        if self.state is not State.PREPARING:
            self._prepare(now, out)
        elif self._first_wait is None and self._all_have_joined():
            self._complete_join(now, out)

    def _go_on_without(self, lost_a_member: bool, now: Now, out: Outcome) -> None:
        """Somebody is gone; if it was only someone on the way to becoming a member, a wait may be over."""
        if lost_a_member or self.state is State.PREPARING:
            self._rebalance(now, out)

    def _prepare(self, now: Now, out: Outcome) -> None:
        for member_id, caller in self._syncing.items():
            out.refuse(caller, ErrorCode.REBALANCE_IN_PROGRESS, "the group is rebalancing; join again")
            self._renew(self.members[member_id], now)
        self._syncing.clear()
        self._unsynced.clear()
        self._sync_deadline_ms = None

        was_empty = self.state is State.EMPTY
        self._enter(State.PREPARING, now)
        timeout_ms, delay_ms = self.members.rebalance_timeout_ms(), self._config().initial_rebalance_delay_ms
        if was_empty and delay_ms == 0 and self._others_are_coming(now):
            # Who is alone need not wait; those who come together are to be in one generation.
            timeout_ms, delay_ms = min(timeout_ms, _COMPANY_MS), _QUIET_MS
        if was_empty and delay_ms > 0:
            self._first_wait = FirstWait(delay_ms, timeout_ms, now.ms)
            self._by(self._first_wait.deadline_ms)
        elif was_empty or self._all_have_joined():
            self._complete_join(now, out)
        else:
            self._join_deadline_ms = self._by(now.ms + timeout_ms)

    def _others_are_coming(self, now: Now) -> bool:
        """Whether somebody was given an id just now, and will be back with it."""
        last = next(reversed(self._given_ids.values()), None)
        return last is not None and now.ms - last.given_ms < _COMPANY_MS

    def _all_have_joined(self) -> bool:
        return len(self._joining) == len(self.members) and (not self._given_ids or not len(self.members))

    def _complete_join(self, now: Now, out: Outcome) -> None:
        """Go on with those who came. Absent static members keep their place until their session ends."""
        self._first_wait = None
        for member in [each for each in self.members if each.id not in self._joining]:
            if member.instance_id is None:
                self._remove(member, out)
        if len(self.members) and not self._joining:
            self._join_deadline_ms = self._by(now.ms + self.members.rebalance_timeout_ms())
            return

        self._join_deadline_ms = None
        self.generation = self.generation + 1 if self.generation < _MAX_GENERATION else 1
        if not len(self.members):
            self.protocol = self.leader = None
            self._enter(State.EMPTY, now)
            out.changes.append(GroupSaved(self._saved()))
            return
        if self.leader not in self._joining:
            self.leader = next(each.id for each in self.members if each.id in self._joining)
        self.protocol = self.members.elect_protocol()
        self._enter(State.COMPLETING, now)
        self._answer_joins(now, out)

    def _answer_joins(self, now: Now, out: Outcome) -> None:
        for member_id, caller in self._joining.items():
            member = self.members[member_id]
            member.is_new = False
            self._renew(member, now)
            out.reply(caller, self._joined(member_id))
        self._joining.clear()
        self._unsynced = self.members.ids()
        self._sync_deadline_ms = self._by(now.ms + self.members.rebalance_timeout_ms())

    def _enter(self, state: State, now: Now) -> None:
        self.state = state
        self.since_ms = now.wall_ms

    # Syncing

    def _check_sync(self, sync: Sync) -> Member:
        member = self.check_member(sync.member_id, sync.instance_id)
        self.check_generation(sync.generation)
        for given, ours in ((sync.protocol_type, self.protocol_type), (sync.protocol, self.protocol)):
            if given is not None and ours is not None and given != ours:
                raise Refused(
                    ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{given!r} where the group uses {ours!r}"
                )
        if self.state is State.PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the group is rebalancing; join again")
        check_assignments(sync, self._config())
        return member

    def _assign(self, assignments: dict[str, bytes], now: Now, out: Outcome) -> None:
        for member in self.members:
            member.assignment = assignments.get(member.id, b"")
        self._enter(State.STABLE, now)
        out.changes.append(GroupSaved(self._saved()))
        for member_id, caller in self._syncing.items():
            member = self.members[member_id]
            self._renew(member, now)
            out.reply(caller, Synced(self.protocol_type, self.protocol, member.assignment))
        self._syncing.clear()

    def _sync_time_is_up(self, now: Now, out: Outcome) -> None:
        for member in [each for each in self.members if each.id in self._unsynced]:
            self._remove(member, out)
        self._prepare(now, out)

    # Leaving

    def _leave(self, leaver: Leaver, out: Outcome) -> ErrorCode:
        member_id, instance_id = leaver
        if member_id in self._given_ids:
            del self._given_ids[member_id]
            return ErrorCode.NONE
        if member_id == "" and instance_id is not None:
            member_id = self.members.id_of_instance(instance_id) or ""
        try:
            self._remove(self.check_member(member_id, instance_id), out)
        except Refused as refusal:
            return refusal.code
        return ErrorCode.NONE

    def _remove(self, member: Member, out: Outcome) -> None:
        self.members.remove(member)
        self._unsynced.discard(member.id)
        for parked in (self._joining.pop(member.id, None), self._syncing.pop(member.id, None)):
            if parked is not None:
                out.refuse(parked, ErrorCode.UNKNOWN_MEMBER_ID, "the member was removed; join again")
        if self.leader == member.id:
            self.leader = next((each.id for each in self.members), None)

    # Sessions

    def _renew(self, member: Member, now: Now) -> None:
        member.session_deadline_ms = self._by(now.ms + member.session_timeout_ms)

    def _by(self, deadline_ms: int) -> int:
        """*deadline_ms*, noted. There may be too many members to look at each of them at every step."""
        if self._soonest_ms is None or deadline_ms < self._soonest_ms:
            self._soonest_ms = deadline_ms
        return deadline_ms

    def _deadlines(self) -> Iterator[int]:
        if self._first_wait is not None:
            yield self._first_wait.deadline_ms
        yield from (ms for ms in (self._join_deadline_ms, self._sync_deadline_ms) if ms is not None)
        yield from (given.deadline_ms for given in self._given_ids.values())
        for member in self.members:
            if not self._is_excused(member):
                yield member.session_deadline_ms

    def _is_excused(self, member: Member) -> bool:
        """A member that waits for us need not say that it lives, unless nobody ever heard it say so."""
        return not member.is_new and (member.id in self._joining or member.id in self._syncing)

    # Writing

    def _saved(self) -> SavedGroup:
        """The generation as it is to be found after a restart."""
        return SavedGroup(
            protocol_type=self.protocol_type,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            since_ms=self.since_ms,
            members=tuple(each.saved(self.protocol) for each in self.members),
        )
