"""OffsetForLeaderEpoch (key 23), versions 2 to 4: where an epoch ended, to tell if two logs are the same.

Behaviour
- The current epoch ends at the log's end; an epoch not known yet gives -1, -1.
- Otherwise the largest epoch up to the one asked for, and where the next one began.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderEpochResponsePartition,
    OffsetForLeaderEpochResponseTopic,
)


def handle(
    broker: Broker, session: Session, request: OffsetForLeaderEpochRequest, version: int
) -> OffsetForLeaderEpochResponse:
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        result = OffsetForLeaderEpochResponseTopic(topic=topic.topic)
        response.topics.append(result)
        for partition in topic.partitions:
            answer = OffsetForLeaderEpochResponsePartition(partition=partition.partition)
            result.partitions.append(answer)
            try:
                answer.leader_epoch, answer.end_offset = broker.end_of_epoch(
                    session,
                    topic.topic,
                    partition.partition,
                    partition.current_leader_epoch,
                    partition.leader_epoch,
                )
            except Refused as refusal:
                answer.error_code = refusal.code
    return response
