"""AlterPartitionReassignments (key 45). Move partitions to other brokers.

Generated from wire/schema/alter_partition_reassignments.txt by tools/generate_messages.py: change that, not this.
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
pack_io: Final = struct.Struct(">i?").pack
unpack_ioB: Final = struct.Struct(">i?B").unpack_from
pack_ioh: Final = struct.Struct(">i?h").pack
unpack_iohB: Final = struct.Struct(">i?hB").unpack_from
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class AlterPartitionReassignmentsRequestPartition(Struct):
    __slots__ = ("partition_index", "replicas")
    FIELDS = ("partition_index", "replicas")

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


@final
class AlterPartitionReassignmentsRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[AlterPartitionReassignmentsRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[AlterPartitionReassignmentsRequestPartition] = [] if partitions is EMPTY else partitions


@final
class AlterPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")
    FIELDS = ("timeout_ms", "allow_replication_factor_change", "topics")
    KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[AlterPartitionReassignmentsRequestTopic] = EMPTY,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics: list[AlterPartitionReassignmentsRequestTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterPartitionReassignmentsRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterPartitionReassignmentsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"AlterPartitionReassignmentsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 1:
            out += pack_io(self.timeout_ms, self.allow_replication_factor_change)
        else:
            out += pack_i(self.timeout_ms)
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
                partition_replicas = partition.replicas
                if partition_replicas is None:
                    n = 0
                else:
                    n = len(partition_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if partition_replicas is not None:
                    out += struct.pack(f">{len(partition_replicas)}i", *partition_replicas)
                out.append(0)
            out.append(0)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> AlterPartitionReassignmentsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        timeout_ms, allow_replication_factor_change, n = unpack_ioB(data, pos)
        pos += 6
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    else:
        timeout_ms, n = unpack_iB(data, pos)
        pos += 5
        allow_replication_factor_change = True
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[AlterPartitionReassignmentsRequestTopic] = []
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
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[AlterPartitionReassignmentsRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            partitions_replicas: list[int] | None
            if n == -1:
                partitions_replicas = None
            else:
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("replicas", n, size - pos)
                budget -= n
                partitions_replicas = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(AlterPartitionReassignmentsRequestPartition(partitions_partition_index, partitions_replicas))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(AlterPartitionReassignmentsRequestTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, topics)


@final
class AlterPartitionReassignmentsResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "error_message")
    FIELDS = ("partition_index", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


@final
class AlterPartitionReassignmentsResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[AlterPartitionReassignmentsResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[AlterPartitionReassignmentsResponsePartition] = [] if partitions is EMPTY else partitions


@final
class AlterPartitionReassignmentsResponse(Message):
    __slots__ = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")
    FIELDS = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")
    KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[AlterPartitionReassignmentsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[AlterPartitionReassignmentsResponseTopic] = [] if responses is EMPTY else responses

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterPartitionReassignmentsResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterPartitionReassignmentsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"AlterPartitionReassignmentsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 1:
            out += pack_ioh(self.throttle_time_ms, self.allow_replication_factor_change, self.error_code)
        else:
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
        n = len(self.responses) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.responses:
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
                out += pack_ih(partition.partition_index, partition.error_code)
                partition_error_message = partition.error_message
                if partition_error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = partition_error_message.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> AlterPartitionReassignmentsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        throttle_time_ms, allow_replication_factor_change, error_code, n = unpack_iohB(data, pos)
        pos += 8
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    else:
        throttle_time_ms, error_code, n = unpack_ihB(data, pos)
        pos += 7
        allow_replication_factor_change = True
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
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[AlterPartitionReassignmentsResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("name", n - 1, size - pos)
        responses_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        responses_partitions: list[AlterPartitionReassignmentsResponsePartition] = []
        responses_partitions_count = n
        for _ in range(responses_partitions_count):
            partitions_partition_index, partitions_error_code, n = unpack_ihB(data, pos)
            pos += 7
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                partitions_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                partitions_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            responses_partitions.append(AlterPartitionReassignmentsResponsePartition(partitions_partition_index, partitions_error_code, partitions_error_message))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        responses.append(AlterPartitionReassignmentsResponseTopic(responses_name, responses_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterPartitionReassignmentsResponse(throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses)
