"""CreatePartitions (key 37), versions 0 to 3: give topics more partitions, never fewer.

Behaviour
- One answer for each topic, in order; an assignment may only name this node.

Versions
- 2   flexible
- 3   over its quota for changes a client is refused (89); older ones are only made to wait
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsRequestTopic,
    CreatePartitionsResponse,
    CreatePartitionsResponseTopic,
)

_KNOWS_QUOTAS_FROM: Final = 3


async def handle(
    broker: Broker, session: Session, request: CreatePartitionsRequest, version: int
) -> CreatePartitionsResponse:
    response = CreatePartitionsResponse()
    seen: set[str] = set()
    for topic in request.topics:
        answer = CreatePartitionsResponseTopic(name=topic.name)
        response.results.append(answer)
        try:
            if topic.name in seen:
                raise Refused(
                    ErrorCode.INVALID_REQUEST, f"topic {topic.name!r} is named twice in this request"
                )
            seen.add(topic.name)
            _check_assignments(broker, topic)
            strict = version >= _KNOWS_QUOTAS_FROM
            await broker.grow_topic(session, topic.name, topic.count, request.validate_only, strict=strict)
        except Refused as refusal:
            answer.error_code = refusal.code
            answer.error_message = refusal.detail
    return response


def _check_assignments(broker: Broker, topic: CreatePartitionsRequestTopic) -> None:
    if not topic.assignments:
        return
    added = topic.count - broker.topics.topic(topic.name).partitions
    if len(topic.assignments) != added or any(
        each.broker_ids != [broker.node_id] for each in topic.assignments
    ):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} new partitions need {added} assignments, each to the only broker, {broker.node_id}",
        )
