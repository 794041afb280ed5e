"""A group led through anything that can happen, with what must always hold checked after every step."""

from collections.abc import Iterable
from typing import final

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import GroupSaved, decode, encode
from millstream.groups.config import GroupConfig
from millstream.groups.group import Group
from millstream.groups.members import Member
from millstream.groups.offsets import Commit, NewOffset
from millstream.groups.outcomes import Join, Joined, Leaver, MemberIdGiven, Now, Outcome, State, Sync, Synced

CONFIG = GroupConfig(max_size=4, max_pending_members=3, initial_rebalance_delay_ms=3_000)
WALL_MS = 1_700_000_000_000

PROTOCOLS = (
    (("range", b"1"),),
    (("range", b"2"), ("sticky", b"2")),
    (("sticky", b"3"), ("range", b"3")),
    (("sticky", b"4"),),
    (("range", b""), ("range", b"again")),
)


@final
class Walk:
    """One group, its log, and the callers that wait for it."""

    def __init__(self, config: GroupConfig = CONFIG) -> None:
        self.config = config
        self.group = Group("g", lambda: config)
        self.now = Now(0, WALL_MS)
        self.waiting: set[int] = set()
        self.ids: list[str] = []  # ever given to anybody
        self.written: list[tuple[bytes, bytes | None]] = []
        self.leaders: dict[int, str] = {}
        self._last_caller = 0

    # What can happen

    def join(self, who: int, static: bool, known: bool, protocols: int, version: int, times: int) -> None:
        instance = f"i{who % 3}" if static else None
        join = Join(
            member_id=self._id(who) if known else "",
            instance_id=instance,
            client_id=f"c{who}",
            protocol_type="connect" if times == 5 else "consumer",
            protocols=PROTOCOLS[protocols],
            session_timeout_ms=(6_000, 30_000)[times % 2],
            rebalance_timeout_ms=(-1, 20_000, 60_000)[times % 3],
            knows_two_steps=version >= 4,
            knows_skipping=version >= 9,
        )
        before = {each.instance_id or each.id: each for each in self._members()}
        caller = self._caller()
        self._carry_out(self.group.members.joined(join, caller, str(caller), self.now))
        lost = before.keys() - {each.instance_id or each.id for each in self._members()}
        assert lost <= {join.member_id}, "a join removes nobody, but for one who finds the group full"

    def sync(self, who: int, ahead: int, give: bool) -> None:
        members = self.group.members
        sync = Sync(
            member_id=self._id(who),
            generation=members.generation - ahead,
            assignments=tuple((each.id, b"for " + each.id.encode()) for each in self._members())
            if give
            else (),
        )
        with_same_members = self._ids()
        self._carry_out(members.synced(sync, self._caller(), self.now))
        assert self._ids() == with_same_members

    def heartbeat(self, who: int, behind: int) -> None:
        members = self.group.members
        with_same_members = self._ids()
        self._carry_out(
            members.heartbeat(self._id(who), None, members.generation - behind, self._caller(), self.now)
        )
        assert self._ids() == with_same_members

    def leave(self, who: int, by_instance: bool) -> None:
        leaver = Leaver("", f"i{who % 3}") if by_instance else Leaver(self._id(who))
        before = list(self._members())
        self._carry_out(self.group.members.left((leaver,), self._caller(), self.now))
        for each in before:
            assert each.id in self._ids() or leaver in ((each.id, None), ("", each.instance_id))

    def hang_up(self, who: int) -> None:
        if self.waiting:
            caller = sorted(self.waiting)[who % len(self.waiting)]
            self._carry_out(self.group.members.hung_up(caller, self.now), also_gone=caller)

    def commit(self, who: int, behind: int) -> None:
        generation = self.group.members.generation - behind
        commit = Commit(
            member_id=self._id(who) if behind >= 0 else "",
            generation=generation if behind >= 0 else -1,
            offsets=(NewOffset("t", who, self.now.ms), NewOffset("u", 0, who, 1, "note")),
        )
        self._carry_out(self.group.committed(commit, self._caller(), self.now))

    def delete(self) -> None:
        self._carry_out(self.group.deleted(self._caller()))
        if self.group.is_nothing:
            self.leaders.clear()

    def check_retention(self, days: int) -> None:
        self.now = Now(self.now.ms, self.now.wall_ms + days * 86_400_000)
        self._carry_out(self.group.retention_checked(self.now))
        if self.group.is_nothing:
            self.group = Group("g", lambda: self.config)  # as the driver does
            self.leaders.clear()

    def tick(self, ms: int) -> None:
        """Let *ms* pass, or with 0 as long as it takes until something is due."""
        members = self.group.members
        deadline_ms = members.next_deadline_ms()
        passed = ms or max((deadline_ms or self.now.ms) - self.now.ms, 0)
        self.now = Now(self.now.ms + passed, self.now.wall_ms + passed)
        before = {each.id: self._may_be_removed(each) for each in self._members()}
        self._carry_out(members.tick(self.now))
        for id in before.keys() - self._ids():
            assert before[id], f"{id} was removed without a reason"
        due = members.next_deadline_ms()
        assert due is None or due > self.now.ms, "a tick leaves nothing undone, or the driver would spin"

    def settle(self) -> None:
        """Those who are members, or may become one, do what is asked of them until the group is stable."""
        members = self.group.members
        for id in [*members._given_ids, *(each.id for each in self._members())]:
            if members.state in (State.EMPTY, State.PREPARING) and id not in members._joining:
                self._rejoin(id)
        while members.state is State.PREPARING:
            self.tick(0)
        for id in sorted(self._ids(), key=lambda id: id == members.leader):
            given = tuple((each.id, b"for " + each.id.encode()) for each in self._members())
            sync = Sync(member_id=id, generation=members.generation, assignments=given)
            self._carry_out(members.synced(sync, self._caller(), self.now))
        assert members.state in (State.STABLE, State.EMPTY)

    def _rejoin(self, id: str) -> None:
        members = self.group.members
        known = next((each for each in self._members() if each.id == id), None)
        join = Join(
            member_id=id,
            instance_id=known and known.instance_id,
            client_id="c",
            protocol_type=members.protocol_type or "consumer",
            protocols=known.protocols if known else PROTOCOLS[1],
            session_timeout_ms=30_000,
        )
        self._carry_out(members.joined(join, self._caller(), "unused", self.now))

    def restart(self) -> None:
        """The process dies; all that is left is what was written."""
        self.waiting.clear()
        self.leaders.clear()  # a generation that nobody synced in was never written, and comes again
        self.group = self._replayed()
        self.group.restored(self.now)
        self._check()

    # What must hold

    def _carry_out(self, outcome: Outcome, also_gone: int = 0) -> None:
        for change in outcome.changes:
            self.written.append(encode("g", change))
            self.group.apply(change)
        for caller, reply in outcome.replies:
            assert caller in self.waiting, f"caller {caller} was answered twice"
            self.waiting.remove(caller)
            if isinstance(reply, MemberIdGiven | Joined):
                self.ids.append(reply.member_id)
            if isinstance(reply, Joined):
                self._check_joined(reply)
            if isinstance(reply, Synced):
                assert any(isinstance(change, GroupSaved) for change in outcome.changes) or self.group.saved
            assert not isinstance(reply, Refused) or reply.code is not ErrorCode.NONE
        self._check()

    def _check_joined(self, reply: Joined) -> None:
        assert reply.generation == self.group.members.generation
        is_leader = reply.member_id == reply.leader
        assert bool(reply.members) == is_leader, "the leader, and nobody else, is told who is in"
        if is_leader:
            assert {each.id for each in reply.members} == self._ids()
        if self.group.members.state is State.COMPLETING:
            leader = self.leaders.setdefault(reply.generation, reply.leader)
            assert leader == reply.leader, "a generation has one leader"

    def _check(self) -> None:
        members = self.group.members
        ids, joining, syncing = self._ids(), members._joining.keys(), members._syncing.keys()
        parked = [*members._joining.values(), *members._syncing.values()]

        assert sorted(parked) == sorted(self.waiting), "whoever has no answer waits in exactly one place"
        assert joining <= ids
        assert syncing <= ids
        assert not joining or members.state is State.PREPARING
        assert not syncing or members.state is State.COMPLETING
        assert members._unsynced <= ids
        assert not members._unsynced or members.state in (State.COMPLETING, State.STABLE)
        assert (members._sync_deadline_ms is not None) == bool(members._unsynced)
        assert not ids & members._given_ids.keys(), "nobody is a member and on the way to becoming one"
        assert len(members._given_ids) <= self.config.max_pending_members
        assert len(ids) <= self.config.max_size
        assert (members.leader is None) == (not ids)
        assert members.leader is None or members.leader in ids
        assert bool(ids) or members.state in (State.EMPTY, State.PREPARING)
        assert not ids or members.state is not State.EMPTY
        assert 0 <= members.generation < 2**31
        due = min(members._deadlines(), default=None)
        assert due is None or (members.next_deadline_ms() or 0) <= due, "a deadline would be missed"
        if members.state is State.PREPARING:
            waits = [members._first_wait, members._join_deadline_ms]
            assert waits.count(None) == 1, "something ends the wait, and only one thing does"
        if members.state in (State.COMPLETING, State.STABLE):
            assert members.protocol is not None
            assert all(members.protocol in dict(each.protocols) for each in self._members())
        if members.state is State.STABLE:
            assert self.group.saved == members._saved(), "a stable group is found as it is"
            assert members.next_deadline_ms() is not None
        self._check_replay()

    def _check_replay(self) -> None:
        replayed = self._replayed()
        assert replayed.saved == self.group.saved
        assert list(replayed.offsets.all()) == list(self.group.offsets.all())
        assert replayed.saved is None or replayed.saved.generation <= self.group.members.generation

    def _replayed(self) -> Group:
        group = Group("g", lambda: self.config)
        for key, value in self.written:
            found = decode(key, value)
            assert found is not None
            group.apply(found[1])
        return group

    def _may_be_removed(self, member: Member) -> bool:
        members = self.group.members
        silent = member.session_deadline_ms <= self.now.ms and not members._is_excused(member)
        late = (
            members.state is State.PREPARING
            and member.id not in members._joining
            and member.instance_id is None
        )
        unsynced = member.id in members._unsynced and (members._sync_deadline_ms or 0) <= self.now.ms
        return silent or late or unsynced

    def _members(self) -> Iterable[Member]:
        return list(self.group.members.members)

    def _ids(self) -> set[str]:
        return self.group.members.members.ids()

    def _id(self, who: int) -> str:
        """An id that somebody has, more likely than not, or once had."""
        members = self.group.members
        has_one = [*members._given_ids, *(each.id for each in self._members())]
        pool = [*has_one, *has_one, *self.ids[-2:], "nobody"]
        return pool[who % len(pool)]

    def _caller(self) -> int:
        self._last_caller += 1
        self.waiting.add(self._last_caller)
        return self._last_caller
