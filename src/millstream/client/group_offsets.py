"""How far groups have read: kept by their coordinator, for members and for administrators alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

from millstream.client.connection import Connection
from millstream.client.refusals import check
from millstream.client.topics import TopicPartition
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroupTopic,
    OffsetFetchResponseTopic,
)

_BY_NAME: Final = 9  # the last version of both that names topics


@final
@dataclass(frozen=True)
class Member:
    """Who commits. Without a member id it is nobody in the group: allowed while the group is empty."""

    group: str
    id: str = ""
    generation: int = -1
    instance_id: str | None = None


async def commit_offsets(
    connection: Connection, member: Member, offsets: Mapping[TopicPartition, int], *, timeout: float = 30.0
) -> None:
    """Tell *member*'s coordinator to remember *offsets*; Refused if it will not for any of them."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition in sorted(offsets):
        one = OffsetCommitRequestPartition(
            partition_index=partition.partition, committed_offset=offsets[partition], committed_metadata=""
        )
        topics.setdefault(partition.topic, []).append(one)
    request = OffsetCommitRequest(
        group_id=member.group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.id,
        group_instance_id=member.instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
    )
    said = await connection.request(request, OffsetCommitResponse, at_most=_BY_NAME, timeout=timeout)
    for topic in said.topics:
        for answer in topic.partitions:
            where = TopicPartition(topic.name, answer.partition_index)
            check(answer.error_code, f"commit of group {member.group!r} for {where}")


async def fetch_offsets(
    connection: Connection, group: str, partitions: Iterable[TopicPartition] | None, *, timeout: float = 30.0
) -> dict[TopicPartition, int]:
    """What *group* has committed for *partitions*, or for all if None; without those it has not."""
    topics: dict[str, list[int]] | None = None
    if partitions is not None:
        topics = {}
        for partition in sorted(partitions):
            topics.setdefault(partition.topic, []).append(partition.partition)
    said = await connection.request(
        _request(group, topics), OffsetFetchResponse, at_most=_BY_NAME, timeout=timeout
    )
    answer = said.groups[0] if said.groups else said
    check(answer.error_code, f"offsets of group {group!r}")
    return _found(group, answer.topics)


def _request(group: str, topics: dict[str, list[int]] | None) -> OffsetFetchRequest:
    """Says the same twice: up to version 7 for one group, after that for a list of them."""
    if topics is None:
        return OffsetFetchRequest(group, None, [OffsetFetchRequestGroup(group, topics=None)])
    return OffsetFetchRequest(
        group,
        [OffsetFetchRequestTopic(name, each) for name, each in topics.items()],
        [
            OffsetFetchRequestGroup(
                group,
                topics=[
                    OffsetFetchRequestGroupTopic(name, partition_indexes=each)
                    for name, each in topics.items()
                ],
            )
        ],
    )


def _found(
    group: str, topics: list[OffsetFetchResponseTopic] | list[OffsetFetchResponseGroupTopic]
) -> dict[TopicPartition, int]:
    found = {}
    for topic in topics:
        for answer in topic.partitions:
            where = TopicPartition(topic.name, answer.partition_index)
            check(answer.error_code, f"offset of group {group!r} for {where}")
            if answer.committed_offset >= 0:
                found[where] = answer.committed_offset
    return found
