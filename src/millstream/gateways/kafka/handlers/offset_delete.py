"""OffsetDelete (key 47), version 0: forget how far a group had come in some partitions.

Behaviour
- GROUP_SUBSCRIBED_TO_TOPIC for topics that members read. Consumers tell what they read; for members of
  other protocols nobody but they knows, so their group must be empty: NON_EMPTY_GROUP.
- GROUP_ID_NOT_FOUND if there is no such group. Forgetting what was never committed is no error.
"""

import asyncio
from collections.abc import Awaitable
from functools import partial

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.outcomes import Done
from millstream.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(
    broker: Broker, session: Session, request: OffsetDeleteRequest, version: int
) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
    partitions = [
        (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    ]
    deleted = broker.groups.delete_offsets(request.group_id, partitions)
    return once_settled(deleted, partial(_answer, request=request))


def _answer(deleted: "asyncio.Future[Done]", request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    try:
        errors = deleted.result().errors
    except Refused as refusal:
        return OffsetDeleteResponse(error_code=refusal.code)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=each.partition_index,
                        error_code=errors.get((topic.name, each.partition_index), ErrorCode.NONE),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
