"""Administration of groups: who is in them, and how far they have read."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, final

from millstream.client.admin_values import GroupDescription, GroupListing, GroupMember
from millstream.client.cluster import Client
from millstream.client.consumer_protocol import decode_assignment
from millstream.client.group_offsets import Member, commit_offsets, fetch_offsets
from millstream.client.offsets import all_of
from millstream.client.refusals import check
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.wire.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeGroupsResponseMember,
)
from millstream.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

_CONSUMER: Final = "consumer"
_DEAD: Final = "Dead"


@final
class GroupAdmin:
    """What an administrator may ask about groups."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def groups(self) -> list[GroupListing]:
        """Every group of the cluster: each broker tells of those it coordinates."""

        async def attempt() -> list[GroupListing]:
            nodes = (await self.client.metadata([])).nodes
            found = await all_of(self._list(node) for node in sorted(nodes))
            return sorted((each for some in found for each in some), key=lambda each: each.id)

        return await self.client.retry(attempt)

    async def describe(self, group: str) -> GroupDescription:
        """*group*, its state and its members; Refused if there is none."""

        async def attempt() -> GroupDescription:
            node = await self.client.coordinator(group)
            connection = await self.client.to(node)
            request = DescribeGroupsRequest(groups=[group])
            said = (
                await connection.request(request, DescribeGroupsResponse, timeout=self.client.timeout)
            ).groups[0]
            check(said.error_code, f"group {group!r}", said.error_message)
            if said.group_state == _DEAD:  # what older versions say of a group that does not exist
                raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"no group {group!r}")
            members = sorted(
                (_member(said.protocol_type, each) for each in said.members), key=lambda each: each.id
            )
            where = self.client.node(node)
            return GroupDescription(
                group, said.group_state, said.protocol_type, said.protocol_data, where, tuple(members)
            )

        return await self.client.retry(attempt, group=group)

    async def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Everything *group* has committed."""

        async def attempt() -> dict[TopicPartition, int]:
            connection = await self.client.to(await self.client.coordinator(group))
            return await fetch_offsets(connection, group, None, timeout=self.client.timeout)

        return await self.client.retry(attempt, group=group)

    async def set_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int], *, retention_ms: int = -1
    ) -> None:
        """Make *group*, which must have no members, go on from *offsets*, kept as usual or so long."""

        async def attempt() -> None:
            connection = await self.client.to(await self.client.coordinator(group))
            await commit_offsets(
                connection, Member(group), offsets, retention_ms=retention_ms, timeout=self.client.timeout
            )

        await self.client.retry(attempt, group=group)

    async def forget_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> None:
        """Remove what *group* has committed for *partitions*."""
        topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
        for partition in sorted(partitions):
            topics.setdefault(partition.topic, []).append(OffsetDeleteRequestPartition(partition.partition))
        request = OffsetDeleteRequest(
            group, [OffsetDeleteRequestTopic(name, each) for name, each in topics.items()]
        )

        async def attempt() -> None:
            connection = await self.client.to(await self.client.coordinator(group))
            said = await connection.request(request, OffsetDeleteResponse, timeout=self.client.timeout)
            check(said.error_code, f"group {group!r}")
            for topic in said.topics:
                for answer in topic.partitions:
                    check(answer.error_code, f"offset of {topic.name}-{answer.partition_index}")

        await self.client.retry(attempt, group=group)

    async def delete(self, group: str) -> None:
        """Delete *group*, which must have no members, and what it has committed."""

        async def attempt() -> None:
            connection = await self.client.to(await self.client.coordinator(group))
            request = DeleteGroupsRequest(groups_names=[group])
            said = await connection.request(request, DeleteGroupsResponse, timeout=self.client.timeout)
            check(said.results[0].error_code, f"group {group!r}")

        await self.client.retry(attempt, group=group)

    async def _list(self, node: int) -> list[GroupListing]:
        connection = await self.client.to(node)
        said = await connection.request(ListGroupsRequest(), ListGroupsResponse, timeout=self.client.timeout)
        check(said.error_code, f"groups of broker {node}")
        return [
            GroupListing(each.group_id, each.protocol_type, each.group_state, each.group_type, node)
            for each in said.groups
        ]


def _member(protocol_type: str, said: DescribeGroupsResponseMember) -> GroupMember:
    partitions: tuple[TopicPartition, ...] = ()
    if protocol_type == _CONSUMER:
        # Some clients put something of their own in there; the member is worth showing all the same.
        with suppress(Refused):
            partitions = decode_assignment(bytes(said.member_assignment))
    return GroupMember(said.member_id, said.group_instance_id, said.client_id, said.client_host, partitions)
