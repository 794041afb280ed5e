"""The cluster as one immutable value.

Whoever holds an image holds the whole truth of one moment: it is replaced,
never changed, so it may be read across an await. Topics are kept in the
registry under `topics/<name>`, as JSON.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, final
from uuid import UUID

TOPIC_PREFIX: Final = "topics/"
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
QUEUES_TOPIC: Final = "__queue_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, QUEUES_TOPIC})


@final
@dataclass(frozen=True)
class Topic:
    """One topic as agreed on; *configs* are its own overrides, by Kafka's names."""

    name: str
    id: UUID
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    @property
    def key(self) -> str:
        return TOPIC_PREFIX + self.name

    def to_json(self) -> bytes:
        return json.dumps(
            {
                "name": self.name,
                "id": str(self.id),
                "partitions": self.partitions,
                "configs": dict(self.configs),
            }
        ).encode()

    @classmethod
    def from_json(cls, value: bytes) -> "Topic":
        fields = json.loads(value)
        return cls(fields["name"], UUID(fields["id"]), fields["partitions"], fields["configs"])


@final
@dataclass(frozen=True)
class Image:
    """Every topic by name, and every name by the 16 bytes of its topic's id."""

    topics: Mapping[str, Topic] = field(default_factory=dict)
    names: Mapping[bytes, str] = field(default_factory=dict)

    def with_topics(self, topics: Iterable[Topic]) -> "Image":
        """This image with *topics* added, or put in the place of those of the same name."""
        changed = {topic.name: topic for topic in topics}
        gone = {self.topics[name].id.bytes for name in changed if name in self.topics}
        names = {id: name for id, name in self.names.items() if id not in gone} if gone else dict(self.names)
        names.update((topic.id.bytes, topic.name) for topic in changed.values())
        return replace(self, topics={**self.topics, **changed}, names=names)

    def without_topic(self, name: str) -> "Image":
        gone = self.topics[name]
        return replace(
            self,
            topics={other: topic for other, topic in self.topics.items() if other != name},
            names={id: other for id, other in self.names.items() if id != gone.id.bytes},
        )

    @property
    def partition_count(self) -> int:
        return sum(topic.partitions for topic in self.topics.values())
