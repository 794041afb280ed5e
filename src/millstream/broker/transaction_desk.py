"""One short method per thing a client may ask of transactions."""

import asyncio
from collections.abc import Callable, Set
from dataclasses import replace
from typing import TYPE_CHECKING, final

from millstream.broker.groups import Groups
from millstream.broker.internal_topic import InternalTopic, Layout
from millstream.broker.markers import Markers
from millstream.broker.produce import Produce
from millstream.broker.producer_ids import ProducerIds
from millstream.broker.session import Session
from millstream.broker.topics import Topics
from millstream.broker.transactions import Listed, Transactions
from millstream.cluster.image import TRANSACTIONS_TOPIC
from millstream.env.clock import Clock
from millstream.records.control import Marker
from millstream.storage.producers import Described
from millstream.transactions.config import TransactionConfig
from millstream.transactions.transaction import IMPLICIT, Identity, Place, Transaction

if TYPE_CHECKING:
    from millstream.groups.offsets import Commit
    from millstream.groups.outcomes import Done


@final
class TransactionDesk:
    """The part of the broker's desk where transactions begin, grow and end.

    *log* is the topic that they are written to, *coordinator* what decides and acts.
    """

    def __init__(
        self,
        topics: Topics,
        produce: Produce,
        groups: Groups,
        offsets: InternalTopic,
        producer_ids: ProducerIds,
        clock: Clock,
        config: Callable[[], TransactionConfig],
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._config = config
        self._markers = Markers(topics, produce, groups)
        self.log = InternalTopic(TRANSACTIONS_TOPIC, topics, produce, clock, self._layout)
        self.coordinator = Transactions(self.log, self._markers, producer_ids, clock, config)

    async def available(self, session: Session) -> None:
        """Return once this node can coordinate transactions, which needs the topic they are written to."""
        await self.log.ensure()

    async def begin(self, session: Session, id: str, timeout_ms: int, expected: Identity | None) -> Identity:
        """Who writes under the transactional id *id* from now on."""
        await self.log.ensure()
        return await self.coordinator.begin(id, timeout_ms, expected)

    def join(
        self, session: Session, id: str, by: Identity, places: Set[Place], client_version: int
    ) -> "asyncio.Future[None] | None":
        """Make *places* part of a transaction; done once that is safe, None if it is already.

        Producers of the older generation do so in a request of its own, and those of the newer by writing.
        """
        return self.coordinator.join(id, by, places, client_version)

    def check(
        self, session: Session, id: str, by: Identity, places: Set[Place]
    ) -> "asyncio.Future[None] | None":
        """Refuse unless all *places* are part of a transaction."""
        return self.coordinator.check(id, by, places)

    async def end(
        self, session: Session, id: str, by: Identity, commit: bool, client_version: int
    ) -> Identity:
        """Commit or abort; who the producer is afterwards."""
        return await self.coordinator.end(id, by, commit, client_version)

    async def join_offsets(self, session: Session, id: str, by: Identity, group: str) -> None:
        """Make the offsets of *group* part of a transaction; return once that is safe."""
        await self._offsets.ensure()  # the partition that joins is one of the groups' topic
        joined = self.coordinator.join(id, by, {self._place_of(group)}, 0)
        if joined is not None:
            await asyncio.shield(joined)

    async def commit_offsets(
        self, session: Session, id: str, by: Identity, group: str, commit: "Commit", client_version: int
    ) -> "Done":
        """Keep *commit* once the transaction commits; `Done` tells what could not be kept."""
        await self._offsets.ensure()
        places = {self._place_of(group)}
        if client_version >= IMPLICIT:
            joined = self.coordinator.join(id, by, places, client_version)
        else:
            joined = self.coordinator.check(id, by, places)
        if joined is not None:
            await asyncio.shield(joined)
            self.coordinator.check(id, by, places)  # it may have ended while we waited
        return await self._groups.commit_offsets(group, replace(commit, producer=by))

    def describe(self, session: Session, id: str) -> Transaction:
        return self.coordinator.describe(id)

    def listed(self, session: Session) -> list[Listed]:
        return self.coordinator.listed()

    def producers(self, session: Session, topic: str, index: int) -> list[Described]:
        """Who writes to a partition."""
        return self._topics.hosted(topic, index).partition.producers_described()

    def write_marker(
        self,
        session: Session,
        place: Place,
        marker: Marker,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
    ) -> "asyncio.Future[None]":
        """End a transaction in one partition, whatever its coordinator knows; done when it is safe."""
        return self._markers.append(place, marker, producer_id, epoch, coordinator_epoch)

    def _place_of(self, group: str) -> Place:
        """Where the offsets of *group* are written."""
        return Place(self._offsets.name, self._groups.partition_of(group))

    def _layout(self) -> Layout:
        config = self._config()
        return Layout(config.state_topic_num_partitions, config.state_topic_segment_bytes)
