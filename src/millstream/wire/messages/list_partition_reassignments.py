"""ListPartitionReassignments (key 46). Partitions that are being moved.

Generated from wire/schema/list_partition_reassignments.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    skip_tags,
    too_many,
    write_uvarint,
)

pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class ListPartitionReassignmentsRequestTopic(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes


@final
class ListPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "topics")
    FIELDS = ("timeout_ms", "topics")
    KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsRequestTopic] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListPartitionReassignmentsRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListPartitionReassignmentsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ListPartitionReassignmentsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.timeout_ms)
        topics = self.topics
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if topics is not None:
            for topic in topics:
                raw = topic.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(topic.partition_indexes) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(topic.partition_indexes)}i", *topic.partition_indexes)
                out.append(0)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> ListPartitionReassignmentsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    timeout_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    topics: list[ListPartitionReassignmentsRequestTopic] | None
    if n == -1:
        topics = None
    else:
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        topics = []
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
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partition_indexes", n, size - pos)
            budget -= n
            topics_partition_indexes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics.append(ListPartitionReassignmentsRequestTopic(topics_name, topics_partition_indexes))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListPartitionReassignmentsRequest(timeout_ms, topics)


@final
class ListPartitionReassignmentsResponsePartition(Struct):
    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")
    FIELDS = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.replicas: list[int] = [] if replicas is EMPTY else replicas
        self.adding_replicas: list[int] = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas: list[int] = [] if removing_replicas is EMPTY else removing_replicas


@final
class ListPartitionReassignmentsResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListPartitionReassignmentsResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[ListPartitionReassignmentsResponsePartition] = [] if partitions is EMPTY else partitions


@final
class ListPartitionReassignmentsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "topics")
    KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[ListPartitionReassignmentsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[ListPartitionReassignmentsResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListPartitionReassignmentsResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListPartitionReassignmentsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ListPartitionReassignmentsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        error_message = self.error_message
        if error_message is None:
            raw = b""
            n = 0
        else:
            raw = error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
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
            n = len(topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partitions:
                out += pack_i(partition.partition_index)
                n = len(partition.replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.replicas)}i", *partition.replicas)
                n = len(partition.adding_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.adding_replicas)}i", *partition.adding_replicas)
                n = len(partition.removing_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.removing_replicas)}i", *partition.removing_replicas)
                out.append(0)
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> ListPartitionReassignmentsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        error_message = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("error_message", n - 1, size - pos)
        error_message = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[ListPartitionReassignmentsResponseTopic] = []
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
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[ListPartitionReassignmentsResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("replicas", n, size - pos)
            budget -= n
            partitions_replicas: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("adding_replicas", n, size - pos)
            budget -= n
            partitions_adding_replicas: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("removing_replicas", n, size - pos)
            budget -= n
            partitions_removing_replicas: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(ListPartitionReassignmentsResponsePartition(partitions_partition_index, partitions_replicas, partitions_adding_replicas, partitions_removing_replicas))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(ListPartitionReassignmentsResponseTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics)
