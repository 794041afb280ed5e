"""ListOffsets (key 2), versions 1 to 11: the start, the end, or the offset of a time.

Behaviour
- -1 the end, -2 the start, -3 the record of the latest time, -4 the first kept here, -5 and -6 what was moved
  elsewhere: nothing is; any other the first record of that time or later.
- For who reads committed records the last stable offset is the end.
- The end and the start carry no timestamp; where nothing is found, offset and timestamp are -1.

Versions
- 2   isolation level
- 4   leader epochs
- 6   flexible
- 7   -3;  8  -4;  9  -5;  11  -6
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)

_READ_COMMITTED: Final = 1
_SPECIAL_FROM: Final = {-3: 7, -4: 8, -5: 9, -6: 11}


def handle(
    broker: Broker, session: Session, request: ListOffsetsRequest, version: int
) -> ListOffsetsResponse:
    response = ListOffsetsResponse()
    committed_only = request.isolation_level == _READ_COMMITTED
    for topic in request.topics:
        seen: set[int] = set()
        result = ListOffsetsResponseTopic(name=topic.name)
        response.topics.append(result)
        for partition in topic.partitions:
            answer = ListOffsetsResponsePartition(partition_index=partition.partition_index)
            result.partitions.append(answer)
            try:
                if partition.partition_index in seen:
                    raise Refused(ErrorCode.INVALID_REQUEST, "a partition is named twice")
                seen.add(partition.partition_index)
                _find(broker, session, topic.name, partition, version, committed_only, answer)
            except Refused as refusal:
                answer.error_code = refusal.code
    return response


def _find(
    broker: Broker,
    session: Session,
    topic: str,
    partition: ListOffsetsRequestPartition,
    version: int,
    committed_only: bool,
    answer: ListOffsetsResponsePartition,
) -> None:
    if version < _SPECIAL_FROM.get(partition.timestamp, 0):
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"timestamp {partition.timestamp} has no meaning in version {version}",
        )
    answer.offset, answer.timestamp, answer.leader_epoch = broker.find_offset(
        session,
        topic,
        partition.partition_index,
        partition.timestamp,
        partition.current_leader_epoch,
        committed_only,
    )
