"""OffsetCommit (key 8), versions 2 to 10: how far a group has come.

Behaviour
- A member commits in its own generation, and through a rebalance until partitions are handed out anew.
- Without a generation (-1) anyone may commit, as long as the group has no members.
- Metadata is kept as it came, up to offset.metadata.max.bytes; null becomes "".
- What is wrong with one partition never touches its neighbours; what is wrong with the member is said of all.

Versions
- 2-4 retention_time_ms: these offsets expire so long after the commit, whatever the broker's setting
- 3   throttle time
- 6   leader epochs
- 7   static members
- 8   flexible
- 9   GROUP_ID_NOT_FOUND for a group that does not exist; before, ILLEGAL_GENERATION.
      Members of the newer protocol commit in their epoch, or in the one before what they still have:
      STALE_MEMBER_EPOCH otherwise
- 10  topic ids
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.offsets import Commit, NewOffset
from millstream.groups.outcomes import Done
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_NOT_FOUND_FROM: Final = 9
_EPOCHS_FROM: Final = 9
_IDS_FROM: Final = 10

Answers = list[tuple[tuple[str, int], OffsetCommitResponsePartition]]


def handle(
    broker: Broker, session: Session, request: OffsetCommitRequest, version: int
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    response = OffsetCommitResponse()
    answers: Answers = []
    offsets: list[NewOffset] = []
    for topic in request.topics:
        result = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(result)
        name, error = _name(broker, topic, version)
        for partition in topic.partitions:
            answer = OffsetCommitResponsePartition(
                partition_index=partition.partition_index, error_code=error
            )
            result.partitions.append(answer)
            if error:
                continue
            answers.append(((name, partition.partition_index), answer))
            offsets.append(
                NewOffset(
                    topic=name,
                    partition=partition.partition_index,
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.committed_metadata,
                )
            )
    commit = Commit(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id_or_member_epoch,
        retention_ms=request.retention_time_ms,
        knows_epochs=version >= _EPOCHS_FROM,
        offsets=tuple(offsets),
    )
    committed = broker.groups.commit_offsets(request.group_id, commit)
    return once_settled(committed, partial(_answer, response=response, answers=answers, version=version))


def _name(broker: Broker, topic: OffsetCommitRequestTopic, version: int) -> tuple[str, ErrorCode]:
    if version < _IDS_FROM:
        return topic.name, ErrorCode.NONE
    try:
        return broker.topics.name_of(topic.topic_id), ErrorCode.NONE
    except Refused as refusal:
        return "", refusal.code


def _answer(
    committed: "asyncio.Future[Done]", response: OffsetCommitResponse, answers: Answers, version: int
) -> OffsetCommitResponse:
    try:
        done = committed.result()
    except Refused as refusal:
        code = refusal.code
        if code is ErrorCode.GROUP_ID_NOT_FOUND and version < _NOT_FOUND_FROM:
            code = ErrorCode.ILLEGAL_GENERATION
        for _, answer in answers:
            answer.error_code = code
        return response
    for partition, answer in answers:
        answer.error_code = done.errors.get(partition, ErrorCode.NONE)
    return response
