"""DeleteTopics (key 20), versions 1 to 6: delete topics and their data.

Behaviour
- One answer for each topic asked for, in order. A topic's data is gone when the answer is sent.

Versions
- 4   flexible
- 5   error_message; over its quota for changes a client is refused (89), older ones are made to wait
- 6   by name or by id
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsRequestTopic,
    DeleteTopicsResponse,
    DeleteTopicsResponseTopic,
)
from millstream.wire.primitives import ZERO_UUID

_BY_ID_FROM: Final = 6
_KNOWS_QUOTAS_FROM: Final = 5


async def handle(
    broker: Broker, session: Session, request: DeleteTopicsRequest, version: int
) -> DeleteTopicsResponse:
    if version >= _BY_ID_FROM:
        asked = request.topics
    else:
        asked = [DeleteTopicsRequestTopic(name=name) for name in request.topic_names]
    response = DeleteTopicsResponse()
    for each in asked:
        answer = DeleteTopicsResponseTopic(name=each.name, topic_id=each.topic_id)
        response.responses.append(answer)
        try:
            topic = await broker.delete_topic(
                session, _name(broker, each), strict=version >= _KNOWS_QUOTAS_FROM
            )
        except Refused as refusal:
            answer.error_code = refusal.code
            answer.error_message = refusal.detail
        else:
            answer.name, answer.topic_id = topic.name, topic.id.bytes
    return response


def _name(broker: Broker, asked: DeleteTopicsRequestTopic) -> str:
    if asked.topic_id != ZERO_UUID:
        if asked.name is not None:
            raise Refused(ErrorCode.INVALID_REQUEST, "give a topic's name or its id, not both")
        return broker.topics.name_of(asked.topic_id)
    if asked.name is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "a topic with neither name nor id")
    return asked.name
