"""A simulated member of a classic consumer group, with the range assignor.

It joins, consumes what it is given, commits as it goes, and joins again when
told to. It waits out everything that may pass and complains of the rest.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Final, final

from millstream.client.assignors import Range
from millstream.client.consumer_protocol import Subscription, decode_assignment, encode_assignment
from millstream.client.refusals import error_code
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.sim.fetcher import Fetcher, by_topic
from millstream.sim.hand import Hand
from millstream.sim.history import Assign, History, Key, Outcome
from millstream.sim.link import FAILURES, Later, Link, settle
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
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

_SESSION_S: Final = 6.0
_REBALANCE_S: Final = 4.0
_HEARTBEAT_S: Final = 1.0
# A static member may be fenced by a join of its own past life that was long on the way.
_FORGOTTEN: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
_START_OVER: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})


class Rejoin(Exception):
    """The group has moved on without us."""


@final
class Member:
    """One consumer of *keys*, until it is told to `leave`.

    Its group is *mixed* if others may speak the newer protocol: then a
    generation is its own alone.
    """

    def __init__(
        self,
        name: str,
        group: str,
        coordinator: Link,
        fetcher: Fetcher,
        keys: Sequence[Key],
        history: History,
        random: Random,
        *,
        instance: str | None,
        mixed: bool = False,
    ) -> None:
        self._name = name
        self._group = group
        self._coordinator = coordinator
        self._hand = Hand(name, group, coordinator, fetcher, history)
        self._mixed = mixed
        self._counts = {topic: len(indexes) for topic, indexes in by_topic(keys).items()}
        self._history = history
        self._random = random
        self._instance = instance
        self._member_id = ""
        self._generation = -1
        self._heartbeat_at = 0.0
        self._found_on = -1
        self._leaving = False

    def leave(self) -> None:
        self._leaving = True

    async def run(self) -> None:
        while not self._leaving:
            try:
                await self._join()
                await self._consume()
            except Rejoin:
                continue
            except FAILURES as failure:
                if isinstance(failure, Unreachable):
                    self._coordinator.drop()
                await asyncio.sleep(self._random.uniform(0.02, 0.3))

    # The group

    async def _join(self) -> None:
        """Take part in a rebalance, and begin where the group left off."""
        self._hand.drop()
        if self._found_on != self._coordinator.opened:
            await self._find_coordinator()
        said = await self._coordinator.ask(
            JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=int(_SESSION_S * 1000),
                rebalance_timeout_ms=int(_REBALANCE_S * 1000),
                member_id=self._member_id,
                group_instance_id=self._instance,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(Range.name, Subscription(tuple(self._counts)).encode())],
            ),
            JoinGroupResponse,
            patience=_REBALANCE_S + _SESSION_S,
        )
        if error_code(said.error_code) is ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = said.member_id
            raise Rejoin
        self._judge(said.error_code, "join")
        self._member_id = said.member_id
        self._generation = said.generation_id
        await self._sync(self._shares(said) if said.leader == said.member_id else [])

    async def _find_coordinator(self) -> None:
        """Ask who coordinates the group, as every client does; it is always the one broker there is."""
        request = FindCoordinatorRequest(key=self._group, coordinator_keys=[self._group])
        said = await self._coordinator.ask(request, FindCoordinatorResponse)
        for found in said.coordinators:
            self._judge(found.error_code, "find the coordinator")
        self._found_on = self._coordinator.opened

    def _shares(self, said: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        members = {each.member_id: Subscription.decode(bytes(each.metadata)) for each in said.members}
        shares = Range().assign(self._counts, members)
        return [SyncGroupRequestAssignment(each, encode_assignment(shares[each])) for each in sorted(shares)]

    async def _sync(self, shares: list[SyncGroupRequestAssignment]) -> None:
        assign = Assign(
            process=self._name,
            begun=self._history.tick(),
            group=self._group,
            generation=self._generation,
            keys=(),
        )
        said = await self._coordinator.ask(
            SyncGroupRequest(
                group_id=self._group,
                generation_id=self._generation,
                member_id=self._member_id,
                group_instance_id=self._instance,
                protocol_type="consumer",
                protocol_name=Range.name,
                assignments=shares,
            ),
            SyncGroupResponse,
            patience=_REBALANCE_S,
        )
        self._judge(said.error_code, "sync")
        assign.keys = tuple((topic, index) for topic, index in decode_assignment(bytes(said.assignment)))
        if not self._mixed:
            self._history.begin(assign)
            self._history.end(assign, Outcome.OK)
            self._hand.generation = self._generation
        self._heartbeat_at = asyncio.get_running_loop().time() + _HEARTBEAT_S
        self._hand.take(assign.keys, assign.begun)
        await self._hand.begin()

    async def _heartbeat(self) -> None:
        self._heartbeat_at = asyncio.get_running_loop().time() + _HEARTBEAT_S
        asked = self._history.tick()
        said = await self._coordinator.ask(
            HeartbeatRequest(self._group, self._generation, self._member_id, self._instance),
            HeartbeatResponse,
        )
        if error_code(said.error_code) is ErrorCode.REBALANCE_IN_PROGRESS:
            await self._commit()  # the last chance to say what is done, before others take over
        self._judge(said.error_code, "heartbeat")
        self._hand.confirm(asked)

    async def _leave(self) -> None:
        leaver = LeaveGroupRequestMember(self._member_id, self._instance)
        await self._coordinator.ask(
            LeaveGroupRequest(self._group, self._member_id, [leaver]), LeaveGroupResponse
        )

    def _judge(self, code: int, what: str) -> None:
        """Go on, or start over as *code* tells."""
        named = settle(code)
        if named is ErrorCode.NONE:
            return
        if named in _FORGOTTEN:
            self._member_id = ""
            raise Rejoin
        if named in _START_OVER:
            raise Rejoin
        self._history.complain("refused-member", self._group, f"{self._name}: {named.name} to {what}")
        raise Later(named.name)

    # The records

    async def _consume(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._leaving:
            if self._hand.positions:
                await self._hand.poll()
            else:
                await asyncio.sleep(0.25)
            if self._random.random() < 0.3:
                await self._commit()
            if loop.time() >= self._heartbeat_at:
                await self._heartbeat()
        await self._commit()
        await self._leave()

    async def _commit(self) -> None:
        """Say what is done; what becomes of it is known only if an answer comes."""
        for code in await self._hand.commit(self._member_id, self._generation, self._instance):
            self._judge(code, "commit")
