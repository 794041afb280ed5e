"""Metadata (key 3), versions 0 to 13: brokers, topics and who leads their partitions.

Behaviour
- Version 0: an empty list means all topics. Later: null means all, empty none.
- A topic that is not there is created if client and broker allow it, and the answer waits for that.
- One topic's refusal never touches its neighbours.

Versions
- 1   controller, racks, internal topics
- 2   cluster id
- 4   allow_auto_topic_creation
- 5   offline replicas
- 7   leader epochs
- 8   authorized operations
- 9   flexible
- 10  topic ids in the answer
- 12  topics may be asked for by id
- 13  an error for the whole
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.broker.topics import check_name
from millstream.cluster.image import Topic
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.operations import NOT_TOLD, ON_CLUSTER, ON_TOPIC
from millstream.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.wire.primitives import ZERO_UUID

_NULL_IS_ALL_FROM: Final = 1
_BY_ID_FROM: Final = 12
_TOPICS_A_SLICE: Final = 500
_MAX_TOPICS: Final = 100_000


def handle(
    broker: Broker, session: Session, request: MetadataRequest, version: int
) -> MetadataResponse | Awaitable[MetadataResponse]:
    response = _cluster(broker, session)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = ON_CLUSTER
    operations = ON_TOPIC if request.include_topic_authorized_operations else NOT_TOLD
    topics = request.topics
    if topics is None or (version < _NULL_IS_ALL_FROM and not topics):
        asked = [MetadataRequestTopic(name=name) for name in sorted(broker.topics.image.topics)]
    else:
        asked = topics
    if len(asked) > _MAX_TOPICS:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"metadata of {len(asked)} topics at once; ask for {_MAX_TOPICS} at most",
        )
    if len(asked) <= _TOPICS_A_SLICE and all(_is_known(broker, topic) for topic in asked):
        response.topics = [_topic(broker, topic, version, operations) for topic in asked]
        return response
    create = request.allow_auto_topic_creation
    return _with_new_topics(broker, session, asked, version, operations, create, response)


def _cluster(broker: Broker, session: Session) -> MetadataResponse:
    host, port = session.advertised
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.node_id, host=host, port=port, rack=broker.config().rack or None
            )
        ],
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
    )


def _is_known(broker: Broker, topic: MetadataRequestTopic) -> bool:
    return topic.topic_id != ZERO_UUID or (topic.name is not None and topic.name in broker.topics)


async def _with_new_topics(
    broker: Broker,
    session: Session,
    asked: list[MetadataRequestTopic],
    version: int,
    operations: int,
    create: bool,
    response: MetadataResponse,
) -> MetadataResponse:
    for done, topic in enumerate(asked, 1):
        refusal = None
        if create and topic.name and not _is_known(broker, topic):
            try:
                await broker.auto_create_topic(session, topic.name)
            except Refused as refused:
                refusal = refused
        response.topics.append(_topic(broker, topic, version, operations, refusal))
        if done % _TOPICS_A_SLICE == 0:
            await asyncio.sleep(0)
    return response


def _topic(
    broker: Broker,
    asked: MetadataRequestTopic,
    version: int,
    operations: int,
    refusal: Refused | None = None,
) -> MetadataResponseTopic:
    answer = MetadataResponseTopic(name=asked.name, topic_id=asked.topic_id)
    try:
        if refusal is not None:
            raise refusal
        topic = _find(broker, asked, version)
    except Refused as refused:
        answer.error_code = refused.code
        if asked.topic_id != ZERO_UUID or asked.name is None:
            answer.name = None if version >= _BY_ID_FROM else ""
        return answer
    answer.name = topic.name
    answer.topic_id = topic.id.bytes
    answer.is_internal = topic.is_internal
    answer.topic_authorized_operations = operations
    node = [broker.node_id]
    answer.partitions = [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=broker.node_id,
            leader_epoch=0,
            replica_nodes=node,
            isr_nodes=node,
        )
        for index in range(topic.partitions)
    ]
    return answer


def _find(broker: Broker, asked: MetadataRequestTopic, version: int) -> Topic:
    if asked.topic_id != ZERO_UUID:
        if version < _BY_ID_FROM:
            raise Refused(ErrorCode.INVALID_REQUEST, f"topics are asked for by name in version {version}")
        return broker.topics.topic(broker.topics.name_of(asked.topic_id))
    if asked.name is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "a topic with neither name nor id")
    check_name(asked.name)
    return broker.topics.topic(asked.name)
