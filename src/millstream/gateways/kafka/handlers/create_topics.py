"""CreateTopics (key 19), versions 2 to 7: make topics.

Behaviour
- One answer for each topic asked for, in order; one that is refused never touches its neighbours.
- validate_only does everything but create.

Versions
- 6   over its quota for changes a client is refused (89); older ones are only made to wait
- 5   flexible; the answer tells partitions, replicas and configs (never null when created)
- 7   topic ids
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.broker.topics import NewTopic
from millstream.cluster.image import Topic
from millstream.errors import Refused
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
    CreateTopicsResponseConfig,
    CreateTopicsResponseTopic,
)
from millstream.wire.primitives import ZERO_UUID

_KNOWS_QUOTAS_FROM: Final = 6


async def handle(
    broker: Broker, session: Session, request: CreateTopicsRequest, version: int
) -> CreateTopicsResponse:
    asked = [_new_topic(topic) for topic in request.topics]
    strict = version >= _KNOWS_QUOTAS_FROM
    results = await broker.create_topics(session, asked, request.validate_only, strict=strict)
    response = CreateTopicsResponse()
    for new, result in zip(asked, results, strict=True):
        if isinstance(result, Refused):
            answer = CreateTopicsResponseTopic(
                name=new.name, error_code=result.code, error_message=result.detail, configs=[]
            )
        else:
            answer = _created(broker, session, result, request.validate_only)
        response.topics.append(answer)
    return response


def _new_topic(topic: CreateTopicsRequestTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        {config.name: config.value for config in topic.configs},
        {each.partition_index: each.broker_ids for each in topic.assignments},
    )


def _created(
    broker: Broker, session: Session, topic: Topic, validate_only: bool
) -> CreateTopicsResponseTopic:
    return CreateTopicsResponseTopic(
        name=topic.name,
        topic_id=ZERO_UUID if validate_only else topic.id.bytes,
        error_message=None,
        num_partitions=topic.partitions,
        replication_factor=1,
        configs=[
            CreateTopicsResponseConfig(
                name=described.entry.name,
                value=described.entry.value,
                read_only=described.read_only,
                config_source=described.entry.source,
                is_sensitive=described.entry.setting.secret,
            )
            for described in broker.configs.describe_configs(topic.configs)
        ],
    )
