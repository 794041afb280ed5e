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
_WITH_RETENTION: Final = 4  # the last OffsetCommit version that says how long


@final
@dataclass(frozen=True)
class Member:
    """Who commits. Without a member id it is nobody in the group: allowed while the group is empty."""

    group: str
    id: str = ""
    generation: int = -1
    instance_id: str | None = None


async def commit_offsets(
    connection: Connection,
    member: Member,
    offsets: Mapping[TopicPartition, int],
    *,
    retention_ms: int = -1,
    timeout: float = 30.0,
) -> None:
    """Tell *member*'s coordinator to remember *offsets*; Refused if it will not for any of them.

    It does so as long as it usually does, or for *retention_ms*.
    """
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
        group_instance_id=member.instance_id if retention_ms < 0 else None,
        retention_time_ms=retention_ms,
        topics=[OffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
    )
    at_most = _BY_NAME if retention_ms < 0 else _WITH_RETENTION
    said = await connection.request(request, OffsetCommitResponse, at_most=at_most, timeout=timeout)
    for topic in said.topics:
        for answer in topic.partitions:
            where = TopicPartition(topic.name, answer.partition_index)
            check(answer.error_code, f"commit of group {member.group!r} for {where}")


async def fetch_offsets(
    connection: Connection,
    group: str,
    partitions: Iterable[TopicPartition] | None,
    *,
    stable: bool = False,
    timeout: float = 30.0,
) -> dict[TopicPartition, int]:
    """What *group* has committed for *partitions*, or for all if None; without those it has not.

    If it must be *stable*, one that a transaction is about to change is refused,
    with UNSTABLE_OFFSET_COMMIT, until the transaction has ended.
    """
    topics: dict[str, list[int]] | None = None
    if partitions is not None:
        topics = {}
        for partition in sorted(partitions):
            topics.setdefault(partition.topic, []).append(partition.partition)
    said = await connection.request(
        _request(group, topics, stable), OffsetFetchResponse, at_most=_BY_NAME, timeout=timeout
    )
    answer = said.groups[0] if said.groups else said
    check(answer.error_code, f"offsets of group {group!r}")
    return _found(group, answer.topics)


def _request(group: str, topics: dict[str, list[int]] | None, stable: bool) -> OffsetFetchRequest:
    """Says the same twice: up to version 7 for one group, after that for a list of them."""
    if topics is None:
        return OffsetFetchRequest(group, None, [OffsetFetchRequestGroup(group, topics=None)], stable)
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
        stable,
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
