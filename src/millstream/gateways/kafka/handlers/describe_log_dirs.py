"""DescribeLogDirs (key 35), versions 1 to 5: what is kept where, and how large it is.

Behaviour
- Null means all topics. There is one directory. Topics and partitions that are not there are left out.

Versions
- 2   flexible
- 3   an error for the whole
- 4   the disk's size and free space
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode
from millstream.wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResponseLogDir,
    DescribeLogDirsResponsePartition,
    DescribeLogDirsResponseTopic,
)


def handle(
    broker: Broker, session: Session, request: DescribeLogDirsRequest, version: int
) -> DescribeLogDirsResponse:
    directory = DescribeLogDirsResponseLogDir(
        error_code=ErrorCode.KAFKA_STORAGE_ERROR if broker.broken.done() else ErrorCode.NONE,
        log_dir=broker.data_dir,
        total_bytes=broker.disk.total_bytes(),
        usable_bytes=broker.disk.free_bytes(),
    )
    for name, wanted in _wanted(broker, request).items():
        topic = DescribeLogDirsResponseTopic(name=name)
        for index in wanted:
            size = broker.topics.hosted(name, index).partition.log.size_bytes
            topic.partitions.append(
                DescribeLogDirsResponsePartition(partition_index=index, partition_size=size)
            )
        directory.topics.append(topic)
    return DescribeLogDirsResponse(results=[directory])


def _wanted(broker: Broker, request: DescribeLogDirsRequest) -> dict[str, list[int]]:
    topics = broker.topics.image.topics
    if request.topics is None:
        return {name: list(range(topic.partitions)) for name, topic in sorted(topics.items())}
    return {
        asked.topic: [index for index in asked.partitions if 0 <= index < topics[asked.topic].partitions]
        for asked in request.topics
        if asked.topic in topics
    }
