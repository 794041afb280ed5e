"""OffsetDelete (key 47). Forget a group's offsets for some partitions.

Generated from wire/schema/offset_delete.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    Reader,
    bad_length,
    malformed,
    too_many,
)

unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hii: Final = struct.Struct(">hii").unpack_from
pack_hii: Final = struct.Struct(">hii").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack


@final
class OffsetDeleteRequestPartition(Struct):
    __slots__ = ("partition_index",)
    FIELDS = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


@final
class OffsetDeleteRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetDeleteRequestPartition] = [] if partitions is EMPTY else partitions


@final
class OffsetDeleteRequest(Message):
    __slots__ = ("group_id", "topics")
    FIELDS = ("group_id", "topics")
    KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetDeleteRequestTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "OffsetDeleteRequest":
        try:
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("OffsetDeleteRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"OffsetDeleteRequest v{version}: {error}") from error

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        n = len(self.topics)
        out += pack_i(n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                out += pack_i(partition.partition_index)


def _read_older_request(reader: Reader, version: int) -> OffsetDeleteRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("group_id", n, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[OffsetDeleteRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetDeleteRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            (partitions_partition_index,) = unpack_i(data, pos)
            pos += 4
            topics_partitions.append(OffsetDeleteRequestPartition(partitions_partition_index))
        topics.append(OffsetDeleteRequestTopic(topics_name, topics_partitions))
    reader.position = pos
    return OffsetDeleteRequest(group_id, topics)


@final
class OffsetDeleteResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


@final
class OffsetDeleteResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetDeleteResponsePartition] = [] if partitions is EMPTY else partitions


@final
class OffsetDeleteResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms", "topics")
    FIELDS = ("error_code", "throttle_time_ms", "topics")
    KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetDeleteResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "OffsetDeleteResponse":
        try:
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("OffsetDeleteResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"OffsetDeleteResponse v{version}: {error}") from error

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        out += pack_hii(self.error_code, self.throttle_time_ms, n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                out += pack_ih(partition.partition_index, partition.error_code)


def _read_older_response(reader: Reader, version: int) -> OffsetDeleteResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    error_code, throttle_time_ms, n = unpack_hii(data, pos)
    pos += 10
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[OffsetDeleteResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetDeleteResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_error_code = unpack_ih(data, pos)
            pos += 6
            topics_partitions.append(OffsetDeleteResponsePartition(partitions_partition_index, partitions_error_code))
        topics.append(OffsetDeleteResponseTopic(topics_name, topics_partitions))
    reader.position = pos
    return OffsetDeleteResponse(error_code, throttle_time_ms, topics)
