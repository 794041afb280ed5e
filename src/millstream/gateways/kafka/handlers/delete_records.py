"""DeleteRecords (key 21), versions 0 to 2: give up all records before an offset.

Behaviour
- -1 stands for all that is committed; an offset at or below the first one changes nothing and is no error.
- The answer tells the new first offset, which survives a restart.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.wire.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsResponsePartition,
    DeleteRecordsResponseTopic,
)


async def handle(
    broker: Broker, session: Session, request: DeleteRecordsRequest, version: int
) -> DeleteRecordsResponse:
    response = DeleteRecordsResponse()
    for topic in request.topics:
        result = DeleteRecordsResponseTopic(name=topic.name)
        response.topics.append(result)
        for partition in topic.partitions:
            answer = DeleteRecordsResponsePartition(
                partition_index=partition.partition_index, low_watermark=-1
            )
            result.partitions.append(answer)
            try:
                answer.low_watermark = await broker.delete_records(
                    session, topic.name, partition.partition_index, partition.offset
                )
            except Refused as refusal:
                answer.error_code = refusal.code
    return response
