"""DescribeProducers (key 61), version 0: who writes to a partition, and whose transactions are open there.

Behaviour
- Each partition has an error of its own.
- current_txn_start_offset is -1 for a producer that has no transaction open there.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersResponsePartition,
    DescribeProducersResponseProducer,
    DescribeProducersResponseTopic,
)


def handle(
    broker: Broker, session: Session, request: DescribeProducersRequest, version: int
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponseTopic(
                name=topic.name,
                partitions=[
                    _partition(broker, session, topic.name, index) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _partition(
    broker: Broker, session: Session, topic: str, index: int
) -> DescribeProducersResponsePartition:
    try:
        producers = broker.transactions.producers(session, topic, index)
    except Refused as refusal:
        return DescribeProducersResponsePartition(
            partition_index=index, error_code=refusal.code, error_message=refusal.detail
        )
    return DescribeProducersResponsePartition(
        partition_index=index,
        active_producers=[
            DescribeProducersResponseProducer(
                producer_id=each.producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_ms,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=each.transaction_start,
            )
            for each in producers
        ],
    )
