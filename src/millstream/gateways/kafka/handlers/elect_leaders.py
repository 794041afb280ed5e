"""ElectLeaders (key 43), versions 0 to 2: have partitions led by the replica they should be led by.

Behaviour
- Each partition that is named has an answer; ELECTION_NOT_NEEDED says that all is well.
- No topics at all means every partition, and then only those are told that need an election: none.

Versions
- 1   election_type: preferred (0) or unclean (1)
- 2   flexible
"""

from typing import Final

from millstream.broker import placement
from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    ElectLeadersResponsePartition,
    ElectLeadersResponseTopic,
)

_KINDS: Final = (0, 1)


def handle(
    broker: Broker, session: Session, request: ElectLeadersRequest, version: int
) -> ElectLeadersResponse:
    if request.election_type not in _KINDS:
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ElectLeadersResponse(
        replica_election_results=[
            ElectLeadersResponseTopic(
                topic.topic, [_elect(broker, topic.topic, index) for index in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ]
    )


def _elect(broker: Broker, topic: str, index: int) -> ElectLeadersResponsePartition:
    try:
        placement.elect(broker.topics, topic, index)
    except Refused as refusal:
        return ElectLeadersResponsePartition(index, refusal.code, refusal.detail)
    return ElectLeadersResponsePartition(index, 0, None)
