"""What a test wants to know of a node that a platform has used."""

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin._config import ConfigResource
from tests.compat.confluent.clients import SECONDS, admin
from tests.compat.node import Node


def configs(node: Node, topic: str) -> dict[str, str]:
    client, asked = admin(node.bootstrap), ConfigResource(ConfigResource.Type.TOPIC, topic)
    told = client.describe_configs([asked])[asked].result(SECONDS)
    return {name: entry.value for name, entry in told.items()}


def partitions(node: Node, topic: str) -> int:
    """How many *topic* has; none if there is no such topic."""
    told = admin(node.bootstrap).list_topics(timeout=SECONDS).topics.get(topic)
    return 0 if told is None else len(told.partitions)


def committed(node: Node, group: str) -> dict[tuple[str, int], int]:
    """How far *group* has come, by topic and partition."""
    client, asked = admin(node.bootstrap), ConsumerGroupTopicPartitions(group)
    told = client.list_consumer_group_offsets([asked])[group].result(SECONDS)
    return {(each.topic, each.partition): each.offset for each in told.topic_partitions}
