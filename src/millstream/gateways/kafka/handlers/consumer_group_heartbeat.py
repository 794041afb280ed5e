"""ConsumerGroupHeartbeat (key 68), versions 0 to 1: everything a member of the newer group protocol says.

Behaviour
- Epoch 0 joins, -1 leaves, -2 says that a static member will be back; any other is the member's own.
- What is null, or -1, has not changed since the last time.
- The answer has an assignment only if it is news, or if the member said all there is to say.
- FENCED_MEMBER_EPOCH and UNKNOWN_MEMBER_ID: drop everything and join again. A member that missed our last
  answer may come once more with the epoch before it.
- The first such member to join a classic group of consumers changes the group over, and the others go on.

Versions
- 1   topics by a regular expression, which must match the whole name; the member makes up its own id
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.modern_changes import by_topic
from millstream.groups.outcomes import Beat, Reconciled
from millstream.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseAssignment,
    ConsumerGroupHeartbeatResponseTopic,
)

_OWN_ID_FROM: Final = 1


def handle(
    broker: Broker, session: Session, request: ConsumerGroupHeartbeatRequest, version: int
) -> ConsumerGroupHeartbeatResponse | Awaitable[ConsumerGroupHeartbeatResponse]:
    if version >= _OWN_ID_FROM and not request.member_id:
        return ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.INVALID_REQUEST, error_message="a member makes up its own id"
        )
    owned, topics = request.topic_partitions, request.subscribed_topic_names
    beat = Beat(
        member_id=request.member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=None if topics is None else frozenset(topics),
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None
        if owned is None
        else frozenset((topic.topic_id, index) for topic in owned for index in topic.partitions),
        client_id=session.client_id,
        client_host=f"/{session.client_host}",  # with a slash before it, as Java prints addresses
    )
    return once_settled(broker.groups.hear(request.group_id, beat), _answer)


def _answer(heard: "asyncio.Future[Reconciled]") -> ConsumerGroupHeartbeatResponse:
    try:
        answer = heard.result()
    except Refused as refusal:
        return ConsumerGroupHeartbeatResponse(error_code=refusal.code, error_message=refusal.detail)
    response = ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id, member_epoch=answer.epoch, heartbeat_interval_ms=answer.interval_ms
    )
    if answer.assigned is not None:
        response.assignment = ConsumerGroupHeartbeatResponseAssignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponseTopic(topic_id=id, partitions=indexes)
                for id, indexes in by_topic(answer.assigned).items()
            ]
        )
    return response
