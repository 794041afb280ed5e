"""The cluster as its brokers describe it: who is there, and who leads what."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, final

from millstream.errors import ErrorCode, Refused


class TopicPartition(NamedTuple):
    """A partition's name. Sorts by topic, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@final
@dataclass(frozen=True)
class Node:
    """A broker and the address it wants to be called at."""

    id: int
    host: str
    port: int
    rack: str | None = None


@final
@dataclass(frozen=True)
class Partition:
    """Who keeps a partition; *leader* is None while there is none."""

    index: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()


@final
@dataclass(frozen=True)
class Topic:
    """A topic, or with *error* why nothing is known of it."""

    name: str
    id: bytes
    internal: bool
    partitions: tuple[Partition, ...]
    error: ErrorCode = ErrorCode.NONE

    @property
    def uuid(self) -> str:
        """The id as Kafka's tools write it."""
        return urlsafe_b64encode(self.id).rstrip(b"=").decode()

    def check(self) -> "Topic":
        """This topic; Refused if the broker would not describe it."""
        if self.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(self.error, f"no topic {self.name!r}")
        if self.error is not ErrorCode.NONE:
            raise Refused(self.error, f"topic {self.name!r}")
        return self


@final
@dataclass(frozen=True)
class Metadata:
    """The cluster at one moment, with the topics that were asked for."""

    cluster_id: str | None = None
    controller: int | None = None
    nodes: Mapping[int, Node] = field(default_factory=dict)
    topics: Mapping[str, Topic] = field(default_factory=dict)

    def leader(self, partition: TopicPartition) -> int | None:
        """The leader's id, if the partition and its leader are known."""
        topic = self.topics.get(partition.topic)
        if topic is None or not 0 <= partition.partition < len(topic.partitions):
            return None
        return topic.partitions[partition.partition].leader

    def merged(self, newer: "Metadata") -> "Metadata":
        """*newer*, with what only this one knows of topics that *newer* was not asked about."""
        return Metadata(newer.cluster_id, newer.controller, newer.nodes, {**self.topics, **newer.topics})
