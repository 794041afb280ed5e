"""Administration: topics, their settings, and the records in them."""

from collections.abc import Iterable, Mapping
from typing import Final, final

from millstream.client.admin_values import TOPIC, Config, LogDir
from millstream.client.cluster import Client
from millstream.client.offsets import all_of, by_leader
from millstream.client.refusals import check
from millstream.client.topics import Metadata, TopicPartition
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsRequestTopic,
    CreatePartitionsResponse,
)
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestConfig,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsRequestPartition,
    DeleteRecordsRequestTopic,
    DeleteRecordsResponse,
)
from millstream.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsRequestTopic,
    DeleteTopicsResponse,
)
from millstream.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsRequestResource,
    DescribeConfigsResponse,
)
from millstream.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from millstream.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestConfig,
    IncrementalAlterConfigsRequestResource,
    IncrementalAlterConfigsResponse,
)

_SET: Final = 0
_DELETE: Final = 1


@final
class Admin:
    """What an administrator may ask of a cluster. Each call is tried again while failing looks temporary."""

    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def _timeout_ms(self) -> int:
        return int(self.client.timeout * 1000)

    async def cluster(self) -> Metadata:
        """All brokers and topics."""
        return await self.client.retry(lambda: self.client.metadata(None))

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Create topic *name*; -1 leaves a number to the cluster."""
        wanted = CreateTopicsRequestTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[
                CreateTopicsRequestConfig(name=key, value=value) for key, value in (configs or {}).items()
            ],
        )
        request = CreateTopicsRequest(
            topics=[wanted], timeout_ms=self._timeout_ms, validate_only=validate_only
        )

        async def attempt() -> None:
            connection = await self.client.to(await self.client.controller())
            said = await connection.request(request, CreateTopicsResponse, timeout=self.client.timeout)
            check(said.topics[0].error_code, f"topic {name!r}", said.topics[0].error_message)

        await self.client.retry(attempt)

    async def delete_topic(self, name: str) -> None:
        """Delete topic *name* and all its records."""
        request = DeleteTopicsRequest(
            topic_names=[name], topics=[DeleteTopicsRequestTopic(name=name)], timeout_ms=self._timeout_ms
        )

        async def attempt() -> None:
            connection = await self.client.to(await self.client.controller())
            said = await connection.request(request, DeleteTopicsResponse, timeout=self.client.timeout)
            check(said.responses[0].error_code, f"topic {name!r}", said.responses[0].error_message)

        await self.client.retry(attempt)

    async def grow_topic(self, name: str, partitions: int) -> None:
        """Give topic *name* more partitions: *partitions* in all."""
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsRequestTopic(name=name, count=partitions, assignments=None)],
            timeout_ms=self._timeout_ms,
        )

        async def attempt() -> None:
            connection = await self.client.to(await self.client.controller())
            said = await connection.request(request, CreatePartitionsResponse, timeout=self.client.timeout)
            check(said.results[0].error_code, f"topic {name!r}", said.results[0].error_message)

        await self.client.retry(attempt)

    async def topic_configs(self, name: str) -> list[Config]:
        """Every setting of topic *name*."""
        return await self._configs(TOPIC, name)

    async def alter_topic_configs(self, name: str, set: Mapping[str, str], unset: Iterable[str] = ()) -> None:
        """Change settings of topic *name*; those in *unset* fall back to the broker's."""
        changes = [IncrementalAlterConfigsRequestConfig(key, _SET, value) for key, value in set.items()]
        changes += [IncrementalAlterConfigsRequestConfig(key, _DELETE, None) for key in unset]
        request = IncrementalAlterConfigsRequest(
            resources=[IncrementalAlterConfigsRequestResource(TOPIC, name, changes)]
        )

        async def attempt() -> None:
            said = await self.client.ask(request, IncrementalAlterConfigsResponse)
            check(said.responses[0].error_code, f"topic {name!r}", said.responses[0].error_message)

        await self.client.retry(attempt)

    async def trim(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before these offsets; where each partition then begins."""

        async def attempt() -> dict[TopicPartition, int]:
            by_node = await by_leader(self.client, before)
            found: dict[TopicPartition, int] = {}
            for answer in await all_of(
                self._trim(node, {each: before[each] for each in by_node[node]}) for node in by_node
            ):
                found.update(answer)
            return found

        return await self.client.retry(attempt)

    async def log_dirs(self, brokers: Iterable[int]) -> list[LogDir]:
        """The directories of each of *brokers*, with the sizes of what is in them."""

        async def of(broker: int) -> list[LogDir]:
            connection = await self.client.to(broker)
            request = DescribeLogDirsRequest(topics=None)
            said = await connection.request(request, DescribeLogDirsResponse, timeout=self.client.timeout)
            check(said.error_code, f"log directories of broker {broker}")
            return [
                LogDir(
                    broker,
                    each.log_dir,
                    {
                        TopicPartition(topic.name, one.partition_index): one.partition_size
                        for topic in each.topics
                        for one in topic.partitions
                    },
                    each.total_bytes if each.total_bytes >= 0 else None,
                    each.usable_bytes if each.usable_bytes >= 0 else None,
                )
                for each in said.results
                if not each.error_code
            ]

        async def attempt() -> list[LogDir]:
            return [
                each for found in await all_of(of(broker) for broker in sorted(brokers)) for each in found
            ]

        return await self.client.retry(attempt)

    async def _configs(self, resource_type: int, name: str) -> list[Config]:
        resource = DescribeConfigsRequestResource(resource_type, name, None)

        async def attempt() -> list[Config]:
            said = await self.client.ask(
                DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse
            )
            if not said.results:
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"nothing was said of {name!r}")
            found = said.results[0]
            check(found.error_code, f"settings of {name!r}", found.error_message)
            return [
                Config(each.name, each.value, each.config_source, each.read_only, each.is_sensitive)
                for each in sorted(found.configs, key=lambda each: each.name)
            ]

        return await self.client.retry(attempt)

    async def _trim(self, node: int, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        topics: dict[str, list[DeleteRecordsRequestPartition]] = {}
        for partition, offset in before.items():
            topics.setdefault(partition.topic, []).append(
                DeleteRecordsRequestPartition(partition.partition, offset)
            )
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsRequestTopic(name, each) for name, each in topics.items()],
            timeout_ms=self._timeout_ms,
        )
        connection = await self.client.to(node)
        said = await connection.request(request, DeleteRecordsResponse, timeout=self.client.timeout)
        found = {}
        for topic in said.topics:
            for answer in topic.partitions:
                partition = TopicPartition(topic.name, answer.partition_index)
                check(answer.error_code, f"trim of {partition}")
                found[partition] = answer.low_watermark
        return found
