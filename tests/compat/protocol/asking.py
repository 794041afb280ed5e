"""Requests that many tests make, in one line each."""

from collections.abc import Mapping, Sequence

from tests.compat.protocol.line import Line

from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestConfig,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from millstream.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
    ProduceResponsePartition,
)

NOW_MS = 1_700_000_000_000


def create(wire: Line, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
    """Create topic *name*; its id."""
    given = [CreateTopicsRequestConfig(key, value) for key, value in (configs or {}).items()]
    topic = CreateTopicsRequestTopic(name, partitions, 1, configs=given)
    (created,) = wire.ask(CreateTopicsRequest([topic]), CreateTopicsResponse, 7).topics
    assert created.error_code == 0, created.error_message
    return created.topic_id


def describe(wire: Line, name: str) -> MetadataResponseTopic:
    (topic,) = wire.ask(MetadataRequest([MetadataRequestTopic(name=name)]), MetadataResponse, 12).topics
    return topic


def batch(
    *values: bytes | None,
    key: bytes | None = b"k",
    codec: Codec = Codec.NONE,
    times: Sequence[int] | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """One batch of *values*; *producer* is its id, epoch and the sequence of the first record."""
    records = [
        NewRecord(key, value, timestamp_ms=times[i] if times else NOW_MS) for i, value in enumerate(values)
    ]
    id, epoch, sequence = producer
    return bytes(
        build(
            records,
            codec=codec,
            now_ms=NOW_MS,
            producer_id=id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
    )


def producing(
    topic: str, parts: Mapping[int, bytes | None], acks: int = -1, timeout_ms: int = 10_000
) -> ProduceRequest:
    data = [ProduceRequestPartitionData(index, records) for index, records in parts.items()]
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[ProduceRequestTopicData(topic, partition_data=data)]
    )


def produce(
    wire: Line, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, version: int = 9
) -> ProduceResponsePartition:
    """What becomes of *records* in one partition."""
    request = producing(topic, {partition: records}, acks)
    (answer,) = wire.ask(request, ProduceResponse, version).responses
    (result,) = answer.partition_responses
    return result


def fetching(
    topic: str | bytes,
    *parts: FetchRequestPartition,
    wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    isolation: int = 0,
) -> FetchRequest:
    asked = (
        FetchRequestTopic(topic, partitions=list(parts))
        if isinstance(topic, str)
        else FetchRequestTopic(topic_id=topic, partitions=list(parts))
    )
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[asked] if parts else [],
    )


def part(
    offset: int = 0, index: int = 0, max_bytes: int = 1 << 20, epoch: int = -1, last_epoch: int = -1
) -> FetchRequestPartition:
    return FetchRequestPartition(
        index,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=max_bytes,
    )


def fetch(wire: Line, request: FetchRequest, version: int = 12) -> list[FetchResponsePartition]:
    """What each partition gave; an error of the whole is not expected."""
    answer = wire.ask(request, FetchResponse, version)
    assert answer.error_code == 0
    return [each for topic in answer.responses for each in topic.partitions]


def records(found: FetchResponsePartition) -> memoryview:
    """The batches that a partition gave."""
    assert isinstance(found.records, bytes | bytearray | memoryview)
    return memoryview(found.records)
