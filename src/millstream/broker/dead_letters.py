"""Where messages go that a group could not cope with: a topic beside theirs."""

from collections.abc import Callable
from typing import final

from millstream.broker.topics import NewTopic, Topics
from millstream.broker.write import Write
from millstream.cluster.image import Topic
from millstream.errors import ErrorCode, Refused
from millstream.queues.config import QueueConfig
from millstream.records.build import Headers, NewRecord
from millstream.records.expiry import TTL_HEADER
from millstream.records.read import Record


@final
class DeadLetters:
    def __init__(self, topics: Topics, writes: Write, config: Callable[[], QueueConfig]) -> None:
        self._topics = topics
        self._writes = writes
        self._config = config

    def has_its_own(self, topic: str) -> bool:
        """Whether messages are moved from *topic*: not from where the dead are already."""
        suffix = self._config().dead_letter_suffix
        return bool(suffix) and not topic.endswith(suffix)

    async def bury(self, topic: Topic, group: str, partition: int, record: Record, deliveries: int) -> None:
        """Copy *record* to the dead-letter topic of *topic*; returns once it is durable there."""
        name = topic.name + self._config().dead_letter_suffix
        if name not in self._topics:
            (made,) = await self._topics.create([NewTopic(name, 1)])
            if isinstance(made, Refused) and made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise made
        await self._writes.room()
        headers = _headers(topic.name, group, partition, record, deliveries)
        hosted = self._topics.hosted(name, 0)
        _, done = self._writes.add([(hosted, NewRecord(record.key, record.value, headers))])
        await done


def _headers(topic: str, group: str, partition: int, record: Record, deliveries: int) -> Headers:
    """Its own, but for the time to live, which is over; and where it comes from."""
    return (
        *(header for header in record.headers if header[0] != TTL_HEADER),
        ("millstream-dead-topic", topic.encode()),
        ("millstream-dead-partition", str(partition).encode()),
        ("millstream-dead-offset", str(record.offset).encode()),
        ("millstream-dead-group", group.encode()),
        ("millstream-dead-deliveries", str(deliveries).encode()),
    )
