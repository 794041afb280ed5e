"""The membership of one group in Kafka's newer protocol (KIP-848), where the broker shares out the work.

    a change of members, subscriptions or topics ──> group epoch + 1
    group epoch > target epoch, at the next heartbeat ──> a new target assignment, of that epoch
    each member, heartbeat by heartbeat ──> gives up what is not its own, then takes what is free,
                                            then is in the target's epoch

Nobody waits for anybody to join: each member goes its own way to the target.
While a group changes from one protocol to the other some members speak the
classic one; `mixed.py` translates for them.

Everything but sessions is written. A step returns changes, and `apply` alone
makes them true, live and on recovery alike.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol, final
from uuid import UUID

from millstream.errors import ErrorCode, Refused
from millstream.groups.admission import MAX_STRING_BYTES
from millstream.groups.assignors import ASSIGNORS, Reading
from millstream.groups.config import GroupConfig
from millstream.groups.deadlines import Deadlines
from millstream.groups.modern_changes import (
    KnownTopic,
    ModernChange,
    Place,
    Resolved,
    Share,
    Standing,
    Subscriber,
)
from millstream.groups.modern_state import Draft, ModernState, size_of
from millstream.groups.outcomes import Beat, Now, Outcome, Reconciled, State
from millstream.groups.reconcile import reconciled
from millstream.groups.regex import check_regex, matching

LEAVE: Final = -1
BACK_SOON: Final = -2
_NO_VERSION: Final = 0  # topics have none here; a Kafka that goes on from this log looks for itself


class Topic(Protocol):
    """A topic as a group needs to know it."""

    @property
    def id(self) -> UUID: ...
    @property
    def partitions(self) -> int: ...
    @property
    def is_internal(self) -> bool: ...


Topics = Callable[[], Mapping[str, Topic]]  # the same mapping as long as nothing has changed


@final
class ModernGroup:
    """The members of one group. Pure: told the time and the topics, touches nothing, returns outcomes."""

    def __init__(self, config: Callable[[], GroupConfig], topics: Topics) -> None:
        self.config = config
        self.state = ModernState()
        self.deadlines = Deadlines()
        self._topics = topics
        self._settled_for: Mapping[str, Topic] | None = None  # the topics there were when we last settled
        self._matched: Mapping[str, Topic] | None = None
        self._matches: dict[str, frozenset[str]] = {}  # by regex, of the topics last matched

    def where(self) -> State:
        """Where the group stands."""
        state = self.state
        if not state.members:
            return State.EMPTY
        if (state.epoch or 0) > state.target_epoch:
            return State.ASSIGNING
        settled = (
            place.standing is Standing.STABLE and place.epoch == state.target_epoch
            for place in state.places.values()
        )
        return State.STABLE if all(settled) else State.RECONCILING

    # What happened

    def heard(self, beat: Beat, caller: int, unique: str, now: Now) -> Outcome:
        """A member is alive, says what is new with it, and is told what is new for it."""
        out = Outcome()
        try:
            _check(beat, self.config())
            if beat.epoch in (LEAVE, BACK_SOON):
                self._leave(beat, caller, out)
            else:
                self._go_on(beat, caller, unique, now, out)
        except Refused as refusal:
            out.reply(caller, refusal)
        return out

    def tick(self, now: Now) -> Outcome:
        """Time has passed: who was silent, or slow to give up what it must, is no member any more."""
        gone = [id for id in self.deadlines.passed(now.ms) if id in self.state.members]
        out = Outcome()
        if gone:
            draft = Draft(self.state)
            self.removed(draft, gone)
            out.changes.extend(draft.changes)
        return out

    def apply(self, change: ModernChange) -> None:
        """*change* is in the log."""
        self.state.apply(change)

    def restored(self, now: Now) -> None:
        """Go on from what is written; members have their whole session to be heard again."""
        self.deadlines = Deadlines()
        self._settled_for = None
        for id, member in self.state.members.items():
            self.renew(id, member, now)
            place = self.state.places.get(id, Place())
            if member.classic is None and place.standing is Standing.UNREVOKED:
                self.deadlines.rebalance(id, now.ms + member.rebalance_timeout_ms)

    # What is known

    def check_member(self, id: str, instance_id: str | None) -> Subscriber:
        """The member of that name; Refused if there is none, or another goes by that instance id now."""
        if instance_id is not None:
            holder = self.state.instances.get(instance_id)
            if holder is None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"no member is {instance_id!r}")
            if holder != id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"{instance_id!r} is another member now")
        member = self.state.members.get(id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "no such member; join again")
        return member

    def check_epoch(self, id: str, instance_id: str | None, epoch: int) -> None:
        """Refuse a member that is not where it thinks it is."""
        member = self.check_member(id, instance_id)
        known = self.state.places.get(id, Place()).epoch
        if epoch != known:
            code = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
            raise Refused(code, f"the member is in epoch {known}")

    def check_commit(
        self, id: str, instance_id: str | None, epoch: int, partitions: Iterable[tuple[str, int]]
    ) -> None:
        """As `check_epoch`; but who has not heard of its new epoch yet may commit what it still has.

        A partition that was another's in between came back with a later epoch than that.
        """
        place = self.state.places.get(id)
        if place is not None and epoch == place.previous_epoch:
            topics, has = self._topics(), place.assigned | place.revoking
            ids = [(topics[name].id.bytes, index) for name, index in partitions if name in topics]
            if has.issuperset(ids):
                epoch = place.epoch
        self.check_epoch(id, instance_id, epoch)

    def topics_read(self) -> frozenset[str]:
        """The names of the topics members subscribe to, whether they exist or not."""
        return self._names(Draft(self.state))

    def names(self, share: Share) -> dict[bytes, str]:
        """The names of the topics in *share*, by id."""
        names = {topic.id: topic.name for topic in self.state.topics}
        if any(id not in names for id, _ in share):  # read no more, but not yet given up by all
            names.update((topic.id.bytes, name) for name, topic in self._topics().items())
        return names

    def assignor(self) -> str:
        """The assignor most members ask for; of those that none do, the first that is allowed."""
        return self._assignor(self.state.members.values())

    # Steps in common with members of the classic protocol

    def renew(self, id: str, member: Subscriber, now: Now) -> None:
        classic = member.classic
        silence_ms = self.config().consumer_session_ms if classic is None else classic.session_timeout_ms
        self.deadlines.session(id, now.ms + silence_ms)

    def check_room(self, draft: Draft, id: str, member: Subscriber) -> None:
        """Refuse *member* if it is one too many, or says too much of itself."""
        config, state = self.config(), self.state
        before = draft.member(id)
        size = size_of(member)
        if size > config.member_max_bytes:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"{size} bytes of subscription; group.member.max.bytes is {config.member_max_bytes}",
            )
        if before is None and len(state.members) >= config.consumer_max_size:
            raise Refused(
                ErrorCode.GROUP_MAX_SIZE_REACHED, f"group.consumer.max.size is {config.consumer_max_size}"
            )
        if state.bytes + size - (0 if before is None else size_of(before)) > config.max_bytes:
            raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, f"group.max.bytes is {config.max_bytes}")

    def settle(self, draft: Draft, now: Now, *, changed: bool = False) -> None:
        """Find a target that answers to the members and topics there are now, if they *changed*."""
        topics = self._topics()
        if changed or topics is not self._settled_for:
            self._settled_for = topics
            self._resolve(draft, now)
            known = self._known(draft)
            if known != draft.topics:
                draft.set_topics(known)
                changed = True
        if changed:
            draft.set_epoch(draft.epoch + 1)
        if draft.epoch > draft.target_epoch:
            self._assign(draft)

    def removed(self, draft: Draft, ids: Iterable[str]) -> None:
        """*ids* are no members any more; a new target is found when somebody is heard next."""
        for id in ids:
            draft.remove(id)
            self.deadlines.forget(id)
        self._forget_regexes(draft)
        known = self._known(draft)
        if known != draft.topics:
            draft.set_topics(known)
        draft.set_epoch(draft.epoch + 1)

    # Joining and going on

    def _go_on(self, beat: Beat, caller: int, unique: str, now: Now, out: Outcome) -> None:
        draft = Draft(self.state)
        id = self._admit(draft, beat, unique) if beat.joins else self._check_beat(beat)
        before = draft.member(id)
        # Who joins says all there is to say; what it leaves out is not as it was but not at all.
        known = before if before is not None and not beat.joins else Subscriber()
        member = _updated(known, beat)
        self.check_room(draft, id, member)
        draft.set_member(id, member)
        changed = before is None or (before.topics, before.regex) != (member.topics, member.regex)
        self.settle(draft, now, changed=changed)

        place = draft.place(id)
        after = reconciled(draft, id, beat.owned, joins=beat.joins)
        draft.set_place(id, after)
        out.changes.extend(draft.changes)
        self.renew(id, member, now)
        if after.standing is not Standing.UNREVOKED:
            self.deadlines.reconciled(id)
        elif after != place:
            self.deadlines.rebalance(id, now.ms + member.rebalance_timeout_ms)
        subscribes = beat.topics is not None or beat.regex is not None
        tells_all = beat.rebalance_timeout_ms != -1 and subscribes and beat.owned is not None
        is_news = beat.joins or tells_all or after.assigned != place.assigned
        out.reply(
            caller,
            Reconciled(
                id, after.epoch, self.config().consumer_heartbeat_ms, after.assigned if is_news else None
            ),
        )

    def _admit(self, draft: Draft, beat: Beat, unique: str) -> str:
        """The id of one who joins; it comes with nothing, whoever it was before."""
        id = beat.member_id or unique
        holder = None if beat.instance_id is None else self.state.instances.get(beat.instance_id)
        if holder is not None and holder != id:
            is_away = self.state.places.get(holder, Place()).epoch == BACK_SOON
            if id in self.state.members or not (is_away or self.state.members[holder].classic):
                raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, f"{beat.instance_id!r} is still a member")
            draft.replace(holder, id)
            self.deadlines.forget(holder)
        elif id in self.state.members:
            draft.begin(id, Place(assigned=draft.place(id).assigned))
        return id

    def _check_beat(self, beat: Beat) -> str:
        """The id of a member that is where it says it is, or was until an answer of ours got lost."""
        id = beat.member_id
        if self.check_member(id, beat.instance_id).classic is not None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "no such member of this protocol; join again")
        place = self.state.places.get(id, Place())
        missed_one = (
            beat.epoch == place.previous_epoch < place.epoch
            and beat.owned is not None
            and beat.owned <= place.assigned
        )
        if beat.epoch != place.epoch and not missed_one:
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"the member is in epoch {place.epoch}; join again")
        return id

    # Leaving

    def _leave(self, beat: Beat, caller: int, out: Outcome) -> None:
        self.check_member(beat.member_id, beat.instance_id)
        draft = Draft(self.state)
        if beat.epoch == LEAVE:
            self.removed(draft, [beat.member_id])
        else:
            place = draft.place(beat.member_id)
            # It has stopped working, so what it was to give up is free; the rest is kept for its return.
            draft.set_place(
                beat.member_id, Place(BACK_SOON, place.epoch, Standing.STABLE, assigned=place.assigned)
            )
            self.deadlines.reconciled(beat.member_id)
        out.changes.extend(draft.changes)
        out.reply(caller, Reconciled(beat.member_id, beat.epoch))

    # Sharing out

    def _assign(self, draft: Draft) -> None:
        ids = {topic.name: topic.id for topic in draft.topics}
        members = dict(draft.members())
        readings = {
            id: Reading(
                topics=frozenset(ids[name] for name in self._reads(member) if name in ids),
                had=draft.target(id),
                instance_id=member.instance_id,
            )
            for id, member in members.items()
        }
        assign = ASSIGNORS[self._assignor(members.values())]
        shares = assign(readings, {topic.id: topic.partitions for topic in draft.topics})
        for id, share in sorted(shares.items()):
            if share != draft.target(id):
                draft.set_target(id, share)
        draft.set_target_epoch(draft.epoch)

    def _assignor(self, members: Iterable[Subscriber]) -> str:
        allowed = self.config().consumer_assignors or tuple(ASSIGNORS)
        votes = dict.fromkeys(allowed, 0)
        for member in members:
            if member.assignor in votes:
                votes[member.assignor] += 1
        return max(votes, key=lambda name: votes[name])

    # Topics

    def _known(self, draft: Draft) -> tuple[KnownTopic, ...]:
        topics = self._topics()
        return tuple(
            KnownTopic(name, topics[name].id.bytes, topics[name].partitions)
            for name in sorted(self._names(draft))
            if name in topics
        )

    def _names(self, draft: Draft) -> frozenset[str]:
        return frozenset().union(*{self._reads(member) for _, member in draft.members()})

    def _reads(self, member: Subscriber) -> frozenset[str]:
        if member.regex is None:
            return member.topics
        return member.topics | self._matching(member.regex)

    def _matching(self, regex: str) -> frozenset[str]:
        topics = self._topics()
        if topics is not self._matched:
            self._matched = topics
            self._matches.clear()
        found = self._matches.get(regex)
        if found is None:
            found = matching(regex, (name for name in topics if not topics[name].is_internal))
            self._matches[regex] = found
        return found

    def _resolve(self, draft: Draft, now: Now) -> None:
        """Write what each pattern stands for now, for whoever reads the log or goes on from it."""
        self._forget_regexes(draft)
        for regex in sorted(_regexes(draft)):
            found = self._matching(regex)
            if found != draft.matches(regex):
                draft.set_resolved(regex, Resolved(found, _NO_VERSION, now.wall_ms))

    def _forget_regexes(self, draft: Draft) -> None:
        used = _regexes(draft)
        for regex in draft.regexes():
            if regex not in used:
                draft.set_resolved(regex, None)


def _regexes(draft: Draft) -> frozenset[str]:
    return frozenset(member.regex for _, member in draft.members() if member.regex is not None)


def _updated(member: Subscriber, beat: Beat) -> Subscriber:
    """*member* with all that is new in *beat*."""
    return replace(
        member,
        instance_id=member.instance_id if beat.instance_id is None else beat.instance_id,
        rack_id=member.rack_id if beat.rack_id is None else beat.rack_id,
        client_id=beat.client_id,
        client_host=beat.client_host,
        topics=member.topics if beat.topics is None else beat.topics,
        regex=member.regex if beat.regex is None else beat.regex or None,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms if beat.rebalance_timeout_ms == -1 else beat.rebalance_timeout_ms
        ),
        assignor=member.assignor if beat.assignor is None else beat.assignor,
        classic=None,
    )


def _check(beat: Beat, config: GroupConfig) -> None:
    """Refuse what makes no sense, whatever the group's state."""
    if beat.epoch < BACK_SOON:
        raise _invalid(f"a member epoch of {beat.epoch}")
    if not beat.joins and not beat.member_id:
        raise _invalid("a member id is needed")
    if beat.epoch == BACK_SOON and beat.instance_id is None:
        raise _invalid("only a member with an instance id may be back soon")
    if beat.instance_id == "" or beat.rack_id == "":
        raise _invalid("an instance id or rack id may be left out, but not empty")
    if max(len((name or "").encode()) for name in (beat.member_id, beat.instance_id)) > MAX_STRING_BYTES:
        raise _invalid(f"an id of more than {MAX_STRING_BYTES} bytes")
    if beat.rebalance_timeout_ms < -1:
        raise _invalid(f"a rebalance timeout of {beat.rebalance_timeout_ms} ms")
    if beat.joins:
        _check_join(beat)
    if beat.assignor is not None and beat.assignor not in config.consumer_assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"{beat.assignor!r} is not one of {', '.join(config.consumer_assignors)}",
        )
    if beat.regex:
        check_regex(beat.regex)


def _check_join(beat: Beat) -> None:
    if beat.rebalance_timeout_ms == -1:
        raise _invalid("who joins must give a rebalance timeout")
    if beat.owned is None or beat.owned:
        raise _invalid("who joins must own nothing, and say so")
    if not beat.topics and not beat.regex:
        raise _invalid("who joins must subscribe to something")


def _invalid(detail: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, detail)
