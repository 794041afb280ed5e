"""AlterPartitionReassignments (key 45), versions 0 and 1: move partitions to other brokers.

Behaviour
- There is one broker: a move to it is done as soon as it is asked for, any other is refused.
- No replicas means to give up a move, and none is ever under way.

Versions
- 1   allow_replication_factor_change: there is but one factor
"""

from collections.abc import Sequence

from millstream.broker import placement
from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    AlterPartitionReassignmentsResponsePartition,
    AlterPartitionReassignmentsResponseTopic,
)


def handle(
    broker: Broker, session: Session, request: AlterPartitionReassignmentsRequest, version: int
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            AlterPartitionReassignmentsResponseTopic(
                topic.name,
                [_move(broker, topic.name, each.partition_index, each.replicas) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _move(
    broker: Broker, topic: str, index: int, replicas: Sequence[int] | None
) -> AlterPartitionReassignmentsResponsePartition:
    try:
        placement.reassign(broker.topics, broker.node_id, topic, index, replicas)
    except Refused as refusal:
        return AlterPartitionReassignmentsResponsePartition(index, refusal.code, refusal.detail)
    return AlterPartitionReassignmentsResponsePartition(index, 0, None)
