"""DescribeTopicPartitions (key 75). Topics and partitions, page by page.

Generated from wire/schema/describe_topic_partitions.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    ZERO_UUID,
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    skip_tags,
    too_many,
    write_uvarint,
)

pack_16so: Final = struct.Struct(">16s?").pack
unpack_16soB: Final = struct.Struct(">16s?B").unpack_from
unpack_b: Final = struct.Struct(">b").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
pack_hiii: Final = struct.Struct(">hiii").pack
unpack_hiiiB: Final = struct.Struct(">hiiiB").unpack_from
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ix: Final = struct.Struct(">ix").pack


@final
class DescribeTopicPartitionsRequestTopic(Struct):
    __slots__ = ("name",)
    FIELDS = ("name",)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


@final
class DescribeTopicPartitionsRequestCursor(Struct):
    __slots__ = ("topic_name", "partition_index")
    FIELDS = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


@final
class DescribeTopicPartitionsRequest(Message):
    __slots__ = ("topics", "response_partition_limit", "cursor")
    FIELDS = ("topics", "response_partition_limit", "cursor")
    KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        topics: list[DescribeTopicPartitionsRequestTopic] = EMPTY,
        response_partition_limit: int = 2000,
        cursor: DescribeTopicPartitionsRequestCursor | None = None,
    ) -> None:
        self.topics: list[DescribeTopicPartitionsRequestTopic] = [] if topics is EMPTY else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeTopicPartitionsRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeTopicPartitionsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeTopicPartitionsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out.append(0)
        out += pack_i(self.response_partition_limit)
        cursor = self.cursor
        if cursor is None:
            out.append(255)
        else:
            out.append(1)
            raw = cursor.topic_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_ix(cursor.partition_index)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> DescribeTopicPartitionsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DescribeTopicPartitionsRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("name", n - 1, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DescribeTopicPartitionsRequestTopic(topics_name))
    (response_partition_limit,) = unpack_i(data, pos)
    pos += 4
    (n,) = unpack_b(data, pos)
    pos += 1
    if n < 0:
        cursor = None
    else:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic_name", n - 1, size - pos)
        cursor_topic_name = data[pos:stop].tobytes().decode()
        pos = stop
        cursor_partition_index, tags = unpack_iB(data, pos)
        pos += 5
        if tags:
            pos = skip_tags(data, pos, tags)
        cursor = DescribeTopicPartitionsRequestCursor(cursor_topic_name, cursor_partition_index)
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor)


@final
class DescribeTopicPartitionsResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")
    FIELDS = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas: list[int] = [] if offline_replicas is EMPTY else offline_replicas


@final
class DescribeTopicPartitionsResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions: list[DescribeTopicPartitionsResponsePartition] = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations


@final
class DescribeTopicPartitionsResponseNextCursor(Struct):
    __slots__ = ("topic_name", "partition_index")
    FIELDS = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


@final
class DescribeTopicPartitionsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics", "next_cursor")
    FIELDS = ("throttle_time_ms", "topics", "next_cursor")
    KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,
        next_cursor: DescribeTopicPartitionsResponseNextCursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DescribeTopicPartitionsResponseTopic] = [] if topics is EMPTY else topics
        self.next_cursor = next_cursor

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeTopicPartitionsResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeTopicPartitionsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeTopicPartitionsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
            out += pack_h(topic.error_code)
            topic_name = topic.name
            if topic_name is None:
                raw = b""
                n = 0
            else:
                raw = topic_name.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_16so(topic.topic_id, topic.is_internal)
            n = len(topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partitions:
                out += pack_hiii(partition.error_code, partition.partition_index, partition.leader_id, partition.leader_epoch)
                n = len(partition.replica_nodes) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.replica_nodes)}i", *partition.replica_nodes)
                n = len(partition.isr_nodes) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.isr_nodes)}i", *partition.isr_nodes)
                partition_eligible_leader_replicas = partition.eligible_leader_replicas
                if partition_eligible_leader_replicas is None:
                    n = 0
                else:
                    n = len(partition_eligible_leader_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if partition_eligible_leader_replicas is not None:
                    out += struct.pack(f">{len(partition_eligible_leader_replicas)}i", *partition_eligible_leader_replicas)
                partition_last_known_elr = partition.last_known_elr
                if partition_last_known_elr is None:
                    n = 0
                else:
                    n = len(partition_last_known_elr) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if partition_last_known_elr is not None:
                    out += struct.pack(f">{len(partition_last_known_elr)}i", *partition_last_known_elr)
                n = len(partition.offline_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.offline_replicas)}i", *partition.offline_replicas)
                out.append(0)
            out += pack_ix(topic.topic_authorized_operations)
        next_cursor = self.next_cursor
        if next_cursor is None:
            out.append(255)
        else:
            out.append(1)
            raw = next_cursor.topic_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_ix(next_cursor.partition_index)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> DescribeTopicPartitionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 26 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        topics_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            topics_name = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("name", n - 1, size - pos)
            topics_name = data[pos:stop].tobytes().decode()
            pos = stop
        topics_topic_id, topics_is_internal, n = unpack_16soB(data, pos)
        pos += 18
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 20 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DescribeTopicPartitionsResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_error_code, partitions_partition_index, partitions_leader_id, partitions_leader_epoch, n = unpack_hiiiB(data, pos)
            pos += 15
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("replica_nodes", n, size - pos)
            budget -= n
            partitions_replica_nodes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("isr_nodes", n, size - pos)
            budget -= n
            partitions_isr_nodes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            partitions_eligible_leader_replicas: list[int] | None
            if n == -1:
                partitions_eligible_leader_replicas = None
            else:
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("eligible_leader_replicas", n, size - pos)
                budget -= n
                partitions_eligible_leader_replicas = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            partitions_last_known_elr: list[int] | None
            if n == -1:
                partitions_last_known_elr = None
            else:
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("last_known_elr", n, size - pos)
                budget -= n
                partitions_last_known_elr = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("offline_replicas", n, size - pos)
            budget -= n
            partitions_offline_replicas: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(DescribeTopicPartitionsResponsePartition(partitions_error_code, partitions_partition_index, partitions_leader_id, partitions_leader_epoch, partitions_replica_nodes, partitions_isr_nodes, partitions_eligible_leader_replicas, partitions_last_known_elr, partitions_offline_replicas))
        topics_topic_authorized_operations, tags = unpack_iB(data, pos)
        pos += 5
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DescribeTopicPartitionsResponseTopic(topics_error_code, topics_name, topics_topic_id, topics_is_internal, topics_partitions, topics_topic_authorized_operations))
    (n,) = unpack_b(data, pos)
    pos += 1
    if n < 0:
        next_cursor = None
    else:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic_name", n - 1, size - pos)
        next_cursor_topic_name = data[pos:stop].tobytes().decode()
        pos = stop
        next_cursor_partition_index, tags = unpack_iB(data, pos)
        pos += 5
        if tags:
            pos = skip_tags(data, pos, tags)
        next_cursor = DescribeTopicPartitionsResponseNextCursor(next_cursor_topic_name, next_cursor_partition_index)
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor)
