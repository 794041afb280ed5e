"""Being a member of a consumer group: joining, sharing out if we lead, staying alive.

The group's owner calls `join` whenever `must_join` says so, from the place
where it also hands out records: so nothing is taken from under it. Between
joins a task of our own sends heartbeats.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from millstream.client.assignors import Assignor
from millstream.client.cluster import Client, worth_retrying
from millstream.client.connection import Connection
from millstream.client.consumer_protocol import Subscription, decode_assignment, encode_assignment
from millstream.client.group_offsets import Member
from millstream.client.refusals import check, error_code
from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from millstream.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
)
from millstream.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

log = logging.getLogger(__name__)

_CONSUMER: Final = "consumer"
_BEATS_BETWEEN_LOOKS: Final = 5
_MARGIN: Final = 10.0  # seconds beyond the rebalance timeout before we stop believing in an answer

# We are out of the group, or behind it: join as a new member.
_LOST: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
_AGAIN: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED})


@final
@dataclass(frozen=True, kw_only=True)
class GroupConfig:
    """How long the group waits for us, and how often it hears from us."""

    session_timeout: float = 45.0
    rebalance_timeout: float = 60.0
    heartbeat_interval: float = 3.0
    instance_id: str | None = None


@final
class Membership:
    """One member, from its first join until it leaves."""

    def __init__(
        self,
        client: Client,
        group: str,
        topics: Sequence[str],
        assignors: Sequence[Assignor],
        config: GroupConfig,
        changed: Callable[[], None],
    ) -> None:
        self.must_join = True
        self.lost = False  # what we held is no longer ours
        self.member = Member(group, instance_id=config.instance_id)
        self._client = client
        self._topics = tuple(sorted(topics))
        self._assignors = {each.name: each for each in assignors}
        self._config = config
        self._changed = changed
        self._lane = client.lane()
        self._heartbeats: asyncio.Task[None] | None = None
        self._led: tuple[list[str], dict[str, int]] | None = (
            None  # if we lead: topics, and what we shared out
        )

    async def connection(self) -> Connection:
        """To the group's coordinator; on a lane of its own, since joining may take a while."""
        return await self._lane.to(await self._client.coordinator(self.member.group))

    async def join(self, owned: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Take part in a rebalance, holding *owned* until it is over; the partitions that are ours then."""
        self._stop_heartbeats()
        held = tuple(owned)
        while True:
            self.must_join = False
            given = await self._client.retry(partial(self._try, held), group=self.member.group)
            if given is not None:
                break
            if self.lost:
                held = ()
        self._heartbeats = asyncio.create_task(self._stay_alive())
        return given

    async def leave(self) -> None:
        """Tell the group that we go, so that it need not find out; a static member is meant to come back."""
        self._stop_heartbeats()
        try:
            if self.member.id and self.member.instance_id is None:
                await self._say_leave()
        except (Refused, Unreachable) as problem:
            log.info("left without saying so group=%s reason=%s", self.member.group, problem)
        finally:
            await self._client.retire(self._lane)

    async def _try(self, held: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...] | None:
        """One round of join and sync; None if the group began another meanwhile."""
        try:
            connection = await self.connection()
            joined = await self._join(connection, held)
            return None if joined is None else await self._sync(connection, joined)
        except Refused as refusal:
            if refusal.code in _LOST:
                self._forget_ourselves()
                await asyncio.sleep(self._client.backoff(0))
            elif refusal.code not in _AGAIN:
                raise
            return None

    async def _join(
        self, connection: Connection, held: tuple[TopicPartition, ...]
    ) -> JoinGroupResponse | None:
        me = self.member
        metadata = Subscription(self._topics, held, me.generation).encode()
        said = await connection.request(
            JoinGroupRequest(
                group_id=me.group,
                session_timeout_ms=int(self._config.session_timeout * 1000),
                rebalance_timeout_ms=int(self._config.rebalance_timeout * 1000),
                member_id=me.id,
                group_instance_id=me.instance_id,
                protocol_type=_CONSUMER,
                protocols=[
                    JoinGroupRequestProtocol(name=name, metadata=metadata) for name in self._assignors
                ],
            ),
            JoinGroupResponse,
            timeout=self._config.rebalance_timeout + _MARGIN,
        )
        if said.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member = Member(me.group, said.member_id, -1, me.instance_id)
            return None
        check(said.error_code, f"join of group {me.group!r}")
        self.member = Member(me.group, said.member_id, said.generation_id, me.instance_id)
        return said

    async def _sync(self, connection: Connection, joined: JoinGroupResponse) -> tuple[TopicPartition, ...]:
        me = self.member
        shares: dict[str, bytes] = {}
        self._led = None
        if joined.leader == me.id and not joined.skip_assignment:
            shares = await self._share_out(joined)
        said = await connection.request(
            SyncGroupRequest(
                group_id=me.group,
                generation_id=me.generation,
                member_id=me.id,
                group_instance_id=me.instance_id,
                protocol_type=_CONSUMER,
                protocol_name=joined.protocol_name,
                assignments=[
                    SyncGroupRequestAssignment(member_id=who, assignment=what) for who, what in shares.items()
                ],
            ),
            SyncGroupResponse,
            timeout=self._config.rebalance_timeout + _MARGIN,
        )
        check(said.error_code, f"sync of group {me.group!r}")
        return decode_assignment(bytes(said.assignment))

    async def _share_out(self, joined: JoinGroupResponse) -> dict[str, bytes]:
        """We lead: decide who reads what."""
        members = {each.member_id: Subscription.decode(bytes(each.metadata)) for each in joined.members}
        topics = sorted({topic for each in members.values() for topic in each.topics})
        counts = await self._count(topics)
        self._led = topics, counts
        assignor = self._assignors[joined.protocol_name or ""]
        return {who: encode_assignment(what) for who, what in assignor.assign(counts, members).items()}

    async def _count(self, topics: Iterable[str]) -> dict[str, int]:
        """Partitions of those *topics* that exist."""
        found = await self._client.metadata(topics)
        return {
            name: len(topic.partitions) for name, topic in sorted(found.topics.items()) if not topic.error
        }

    def _forget_ourselves(self) -> None:
        self.member = Member(self.member.group, instance_id=self.member.instance_id)
        self.lost = True
        self._rejoin()

    def _rejoin(self) -> None:
        self.must_join = True
        self._changed()

    async def _stay_alive(self) -> None:
        beats = 0
        while True:
            await asyncio.sleep(self._config.heartbeat_interval)
            beats += 1
            try:
                await self._beat()
                if beats % _BEATS_BETWEEN_LOOKS == 0:
                    await self._look_at_topics()
            except (Refused, Unreachable) as problem:
                log.info("no heartbeat group=%s reason=%s", self.member.group, problem)
                self._client.forget(self.member.group)
                if not worth_retrying(problem):
                    self._rejoin()  # whatever it is, joining will say it to whoever polls

    async def _beat(self) -> None:
        me = self.member
        connection = await self.connection()
        request = HeartbeatRequest(
            group_id=me.group, generation_id=me.generation, member_id=me.id, group_instance_id=me.instance_id
        )
        said = await connection.request(request, HeartbeatResponse, timeout=self._config.session_timeout)
        code = error_code(said.error_code)
        if code in _LOST:
            self._forget_ourselves()
        elif code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._rejoin()
        else:
            check(said.error_code, f"heartbeat of group {me.group!r}")

    async def _look_at_topics(self) -> None:
        """If we lead, a topic that has grown or appeared must be shared out anew."""
        if self._led is not None and await self._count(self._led[0]) != self._led[1]:
            self._rejoin()

    async def _say_leave(self) -> None:
        me = self.member
        connection = await self.connection()
        request = LeaveGroupRequest(
            group_id=me.group, member_id=me.id, members=[LeaveGroupRequestMember(member_id=me.id)]
        )
        said = await connection.request(request, LeaveGroupResponse, timeout=_MARGIN)
        check(said.error_code, f"leave of group {me.group!r}")

    def _stop_heartbeats(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            self._heartbeats = None
