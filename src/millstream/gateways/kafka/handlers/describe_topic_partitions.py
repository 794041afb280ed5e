"""DescribeTopicPartitions (key 75), version 0: partitions of many topics, a page at a time.

Behaviour
- No topics means all. Topics come in the order of their names; a cursor says where the page begins.
- eligible_leader_replicas and last_known_elr are empty, never null: clients fail on null.
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.cluster.image import Topic
from millstream.errors import Refused
from millstream.gateways.kafka.operations import ON_TOPIC
from millstream.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseNextCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

_PAGE_MAX: Final = 2000


def handle(
    broker: Broker, session: Session, request: DescribeTopicPartitionsRequest, version: int
) -> DescribeTopicPartitionsResponse:
    response = DescribeTopicPartitionsResponse()
    left = max(1, min(request.response_partition_limit, _PAGE_MAX))
    names = sorted({topic.name for topic in request.topics} or broker.topics.image.topics)
    cursor = request.cursor
    for name in names:
        first = 0
        if cursor is not None:
            if name < cursor.topic_name:
                continue
            first = max(cursor.partition_index, 0) if name == cursor.topic_name else 0
        if left == 0:
            response.next_cursor = DescribeTopicPartitionsResponseNextCursor(name, 0)
            return response
        try:
            topic = broker.topics.topic(name)
        except Refused as refusal:
            response.topics.append(DescribeTopicPartitionsResponseTopic(error_code=refusal.code, name=name))
            continue
        last = min(topic.partitions, first + left)
        response.topics.append(_described(broker, topic, range(first, last)))
        left -= max(last - first, 0)
        if last < topic.partitions:
            response.next_cursor = DescribeTopicPartitionsResponseNextCursor(name, last)
            return response
    return response


def _described(broker: Broker, topic: Topic, partitions: range) -> DescribeTopicPartitionsResponseTopic:
    node = [broker.node_id]
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id.bytes,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=index,
                leader_id=broker.node_id,
                leader_epoch=0,
                replica_nodes=node,
                isr_nodes=node,
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for index in partitions
        ],
        topic_authorized_operations=ON_TOPIC,
    )
