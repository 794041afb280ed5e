"""A simulated member of a group of the newer protocol (KIP-848): the broker shares out the work.

It is heard of now and then, gives up what it is told to give up, says so, and
takes what it is given. Fenced, it drops everything and joins anew.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Final, final
from uuid import UUID

from millstream.client.refusals import error_code
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.sim.fetcher import Fetcher, by_topic
from millstream.sim.hand import Hand
from millstream.sim.history import History, Key
from millstream.sim.link import FAILURES, Later, Link, settle
from millstream.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopic,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseAssignment,
)
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

_JOIN: Final = 0
_LEAVE: Final = -1
_REBALANCE_S: Final = 4.0
_FENCED: Final = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
# The member of that name is our own past life: its session must end first.
_NOT_YET: Final = frozenset({ErrorCode.UNRELEASED_INSTANCE_ID})


class Fenced(Exception):
    """The group goes on without us."""


@final
class ModernMember:
    """One consumer of *keys*, until it is told to `leave`; it subscribes by a pattern if *by_pattern*."""

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
        by_pattern: bool,
    ) -> None:
        self._name = name
        self._group = group
        self._link = coordinator
        self._hand = Hand(name, group, coordinator, fetcher, history)
        self._topics = list(by_topic(keys))
        self._history = history
        self._random = random
        self._instance = instance
        self._by_pattern = by_pattern
        self._assignor = random.choice((None, "uniform", "range"))
        self._ids: dict[str, bytes] = {}
        self._member_id = str(UUID(int=random.getrandbits(128), version=4))
        self._epoch = _JOIN
        self._says_all = True
        self._beat_at = 0.0
        self._found_on = -1
        self._leaving = False

    def leave(self) -> None:
        self._leaving = True

    async def run(self) -> None:
        while not self._leaving:
            try:
                if self._found_on != self._link.opened:
                    await self._find_coordinator()
                await self._beat()
                await self._consume()
            except Fenced:
                self._hand.drop()
                self._epoch, self._says_all = _JOIN, True
            except FAILURES as failure:
                self._says_all = True  # what we said last may not have been heard
                if isinstance(failure, Unreachable):
                    self._link.drop()
                await asyncio.sleep(self._random.uniform(0.02, 0.3))
        try:
            await self._commit()
            await self._say(_LEAVE)
        except (Fenced, *FAILURES):
            pass  # the session will end all the same

    # The group

    async def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(key=self._group, coordinator_keys=[self._group])
        for found in (await self._link.ask(request, FindCoordinatorResponse)).coordinators:
            settle(found.error_code)
        asked = [MetadataRequestTopic(name=name) for name in self._topics]
        for topic in (await self._link.ask(MetadataRequest(asked), MetadataResponse)).topics:
            if settle(topic.error_code) is ErrorCode.NONE:
                self._ids[topic.name or ""] = topic.topic_id
        self._found_on = self._link.opened

    async def _beat(self) -> None:
        """Be heard, and follow what we are told."""
        asked = self._history.tick()
        said = await self._say(self._epoch)
        self._epoch = said.member_epoch
        self._says_all = False
        loop = asyncio.get_running_loop()
        self._beat_at = loop.time() + said.heartbeat_interval_ms / 1000
        before = self._hand.keys
        given = before if said.assignment is None else self._keys(said.assignment)
        self._hand.confirm(asked)  # also what we are to give up: it is ours until we have said that it is not
        lost = [key for key in before if key not in given]
        if lost:
            await self._commit()
            self._hand.drop(lost)
        new = [key for key in given if key not in before]
        if lost or new:
            self._says_all = True
            self._beat_at = loop.time()
        self._hand.take(new, asked)

    async def _say(self, epoch: int) -> ConsumerGroupHeartbeatResponse:
        says_all = self._says_all and epoch >= 0
        pattern = "^(" + "|".join(self._topics) + ")$" if self._by_pattern else None
        owned = [
            ConsumerGroupHeartbeatRequestTopic(self._ids[topic], indexes)
            for topic, indexes in by_topic(self._hand.keys if epoch != _JOIN else []).items()
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._instance,
            rebalance_timeout_ms=int(_REBALANCE_S * 1000) if says_all else -1,
            subscribed_topic_names=(None if self._by_pattern else self._topics) if says_all else None,
            subscribed_topic_regex=pattern if says_all else None,
            server_assignor=self._assignor if says_all else None,
            topic_partitions=owned if says_all else None,
        )
        said = await self._link.ask(request, ConsumerGroupHeartbeatResponse)
        code = error_code(said.error_code)
        if code in _FENCED:
            raise Fenced
        if code in _NOT_YET or settle(code) is not ErrorCode.NONE:
            if code not in _NOT_YET:
                self._history.complain("refused-member", self._group, f"{self._name}: {code.name}")
            raise Later(code.name)
        return said

    def _keys(self, assignment: ConsumerGroupHeartbeatResponseAssignment) -> list[Key]:
        names = {id: name for name, id in self._ids.items()}
        return [
            (names[bytes(topic.topic_id)], index)
            for topic in assignment.topic_partitions
            for index in topic.partitions
        ]

    # The records

    async def _consume(self) -> None:
        """Work until it is time to be heard again."""
        await self._hand.begin(self._member_id, self._epoch)
        loop = asyncio.get_running_loop()
        while not self._leaving and loop.time() < self._beat_at:
            if self._hand.positions:
                await self._hand.poll()
            else:
                await asyncio.sleep(min(0.25, max(self._beat_at - loop.time(), 0.0)))
            if self._random.random() < 0.5:
                await self._commit()

    async def _commit(self) -> None:
        for code in await self._hand.commit(self._member_id, self._epoch, self._instance):
            if code in _FENCED or code is ErrorCode.FENCED_INSTANCE_ID:
                raise Fenced
            if code is ErrorCode.STALE_MEMBER_EPOCH:
                self._beat_at = 0.0  # there is news
            elif settle(code) is not ErrorCode.NONE:
                self._history.complain("refused-member", self._group, f"{self._name}: {code.name} to commit")
