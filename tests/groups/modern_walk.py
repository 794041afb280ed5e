"""A group of the newer protocol led through anything that can happen, by clients that behave as real ones.

A client owns what it works on. It hears of a new assignment, lets go of what
is no longer its own, takes up the rest when it gets round to it, and says so;
its answers get lost now and then. What must always hold is checked after
every step: above all, that no partition has two owners.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final
from uuid import UUID

from tests.groups.transcript import SomeTopic, subscription

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import decode, encode
from millstream.groups.config import GroupConfig
from millstream.groups.group import Group
from millstream.groups.modern_changes import NOTHING, Share, Standing
from millstream.groups.modern_state import ModernState
from millstream.groups.outcomes import (
    Beat,
    Heard,
    Join,
    Joined,
    Leaver,
    MemberIdGiven,
    Now,
    Outcome,
    Reconciled,
    Reply,
    State,
    Sync,
    Synced,
)
from millstream.groups.subscription import read_assignment, write_assignment

CONFIG = GroupConfig(consumer_max_size=6, max_size=6, initial_rebalance_delay_ms=0)
WALL_MS = 1_700_000_000_000
Ask = Callable[[int], Outcome]
FENCES = frozenset(
    {
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
READS = (frozenset({"t"}), frozenset({"t", "u"}), frozenset({"u", "later"}))


@final
@dataclass
class Client:
    """One process that consumes; *told* is its assignment, *owned* what it works on."""

    id: str
    instance_id: str | None
    topics: frozenset[str]
    regex: str | None
    is_classic: bool = False
    epoch: int = 0
    owned: Share = NOTHING
    told: Share = NOTHING
    says_all: bool = True
    has_news: bool = False
    must_ack: bool = False
    must_join: bool = True
    must_sync: bool = False
    is_waiting: bool = False
    leads: tuple[tuple[str, bytes], ...] = ()

    def forget(self) -> None:
        self.epoch, self.owned, self.told = 0, NOTHING, NOTHING
        self.says_all = self.must_join = True
        self.has_news = self.must_ack = self.must_sync = False


@final
@dataclass
class ModernWalk:
    config: GroupConfig = CONFIG
    topics: Mapping[str, SomeTopic] = field(
        default_factory=lambda: {"t": SomeTopic(UUID(int=1), 4), "u": SomeTopic(UUID(int=2), 2)}
    )
    clients: list[Client] = field(default_factory=list)
    written: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    now: Now = field(default_factory=lambda: Now(0, WALL_MS))
    _asking: dict[int, Client] = field(default_factory=dict)
    _callers: int = 0
    _ids: int = 2

    def __post_init__(self) -> None:
        self.group = self._new()
        self._again = self._new()  # made of nothing but what was written

    # What can happen

    def come(self, static: bool, reads: int, classic: bool) -> None:
        """One more client starts."""
        taken = {each.instance_id for each in self.clients}
        instance = next((f"i{n}" for n in range(3) if f"i{n}" not in taken), None)
        self._ids += 1
        is_static = static and not classic
        self.clients.append(
            Client(
                id="" if classic else f"m{self._ids}",
                instance_id=instance if is_static else None,
                topics=READS[reads % len(READS)],
                regex="^l.*r|t" if reads == 3 and not classic else None,
                is_classic=classic,
            )
        )

    def go_on(self, who: int, loses_answer: bool = False, is_slow: bool = False) -> None:
        """A client does what is next."""
        if not self.clients:
            return
        client = self.clients[who % len(self.clients)]
        if client.is_classic:
            self._go_on_classic(client)
            return
        if client.has_news and (client.says_all or not is_slow):
            client.owned = client.told
            client.must_ack, client.has_news = True, False
        self._beat(client, loses_answer)
        self._check()

    def leave(self, who: int) -> None:
        if not self.clients:
            return
        client = self.clients.pop(who % len(self.clients))
        client.owned = NOTHING
        if client.is_classic:
            self._ask(client, lambda caller: self.group.left((Leaver(client.id),), caller, self.now))
        elif not client.must_join:
            beat = Beat(member_id=client.id, epoch=-1, instance_id=client.instance_id)
            self._ask(client, lambda caller: self.group.heard(beat, caller, "", self.now))

    def restart_client(self, who: int) -> None:
        """A static member says that it will be back, and is, as somebody new."""
        statics = [each for each in self.clients if each.instance_id is not None and not each.must_join]
        if statics:
            client = statics[who % len(statics)]
            beat = Beat(member_id=client.id, epoch=-2, instance_id=client.instance_id)
            client.forget()
            self._ask(client, lambda caller: self.group.heard(beat, caller, "", self.now))
            self._ids += 1
            client.id = f"m{self._ids}"
            client.forget()

    def die(self, who: int) -> None:
        """A client is gone without a word."""
        if self.clients:
            del self.clients[who % len(self.clients)]

    def tick(self, ms: int) -> None:
        self.now = Now(self.now.ms + ms, self.now.wall_ms + ms)
        due = self.group.next_deadline_ms()
        if due is not None and due <= self.now.ms:
            self._carry_out(self.group.tick(self.now))
            assert (self.group.next_deadline_ms() or self.now.ms + 1) > self.now.ms

    def change_topics(self, kind: int) -> None:
        topics = dict(self.topics)
        match kind % 4:
            case 0 if "t" in topics and topics["t"].partitions < 9:
                topics["t"] = SomeTopic(topics["t"].id, topics["t"].partitions + 1)
            case 1:
                topics.pop("u", None)
            case 2 if "u" not in topics:
                self._ids += 1
                topics["u"] = SomeTopic(UUID(int=self._ids), 3)
            case 3:
                topics["later"] = SomeTopic(UUID(int=1_000), 2)
        self.topics = topics

    def restart(self) -> None:
        """The broker dies; all that is left is what was written."""
        self._asking.clear()
        for client in self.clients:
            if client.is_waiting:
                client.is_waiting, client.must_join = False, True
            client.says_all = True
        self.group = self._new()
        for key, value in self.written:
            self._replay(self.group, key, value)
        self.group.restored(self.now)
        self._check()

    def settle(self) -> None:
        """Everybody does what is next until there is nothing new."""
        quiet = 0
        for _ in range(40):
            before = len(self.written)
            for who in range(len(self.clients)):
                self.go_on(who)
            self.tick(100)
            quiet = quiet + 1 if len(self.written) == before else 0
            if quiet == 4:
                self._check_quiet()
                return
        raise AssertionError("it does not come to rest")

    # Clients of the newer protocol

    def _beat(self, client: Client, loses_answer: bool) -> None:
        joins, says_all = client.must_join, client.says_all or client.must_join
        if joins:
            client.owned = client.told = NOTHING
        beat = Beat(
            member_id=client.id,
            epoch=0 if joins else client.epoch,
            instance_id=client.instance_id,
            rebalance_timeout_ms=20_000 if says_all else -1,
            topics=client.topics if says_all else None,
            regex=client.regex if says_all else None,
            owned=client.owned if says_all or client.must_ack else None,
        )
        reply = self._ask(client, lambda caller: self.group.heard(beat, caller, "", self.now))
        if loses_answer:
            client.says_all = True
            return
        client.says_all = client.must_ack = False
        if isinstance(reply, Refused):
            assert reply.code in FENCES, reply
            client.forget()
            return
        assert isinstance(reply, Reconciled)
        client.must_join = False
        client.epoch = reply.epoch
        if reply.assigned is not None:
            client.told, client.has_news = reply.assigned, True

    # Clients of the classic protocol, which let go of everything before they join

    def _go_on_classic(self, client: Client) -> None:
        if client.is_waiting:
            return
        if client.must_join:
            client.owned = NOTHING
            join = Join(
                member_id=client.id,
                client_id="classic",
                protocol_type="consumer",
                protocols=(("range", subscription(*sorted(client.topics))),),
                session_timeout_ms=10_000,
                rebalance_timeout_ms=20_000,
            )
            self._ids += 1
            unique = str(self._ids)
            reply = self._ask(client, lambda caller: self.group.joined(join, caller, unique, self.now))
        elif client.must_sync:
            sync = Sync(member_id=client.id, generation=client.epoch, assignments=client.leads)
            reply = self._ask(client, lambda caller: self.group.synced(sync, caller, self.now))
        else:
            reply = self._ask(
                client,
                lambda caller: self.group.heartbeat(client.id, None, client.epoch, caller, self.now),
            )
        client.is_waiting = reply is None

    def _answered(self, client: Client, reply: Reply) -> None:
        """What a client of the classic protocol does with an answer, however late."""
        client.is_waiting = False
        match reply:
            case MemberIdGiven(id):
                client.id = id
            case Joined():
                client.id, client.epoch = reply.member_id, reply.generation
                client.must_join, client.must_sync = False, True
                client.leads = self._shared_out([each.id for each in reply.members])
            case Synced():
                client.must_sync = False
                client.owned = client.told = frozenset(
                    (self.topics[name].id.bytes, index)
                    for name, index in read_assignment(reply.assignment)
                    if name in self.topics
                )
            case Heard():
                pass
            case Refused():
                assert reply.code in FENCES, reply
                client.must_join, client.must_sync = True, False
                if reply.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                    client.forget()
                if reply.code is ErrorCode.UNKNOWN_MEMBER_ID:
                    client.id = ""

    def _shared_out(self, ids: list[str]) -> tuple[tuple[str, bytes], ...]:
        """What a leader makes of it: everything in turn, whoever reads what."""
        parts: dict[str, dict[str, list[int]]] = {id: {} for id in ids}
        turn = 0
        for name, topic in sorted(self.topics.items()) if ids else ():
            for index in range(topic.partitions):
                parts[ids[turn % len(ids)]].setdefault(name, []).append(index)
                turn += 1
        return tuple((id, write_assignment(0, part)) for id, part in parts.items())

    # Carrying out

    def _ask(self, client: Client, ask: Ask) -> Reply | None:
        self._callers += 1
        caller = self._callers
        self._asking[caller] = client
        return self._carry_out(ask(caller)).get(caller)

    def _carry_out(self, outcome: Outcome) -> dict[int, Reply]:
        for change in outcome.changes:
            self.written.append(encode("g", change))
            self._replay(self._again, *self.written[-1])
            self.group.apply(change)
        for caller, reply in outcome.replies:
            client = self._asking.pop(caller, None)
            if client is not None and client.is_classic:
                self._answered(client, reply)
        if self.group.is_nothing:
            self.group = self._new()
        if outcome.changes:
            self._check()
        return dict(outcome.replies)

    def _new(self) -> Group:
        return Group("g", lambda: self.config, lambda: self.topics)

    @staticmethod
    def _replay(group: Group, key: bytes, value: bytes | None) -> None:
        found = decode(key, value)
        assert found is not None
        group.apply(found[1])

    # What must hold

    def _check(self) -> None:
        modern = self.group.modern
        replayed = self._again
        assert (modern is None) == (replayed.modern is None)
        assert replayed.saved == self.group.saved
        assert modern is None or self.group.members.is_deserted
        if modern is None or replayed.modern is None:
            return
        assert _durable(modern.state) == _durable(replayed.modern.state)
        self._check_state(modern.state)
        there = {topic.id.bytes for topic in self.topics.values()}
        owned: set[tuple[bytes, int]] = set()
        for client in self.clients:
            place = modern.state.places.get(client.id)
            if place is None or client.must_join:
                continue  # it does not know yet that it is no member any more
            real = {each for each in client.owned if each[0] in there}
            assert real <= place.assigned | place.revoking, "nobody works on what is not its own"
            assert not real & owned, "no partition has two owners"
            owned |= real

    def _check_state(self, state: ModernState) -> None:
        assert state.epoch is not None
        assert state.target_epoch <= state.epoch
        assert len(state.members) <= self.config.consumer_max_size
        assert state.targets.keys() <= state.members.keys()
        assert state.places.keys() == state.members.keys()
        assert state.instances == {
            each.instance_id: id for id, each in state.members.items() if each.instance_id is not None
        }
        used = {each.regex for each in state.members.values() if each.regex is not None}
        assert state.resolved.keys() == used, "what patterns stand for is written as long as they are used"
        held = [each for place in state.places.values() for each in place.assigned | place.revoking]
        assert len(held) == len(set(held)), "no partition is held by two members"
        assert state.owners.keys() == set(held)
        aimed = [each for share in state.targets.values() for each in share]
        assert len(aimed) == len(set(aimed)), "no partition is meant for two members"
        for place in state.places.values():
            assert bool(place.revoking) == (place.standing is Standing.UNREVOKED)
            assert place.epoch <= state.target_epoch

    def _check_quiet(self) -> None:
        """Every partition of a topic that a member reads is worked on by one that reads it."""
        modern = self.group.modern
        if modern is None or any(not self._is_member(client) for client in self.clients):
            return
        if set(modern.state.members) != {client.id for client in self.clients}:
            return  # one that died is not given up yet
        assert modern.where() in (State.STABLE, State.EMPTY)
        for resolved in modern.state.resolved.values():
            assert resolved.topics == {"later", "t"} & self.topics.keys()
        owned = sorted(each for client in self.clients for each in client.owned)
        wanted = sorted(
            (topic.id.bytes, index)
            for name, topic in self.topics.items()
            if any(self._reads(client, name) for client in self.clients)
            for index in range(topic.partitions)
        )
        assert owned == wanted
        for client in self.clients:
            names = {
                name for name, topic in self.topics.items() for id, _ in client.owned if topic.id.bytes == id
            }
            assert all(self._reads(client, name) for name in names)

    def _is_member(self, client: Client) -> bool:
        modern = self.group.modern
        return modern is not None and client.id in modern.state.members and not client.must_join

    @staticmethod
    def _reads(client: Client, name: str) -> bool:
        return name in client.topics or (client.regex is not None and name in ("later", "t"))


def _durable(state: ModernState) -> tuple[object, ...]:
    kept = (state.epoch, state.target_epoch, state.topics, state.members, state.targets, state.places)
    return (*kept, state.instances, state.owners, state.resolved, state.bytes)
