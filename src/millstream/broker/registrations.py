"""Which consumer of the HTTP queue has which partition.

Kept in the registry under `queue/<topic>`, so that a registration outlives
the broker; each with the topic's id, so that it does not outlive the topic. How
far a partition has been read is not here: it is an offset of the group
READ_GROUP, where Kafka's tools see it too.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Final, final

from millstream.broker.topics import Topics
from millstream.broker.unhurried import to_the_end
from millstream.env.registry import ABSENT, Registry
from millstream.errors import Refused

READ_GROUP: Final = "panda-q"

_PREFIX: Final = "queue/"


@final
class Registrations:
    """The consumer of each partition, by topic; one consumer has one partition of a topic."""

    def __init__(self, registry: Registry, topics: Topics) -> None:
        self._registry = registry
        self._topics = topics
        self._consumers: dict[str, dict[int, str]] = {}
        self._ids: dict[str, str] = {}
        self._revisions: dict[str, int] = {}
        self._heard: dict[tuple[str, str], float] = {}
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        for item in await self._registry.range(_PREFIX):
            topic = item.key.removeprefix(_PREFIX)
            kept = json.loads(item.value)
            self._revisions[topic] = item.revision
            self._ids[topic] = kept["id"]
            self._consumers[topic] = {int(index): name for index, name in kept["consumers"].items()}

    def of(self, topic: str) -> Mapping[int, str]:
        """Who has which partition of *topic*."""
        if self._ids.get(topic) != self._id(topic):
            return {}
        return self._consumers.get(topic, {})

    def heard_from(self, topic: str, consumer: str) -> None:
        """*consumer* has shown that it is still there."""
        if consumer in self.of(topic).values():
            self._heard[topic, consumer] = asyncio.get_running_loop().time()

    async def register(self, topic: str, consumer: str, release_ms: int = 0) -> int | None:
        """The partition that *consumer* has, or now gets: the lowest that is free; None if there is none.

        With *release_ms*, those count as free whose consumer was not heard from for so long.
        """
        return await to_the_end(self._register(topic, consumer, release_ms))

    async def assign(self, topic: str, consumers: Mapping[int, str]) -> None:
        """Let *consumers* be all the registrations of *topic*, as when they come from elsewhere."""
        await to_the_end(self._assign(topic, consumers))

    async def release(self, topic: str, consumer: str) -> int | None:
        """Take its partition from *consumer*; which one that was, None if it had none."""
        return await to_the_end(self._release(topic, consumer))

    async def _register(self, topic: str, consumer: str, release_ms: int) -> int | None:
        async with self._turn:
            known = dict(self.of(topic))
            for index, name in known.items():
                if name == consumer:
                    self.heard_from(topic, consumer)
                    return index
            count = self._topics.topic(topic).partitions
            free = next((index for index in range(count) if index not in known), None)
            if free is None and release_ms:
                free = self._longest_idle(topic, known, release_ms)
            if free is None:
                return None
            known[free] = consumer
            await self._keep(topic, known)
            self.heard_from(topic, consumer)
            return free

    async def _assign(self, topic: str, consumers: Mapping[int, str]) -> None:
        async with self._turn:
            self._topics.topic(topic)
            await self._keep(topic, dict(consumers))

    async def _release(self, topic: str, consumer: str) -> int | None:
        async with self._turn:
            known = dict(self.of(topic))
            for index, name in known.items():
                if name == consumer:
                    del known[index]
                    await self._keep(topic, known)
                    return index
            return None

    def _longest_idle(self, topic: str, known: Mapping[int, str], release_ms: int) -> int | None:
        now = asyncio.get_running_loop().time()
        # One that was there before we started counts as heard from then.
        heard = {index: self._heard.setdefault((topic, name), now) for index, name in known.items()}
        idle = min(heard, key=lambda index: (heard[index], index), default=None)
        return idle if idle is not None and now - heard[idle] >= release_ms / 1000 else None

    async def _keep(self, topic: str, consumers: dict[int, str]) -> None:
        key = _PREFIX + topic
        id = self._id(topic)
        value = json.dumps({"id": id, "consumers": consumers}).encode()
        revision = await self._registry.change({key: value}, {key: self._revisions.get(topic, ABSENT)})
        assert revision, "registrations change in turn, so nobody else can have changed these"
        self._revisions[topic] = revision
        self._ids[topic] = id
        self._consumers[topic] = consumers
        for place in [each for each in self._heard if each[0] == topic]:
            if place[1] not in consumers.values():
                del self._heard[place]

    def _id(self, topic: str) -> str:
        try:
            return str(self._topics.topic(topic).id)
        except Refused:
            return ""
