"""OffsetFetch (key 9), versions 1 to 10: how far a group had come.

Behaviour
- Where nothing is committed: offset -1, leader epoch -1, metadata "", and no error, whether or not there is
  such a group or partition.
- Only committed offsets are told: one just written is waited for.

Versions
- 2   null topics ask for all there are; an error of its own for the group
- 3   throttle time
- 5   leader epochs
- 6   flexible
- 7   require_stable: UNSTABLE_OFFSET_COMMIT where an open transaction would set an offset
- 8   many groups at once
- 9   member id and epoch of a member of the newer protocol: STALE_MEMBER_EPOCH if it is in another by now
- 10  topic ids; UNKNOWN_TOPIC_ID where there is no such topic
"""

import asyncio
from collections.abc import Awaitable, Mapping, Set
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import CommittedOffset
from millstream.groups.outcomes import Fetched
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseGroupPartition,
    OffsetFetchResponseGroupTopic,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

_GROUP_ERROR_FROM: Final = 2
_MANY_FROM: Final = 8
_IDS_FROM: Final = 10
_NONE: Final = CommittedOffset(offset=-1, leader_epoch=-1, metadata="", committed_ms=-1)

Asked = tuple[OffsetFetchRequestGroup, "asyncio.Future[Fetched]"]


def handle(
    broker: Broker, session: Session, request: OffsetFetchRequest, version: int
) -> Awaitable[OffsetFetchResponse]:
    """Ask every group before returning; the awaitable only waits for what is being written."""
    groups = request.groups if version >= _MANY_FROM else [_as_group(request)]
    asked = [(group, _ask(broker, group, version)) for group in groups]
    answer = _answer_many if version >= _MANY_FROM else _answer_one
    return answer(broker, asked, version, request.require_stable)


def _as_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """A request of the time before there could be many groups, as one with one."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestGroupTopic(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _ask(broker: Broker, group: OffsetFetchRequestGroup, version: int) -> "asyncio.Future[Fetched]":
    if group.topics is None:
        return broker.groups.fetch_offsets(group.group_id, None, group.member_id or "", group.member_epoch)
    names = [(_name(broker, topic, version), topic) for topic in group.topics]
    partitions = [
        (name, index) for name, topic in names if name is not None for index in topic.partition_indexes
    ]
    return broker.groups.fetch_offsets(group.group_id, partitions, group.member_id or "", group.member_epoch)


def _name(broker: Broker, topic: OffsetFetchRequestGroupTopic, version: int) -> str | None:
    if version < _IDS_FROM:
        return topic.name
    try:
        return broker.topics.name_of(topic.topic_id)
    except Refused:
        return None


async def _answer_many(broker: Broker, asked: list[Asked], version: int, stable: bool) -> OffsetFetchResponse:
    await asyncio.gather(*(fetched for _, fetched in asked), return_exceptions=True)
    return OffsetFetchResponse(
        groups=[_group(broker, group, fetched, version, stable) for group, fetched in asked]
    )


async def _answer_one(broker: Broker, asked: list[Asked], version: int, stable: bool) -> OffsetFetchResponse:
    group, fetched = asked[0]
    await asyncio.gather(fetched, return_exceptions=True)
    answer = _group(broker, group, fetched, version, stable)
    error = ErrorCode(answer.error_code)
    if error and version < _GROUP_ERROR_FROM:
        answer.topics = [_refused(topic, error) for topic in group.topics or []]
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in answer.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=error)


def _group(
    broker: Broker,
    group: OffsetFetchRequestGroup,
    fetched: "asyncio.Future[Fetched]",
    version: int,
    stable: bool,
) -> OffsetFetchResponseGroup:
    try:
        result = fetched.result()
    except Refused as refusal:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=refusal.code)
    offsets = result.offsets
    topics = _all(broker, offsets, version) if group.topics is None else group.topics
    answers: list[OffsetFetchResponseGroupTopic] = []
    for topic in topics:
        name = _name(broker, topic, version)
        if name is None:
            answers.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            known = {index: offsets.get((name, index)) for index in topic.partition_indexes}
            unstable = {index for index in known if stable and (name, index) in result.unstable}
            answers.append(_topic(topic, known, unstable))
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=answers)


def _all(
    broker: Broker, offsets: Mapping[tuple[str, int], CommittedOffset | None], version: int
) -> list[OffsetFetchRequestGroupTopic]:
    """What one would have to ask for to be told all *offsets*."""
    topics: dict[str, OffsetFetchRequestGroupTopic] = {}
    for name, index in offsets:
        if name not in topics:
            known = broker.topics.image.topics.get(name)
            if known is None and version >= _IDS_FROM:
                continue  # on its way out: there is no id to tell it by
            topics[name] = OffsetFetchRequestGroupTopic(name=name)
            if known is not None:
                topics[name].topic_id = known.id.bytes
        topics[name].partition_indexes.append(index)
    return list(topics.values())


def _topic(
    topic: OffsetFetchRequestGroupTopic,
    offsets: Mapping[int, CommittedOffset | None],
    unstable: Set[int] = frozenset(),
) -> OffsetFetchResponseGroupTopic:
    partitions = []
    for index in topic.partition_indexes:
        offset = (None if index in unstable else offsets[index]) or _NONE
        partitions.append(
            OffsetFetchResponseGroupPartition(
                partition_index=index,
                committed_offset=offset.offset,
                committed_leader_epoch=offset.leader_epoch,
                metadata=offset.metadata,
                error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT if index in unstable else ErrorCode.NONE,
            )
        )
    return OffsetFetchResponseGroupTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _refused(topic: OffsetFetchRequestGroupTopic, error: ErrorCode) -> OffsetFetchResponseGroupTopic:
    answer = _topic(topic, dict.fromkeys(topic.partition_indexes))
    for partition in answer.partitions:
        partition.error_code = error
    return answer
