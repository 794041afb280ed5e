"""Members of the classic protocol in a group of the newer one.

While a group changes over, some members still join, sync and heartbeat. To
them a generation is their own member epoch; nobody is their leader, for the
broker shares out the work; and they are told to rejoin whenever there is
something to give up or to take. What they own they say when they join.
"""

from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.groups.admission import MAX_STRING_BYTES, check_join, rebalance_timeout_ms, without_repeats
from millstream.groups.modern import ModernGroup
from millstream.groups.modern_changes import ClassicSide, Place, Share, Standing, Subscriber, by_topic
from millstream.groups.modern_state import Draft
from millstream.groups.outcomes import (
    Heard,
    Join,
    Joined,
    Leaver,
    Left,
    MemberIdGiven,
    Now,
    Outcome,
    Sync,
    Synced,
)
from millstream.groups.reconcile import reconciled
from millstream.groups.subscription import CONSUMER, Subscription, read_subscription, write_assignment

MEMBER_ID_PREFIX_CHARS: Final = 255


@final
class ClassicMembers:
    """Speaks the classic protocol for a group of the newer."""

    def __init__(self, group: ModernGroup) -> None:
        self._group = group
        self._state = group.state

    # What happened

    def joined(self, join: Join, caller: int, unique: str, now: Now) -> Outcome:
        """Someone wants to be a member, or to be one still; nobody is waited for."""
        out = Outcome()
        try:
            self._joined(join, caller, unique, now, out)
        except Refused as refusal:
            out.reply(caller, refusal)
        return out

    def synced(self, sync: Sync, caller: int, now: Now) -> Outcome:
        """A member asks what its part is."""
        out = Outcome()
        try:
            member, classic = self._check(sync.member_id, sync.instance_id, sync.generation)
            place = self._place(sync.member_id)
            # Topics are told by name here, and there may be another of that name by now.
            draft = Draft(self._state)
            self._group.settle(draft, now)
            out.changes.extend(draft.changes)
            if draft.epoch > place.epoch and place.standing is not Standing.UNREVOKED:
                self._expect_rejoin(sync.member_id, member, now)
                raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "there is a newer assignment; join again")
            protocol, metadata = classic.protocols[0]
            for given, ours in ((sync.protocol_type, CONSUMER), (sync.protocol, protocol)):
                if given is not None and given != ours:
                    why = f"{given!r} where the member joined with {ours!r}"
                    raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, why)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        self._group.deadlines.synced(sync.member_id)
        self._group.renew(sync.member_id, member, now)
        out.reply(caller, Synced(CONSUMER, protocol, self.assignment(metadata, place.assigned)))
        return out

    def heartbeat(
        self, member_id: str, instance_id: str | None, generation: int, caller: int, now: Now
    ) -> Outcome:
        """A member is alive, and is told whether to join again."""
        out = Outcome()
        try:
            member, _ = self._check(member_id, instance_id, generation)
        except Refused as refusal:
            out.reply(caller, refusal)
            return out
        draft = Draft(self._state)
        self._group.settle(draft, now)
        out.changes.extend(draft.changes)
        self._group.renew(member_id, member, now)
        if self._must_rejoin(draft, member_id):
            self._expect_rejoin(member_id, member, now)
            out.refuse(caller, ErrorCode.REBALANCE_IN_PROGRESS, "the group is rebalancing; join again")
        else:
            out.reply(caller, Heard())
        return out

    def left(self, leavers: tuple[Leaver, ...], caller: int) -> Outcome:
        """Members go; those who cannot are told why, one by one."""
        out = Outcome()
        gone: list[str] = []
        results: list[tuple[Leaver, ErrorCode]] = []
        for leaver in leavers:
            id = leaver.member_id
            if id == "" and leaver.instance_id is not None:
                id = self._state.instances.get(leaver.instance_id, "")
            error = ErrorCode.NONE
            try:
                if id in gone or self._group.check_member(id, leaver.instance_id).classic is None:
                    error = ErrorCode.UNKNOWN_MEMBER_ID
                else:
                    gone.append(id)
            except Refused as refusal:
                error = refusal.code
            results.append((leaver, error))
        if gone:
            draft = Draft(self._state)
            self._group.removed(draft, gone)
            out.changes.extend(draft.changes)
        out.reply(caller, Left(tuple(results)))
        return out

    def assignment(self, metadata: bytes, share: Share) -> bytes:
        """*share* as a member that subscribed by *metadata* understands it."""
        names = self._group.names(share)
        topics = {names[id]: indexes for id, indexes in by_topic(share).items() if id in names}
        return write_assignment(read_subscription(metadata).version, topics)

    # Joining

    def _joined(self, join: Join, caller: int, unique: str, now: Now, out: Outcome) -> None:
        subscription = self._check_join(join)
        new_id = f"{(join.instance_id or join.client_id)[:MEMBER_ID_PREFIX_CHARS]}-{unique}"
        if join.member_id == "" and join.instance_id is None and join.knows_two_steps:
            out.reply(caller, MemberIdGiven(new_id))
            return
        draft = Draft(self._state)
        id = self._admit(draft, join, new_id)
        before = draft.member(id)
        protocols = without_repeats(join.protocols)
        member = Subscriber(
            instance_id=join.instance_id,
            rack_id=subscription.rack,
            client_id=join.client_id,
            client_host=join.client_host,
            topics=subscription.topics,
            rebalance_timeout_ms=rebalance_timeout_ms(join),
            classic=ClassicSide(join.session_timeout_ms, protocols),
        )
        self._group.check_room(draft, id, member)
        draft.set_member(id, member)
        changed = before is None or (before.topics, before.regex) != (member.topics, None)
        self._group.settle(draft, now, changed=changed)

        place = reconciled(draft, id, self._owned(draft, subscription), joins=True)
        draft.set_place(id, place)
        out.changes.extend(draft.changes)
        self._group.deadlines.reconciled(id)
        self._group.deadlines.sync(id, now.ms + member.rebalance_timeout_ms)
        self._group.renew(id, member, now)
        out.reply(caller, Joined(id, place.epoch, CONSUMER, protocols[0][0], leader=""))

    def _check_join(self, join: Join) -> Subscription:
        check_join(join, self._group.config())
        if len(join.member_id.encode()) > MAX_STRING_BYTES:
            raise Refused(ErrorCode.INVALID_REQUEST, f"an id of more than {MAX_STRING_BYTES} bytes")
        offered = {name for name, _ in join.protocols}
        others = [
            {name for name, _ in member.classic.protocols}
            for id, member in self._state.members.items()
            if member.classic is not None and id != join.member_id
        ]
        if join.protocol_type != CONSUMER or not offered.intersection(*others):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "all members must share a protocol")
        try:
            return read_subscription(join.protocols[0][1])
        except Refused as refusal:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, refusal.detail) from None

    def _admit(self, draft: Draft, join: Join, new_id: str) -> str:
        if join.instance_id is not None:
            holder = self._state.instances.get(join.instance_id)
            if join.member_id == "" and holder is not None:
                draft.replace(holder, new_id)
                self._group.deadlines.forget(holder)
            elif join.member_id != "":
                self._group.check_member(join.member_id, join.instance_id)
        known = self._state.members.get(join.member_id)
        if known is not None and known.classic is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "no such member of this protocol")
        return join.member_id or new_id

    def _owned(self, draft: Draft, subscription: Subscription) -> Share:
        ids = {topic.name: topic.id for topic in (*self._state.topics, *draft.topics)}
        return frozenset((ids[name], index) for name, index in subscription.owned if name in ids)

    # Going on

    def _check(self, id: str, instance_id: str | None, generation: int) -> tuple[Subscriber, ClassicSide]:
        member = self._group.check_member(id, instance_id)
        if member.classic is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "no such member of this protocol")
        epoch = self._place(id).epoch
        if generation != epoch:
            raise Refused(ErrorCode.ILLEGAL_GENERATION, f"the member is in generation {epoch}")
        return member, member.classic

    def _must_rejoin(self, draft: Draft, id: str) -> bool:
        place = draft.place(id)
        if place.epoch < draft.epoch or place.standing is Standing.UNREVOKED:
            return True
        wanted = draft.target(id) - place.assigned
        return place.standing is Standing.UNRELEASED and all(draft.is_free_for(id, each) for each in wanted)

    def _expect_rejoin(self, id: str, member: Subscriber, now: Now) -> None:
        if not self._group.deadlines.is_rebalancing(id):
            self._group.deadlines.rebalance(id, now.ms + member.rebalance_timeout_ms)

    def _place(self, id: str) -> Place:
        return self._state.places.get(id, Place())
