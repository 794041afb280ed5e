"""Where partitions begin and end, and where a time lies in them."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Final, TypeVar

from millstream.client.cluster import Client
from millstream.client.refusals import check
from millstream.client.topics import TopicPartition
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2

T = TypeVar("T")


async def list_offsets(
    client: Client, wanted: Mapping[TopicPartition, int], *, committed_only: bool = False
) -> dict[TopicPartition, int | None]:
    """For each partition the first offset at or after a time in ms, or LATEST or EARLIEST.

    None where no record is that late. LATEST is the last stable offset if
    *committed_only*.
    """

    async def attempt() -> dict[TopicPartition, int | None]:
        by_node = await by_leader(client, wanted)
        asked = [
            _ask(client, node, {each: wanted[each] for each in by_node[node]}, committed_only)
            for node in by_node
        ]
        found: dict[TopicPartition, int | None] = {}
        for answer in await all_of(asked):
            found.update(answer)
        return {partition: found[partition] for partition in wanted}

    return await client.retry(attempt)


async def by_leader(client: Client, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
    """*partitions* by the broker that leads them."""
    by_node: dict[int, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        by_node.setdefault(await client.leader(partition), []).append(partition)
    return by_node


async def all_of(calls: Iterable[Awaitable[T]]) -> list[T]:
    """What all *calls* return, made at once; when all are done, the first failure is raised."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def _ask(
    client: Client, node: int, wanted: Mapping[TopicPartition, int], committed_only: bool
) -> dict[TopicPartition, int | None]:
    topics: dict[str, list[ListOffsetsRequestPartition]] = {}
    for partition, time_ms in wanted.items():
        one = ListOffsetsRequestPartition(partition_index=partition.partition, timestamp=time_ms)
        topics.setdefault(partition.topic, []).append(one)
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(committed_only),
        topics=[ListOffsetsRequestTopic(name=name, partitions=each) for name, each in topics.items()],
        timeout_ms=int(client.timeout * 1000),
    )
    connection = await client.to(node)
    said = await connection.request(request, ListOffsetsResponse, timeout=client.timeout)
    found: dict[TopicPartition, int | None] = {}
    for topic in said.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.name, answer.partition_index)
            check(answer.error_code, f"offsets of {partition}")
            found[partition] = None if answer.offset < 0 else answer.offset
    return found
