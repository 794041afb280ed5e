"""Conversations with a group, kept as text.

A transcript is a list of steps separated by blank lines: what happened, a
line of four dashes, and what followed. `REWRITE=1` records it anew.

    join as=- client=a protocols=range:A session=10000 at=0
    ----
    #1 MemberIdGiven(member_id='a-1')
    Empty 0

Every request is answered under its own number, now or in a later step. Ids
are made of the client's name and the number. The last line is the state the
group is in, its generation, and its members, the leader first marked by *.

A group of the newer protocol is shown by its epoch, the epoch of its target,
and for each member its epoch, what it has, and after a ! what it must give up.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final
from uuid import UUID

from tests.support.transcript import replay

from millstream.errors import Refused
from millstream.groups.changes import Change, CommittedOffset, GroupSaved, OffsetSaved, decode, encode
from millstream.groups.config import GroupConfig
from millstream.groups.group import Group
from millstream.groups.modern import ModernGroup
from millstream.groups.modern_changes import ModernChange, Share
from millstream.groups.offsets import Commit, NewOffset
from millstream.groups.outcomes import (
    Beat,
    Done,
    Fetched,
    Join,
    Joined,
    Leaver,
    Left,
    Now,
    Outcome,
    Reconciled,
    Reply,
    Sync,
    Synced,
)
from millstream.groups.subscription import read_assignment, topics_of
from millstream.settings import parse_settings

WALL_MS = 1_700_000_000_000


@final
@dataclass(frozen=True)
class SomeTopic:
    id: UUID
    partitions: int
    is_internal: bool = False


class Conversation:
    """One group, talked to in words."""

    def __init__(self) -> None:
        self._config = GroupConfig()
        self._topics: dict[str, SomeTopic] = {}
        self._group = self._new()
        self._written: list[tuple[bytes, bytes | None]] = []
        self._caller = 0
        self._now = Now(0, WALL_MS)

    def say(self, line: str) -> str:
        verb, *rest = shlex.split(line)
        words = [word for word in rest if "=" not in word]
        args = dict(word.split("=", 1) for word in rest if "=" in word)
        if "at" in args:
            ms = int(args.pop("at"))
            assert ms >= self._now.ms, f"time runs backwards: {line}"
            self._now = Now(ms, WALL_MS + ms)
        act: Callable[..., Outcome | str] = getattr(self, f"_{verb}")
        outcome = act(*words, **args)
        if isinstance(outcome, str):
            return outcome
        lines = [self._write(change) for change in outcome.changes]
        lines = [line for line in lines if line]
        lines += [f"#{caller} {self._reply(reply)}" for caller, reply in outcome.replies]
        state = self._state()
        if self._group.is_nothing:
            self._group = self._new()  # as the driver does
        return "\n".join([*lines, state])

    def _new(self) -> Group:
        return Group("g", lambda: self._config, lambda: self._topics)

    def _topics_now(self, **partitions: str) -> str:
        """There are these topics and no others; one that stays keeps its id."""
        known = self._topics
        self._topics = {
            name: SomeTopic(
                known[name].id if name in known else UUID(int=self._caller * 100 + number), int(count)
            )
            for number, (name, count) in enumerate(partitions.items(), 1)
        }
        return "ok"

    def _beat(
        self,
        member: str,
        epoch: str,
        instance: str | None = None,
        reads: str | None = None,
        regex: str | None = None,
        rebalance: str = "-1",
        assignor: str | None = None,
        owns: str | None = None,
    ) -> Outcome:
        beat = Beat(
            member_id=member,
            epoch=int(epoch),
            instance_id=instance,
            rebalance_timeout_ms=int(rebalance),
            topics=None if reads is None else frozenset(filter(None, reads.split(","))),
            regex=regex,
            assignor=assignor,
            owned=None if owns is None else self._share(owns),
            client_id="c",
            client_host="/127.0.0.1",
        )
        caller = self._next()
        return self._group.heard(beat, caller, f"new-{caller}", self._now)

    def _come(self, member: str, reads: str = "t", **more: str) -> Outcome:
        """A member of the newer protocol joins, with all that one must say."""
        return self._beat(member, "0", **{"reads": reads, "rebalance": "60000", "owns": "", **more})

    def _set(self, **settings: str) -> str:
        self._config = parse_settings(GroupConfig, settings)
        return "ok"

    def _join(
        self,
        member: str = "",
        client: str = "c",
        instance: str | None = None,
        type: str = "consumer",
        protocols: str = "range:",
        session: str = "10000",
        rebalance: str = "60000",
        version: str = "9",
    ) -> Outcome:
        offered = [each.partition(":") for each in protocols.split(",") if each]
        join = Join(
            member_id=member,
            instance_id=instance,
            client_id=client,
            client_host="/127.0.0.1",
            protocol_type=type,
            protocols=tuple((name, _metadata(said)) for name, _, said in offered),
            session_timeout_ms=int(session),
            rebalance_timeout_ms=int(rebalance),
            knows_two_steps=int(version) >= 4,
            knows_skipping=int(version) >= 9,
        )
        caller = self._next()
        return self._group.joined(join, caller, str(caller), self._now)

    def _sync(
        self,
        member: str,
        generation: str,
        instance: str | None = None,
        type: str | None = None,
        protocol: str | None = None,
        give: str = "",
    ) -> Outcome:
        given = [each.partition(":") for each in give.split(",") if each]
        sync = Sync(
            member_id=member,
            instance_id=instance,
            generation=int(generation),
            protocol_type=type,
            protocol=protocol,
            assignments=tuple((to, what.encode()) for to, _, what in given),
        )
        return self._group.synced(sync, self._next(), self._now)

    def _heartbeat(self, member: str, generation: str, instance: str | None = None) -> Outcome:
        return self._group.heartbeat(member, instance, int(generation), self._next(), self._now)

    def _leave(self, *members: str) -> Outcome:
        leavers = [each.partition("/") for each in members]
        asked = tuple(Leaver(member, instance if slash else None) for member, slash, instance in leavers)
        return self._group.left(asked, self._next(), self._now)

    def _hangup(self, caller: str) -> Outcome:
        return self._group.members.hung_up(int(caller), self._now)

    def _commit(
        self,
        *offsets: str,
        member: str = "",
        generation: str = "-1",
        instance: str | None = None,
        retention: str = "-1",
        note: str | None = None,
        epoch: str = "-1",
    ) -> Outcome:
        parts = [each.split(":") for each in offsets]
        commit = Commit(
            member_id=member,
            instance_id=instance,
            generation=int(generation),
            retention_ms=int(retention),
            offsets=tuple(NewOffset(t, int(p), int(o), int(epoch), note) for t, p, o in parts),
        )
        return self._group.committed(commit, self._next(), self._now)

    def _fetch(self, *partitions: str) -> Outcome:
        return self._group.asked(_partitions(partitions) if partitions else None, self._next())

    def _delete(self) -> Outcome:
        return self._group.deleted(self._next())

    def _forget(self, *partitions: str) -> Outcome:
        return self._group.offsets_deleted(_partitions(partitions), self._next())

    def _lose(self, topic: str) -> Outcome:
        return self._group.topic_deleted(topic)

    def _tick(self) -> Outcome:
        return self._group.tick(self._now)

    def _check(self) -> Outcome:
        return self._group.retention_checked(self._now)

    def _deadline(self) -> str:
        return str(min(self._group.members._deadlines(), default=None))

    def _describe(self) -> str:
        described = self._group.describe()
        head = f"{described.state.value} type={described.protocol_type!r} protocol={described.protocol!r}"
        lines = [head]
        for each in described.members:
            said = f"{_text(each.metadata)!r} {_text(each.assignment)!r}"
            lines.append(f"  {each.id} {each.client_id}{each.client_host} {said}")
        return "\n".join(lines)

    def _restart(self) -> str:
        """Everything but what was written is lost."""
        self._group = self._new()
        for key, value in self._written:
            found = decode(key, value)
            assert found is not None
            self._group.apply(found[1])
        self._group.restored(self._now)
        return self._state()

    def _reply(self, reply: Reply) -> str:
        if not isinstance(reply, Reconciled):
            return _shown(reply)
        told = "" if reply.assigned is None else f" ({self._named(reply.assigned)})"
        return f"Reconciled {reply.member_id}@{reply.epoch}{told}"

    def _next(self) -> int:
        self._caller += 1
        return self._caller

    def _write(self, change: Change) -> str:
        self._written.append(encode("g", change))
        self._group.apply(change)
        if isinstance(change, ModernChange):
            return ""  # the state says it all
        if isinstance(change, OffsetSaved):
            return f"write {change.topic}:{change.partition}={_offset(change.offset)}"
        if not isinstance(change, GroupSaved):
            return f"write {change}"
        saved = change.group
        members = " ".join(f"{each.id}={_part(each.assignment)}" for each in saved.members)
        return (
            f"write generation {saved.generation} {saved.protocol_type}/{saved.protocol} {members}".rstrip()
        )

    def _share(self, words: str) -> Share:
        return frozenset(
            (self._topics[topic].id.bytes, int(index))
            for topic, _, index in (word.partition(":") for word in words.split(",") if word)
        )

    def _named(self, share: Share) -> str:
        names = {topic.id.bytes: name for name, topic in self._topics.items()}
        return ",".join(f"{names.get(id, 'gone')}:{index}" for id, index in sorted(share))

    def _modern_state(self, modern: ModernGroup) -> str:
        state, shown = modern.state, []
        for id, place in sorted(state.places.items()):
            gives_up = f"!{self._named(place.revoking)}" if place.revoking else ""
            kind = "" if state.members[id].classic is None else "classic "
            shown.append(f"{kind}{id}@{place.epoch}({self._named(place.assigned)}{gives_up})")
        return " ".join([modern.where().value, f"{state.epoch}/{state.target_epoch}", *shown])

    def _state(self) -> str:
        if self._group.modern is not None:
            return self._modern_state(self._group.modern)
        members = self._group.members
        names = [f"*{each.id}" if each.id == members.leader else each.id for each in members.members]
        state = "Dead" if self._group.is_nothing else members.state.value
        return " ".join([state, str(members.generation), *names])


def run(path: Path) -> None:
    """Replay the transcript at *path* and compare, or with REWRITE=1 record what happens."""
    replay(path, Conversation().say)


def subscription(*topics: str) -> bytes:
    """A consumer's metadata, version 1."""
    out = bytearray((1).to_bytes(2, "big") + len(topics).to_bytes(4, "big"))
    for topic in topics:
        out += len(topic).to_bytes(2, "big") + topic.encode()
    return bytes(out + b"\xff\xff\xff\xff" + b"\0\0\0\0")


def _metadata(said: str) -> bytes:
    """`reads+a+b` is a subscription to a and b; anything else stands for itself."""
    word, *topics = said.split("+")
    return subscription(*topics) if word == "reads" else said.encode()


def _partitions(words: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(topic, int(index)) for topic, _, index in (word.partition(":") for word in words)]


def _shown(reply: Reply) -> str:
    match reply:
        case Joined():
            told = " ".join(f"{each.id}={_text(each.metadata)}" for each in reply.members)
            skip = " skip" if reply.skip_assignment else ""
            what = f"generation {reply.generation} {reply.protocol_type}/{reply.protocol}"
            return f"Joined {reply.member_id} {what} leader {reply.leader} [{told}]{skip}"
        case Synced():
            return f"Synced {reply.protocol_type}/{reply.protocol} {_part(reply.assignment)!r}"
        case Left(members):
            return "Left " + " ".join(
                f"{each.member_id or each.instance_id}:{error.name}" for each, error in members
            )
        case Fetched(offsets):
            return " ".join(["Fetched", *(f"{t}:{i}={_offset(o)}" for (t, i), o in offsets.items())])
        case Done(errors):
            return " ".join(
                ["Done", *(f"{topic}:{index}={error.name}" for (topic, index), error in errors.items())]
            )
    return str(reply)


def _text(opaque: bytes) -> str:
    topics = topics_of([opaque])
    return opaque.decode() if topics is None else f"reads+{'+'.join(sorted(topics))}"


def _part(assignment: bytes) -> str:
    try:
        return ",".join(f"{topic}:{index}" for topic, index in read_assignment(assignment))
    except Refused:
        return assignment.decode()


def _offset(offset: CommittedOffset | None) -> str:
    return "-" if offset is None else f"{offset.offset}/epoch {offset.leader_epoch}/{offset.metadata!r}"
