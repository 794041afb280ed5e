"""What the driver of a pipeline asks of the cluster and tells it: places in topics, and progress."""

from collections.abc import Iterable, Mapping
from typing import final

from millstream.cli.places import Places, find_places
from millstream.cli.session import existing_topic
from millstream.client.admin import Admin
from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client
from millstream.client.offsets import LATEST, list_offsets
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused
from millstream.pipeline.home import Offsets
from millstream.spark.blocking import Blocking
from millstream.spark.connection import Reach


@final
class Cluster:
    """A client of the cluster for code that does not await."""

    def __init__(self, reach: Reach) -> None:
        self._blocking = Blocking(reach)

    def close(self) -> None:
        self._blocking.close()

    def create_missing(self, topics: Iterable[str]) -> None:
        """Create those of *topics* that are not there, with as many partitions as is usual."""
        for name in topics:
            self._blocking.run(_create_missing(self._blocking.client, name))

    def places(self, topic: str, text: str) -> Places:
        """What *text*, in the offset grammar, means in each partition of *topic*."""
        return self._blocking.run(_places(self._blocking.client, topic, text))

    def start(self, topic: str, text: str) -> Offsets:
        """Where reading *topic* begins if it begins at *text*."""
        return {at: place.span.first for at, place in self.places(topic, text).items()}

    def ends(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Where *partitions* end for who reads what is committed."""
        wanted = dict.fromkeys(partitions, LATEST)
        if not wanted:
            return {}
        found = self._blocking.run(list_offsets(self._blocking.client, wanted, committed_only=True))
        return {at: offset or 0 for at, offset in found.items()}

    def committed(self, group: str) -> Offsets:
        """What *group* has committed."""
        return self._blocking.run(GroupAdmin(self._blocking.client).offsets(group))

    def publish(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit *offsets* for *group*."""
        if offsets:
            self._blocking.run(GroupAdmin(self._blocking.client).set_offsets(group, offsets))


async def _create_missing(client: Client, name: str) -> None:
    try:
        await client.topic(name)
    except Refused as refusal:
        if refusal.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        await Admin(client).create_topic(name)


async def _places(client: Client, topic: str, text: str) -> Places:
    found = await existing_topic(client, topic)
    partitions = [TopicPartition(topic, each.index) for each in found.partitions]
    return await find_places(client, text, partitions, committed_only=True)
