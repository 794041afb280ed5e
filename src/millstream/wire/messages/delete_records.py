"""DeleteRecords (key 21). Forget everything before an offset.

Generated from wire/schema/delete_records.txt by tools/generate_messages.py: change that, not this.
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

unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iq: Final = struct.Struct(">iq").unpack_from
pack_iq: Final = struct.Struct(">iq").pack
unpack_iqB: Final = struct.Struct(">iqB").unpack_from
unpack_iqh: Final = struct.Struct(">iqh").unpack_from
pack_iqh: Final = struct.Struct(">iqh").pack
unpack_iqhB: Final = struct.Struct(">iqhB").unpack_from
pack_iqhx: Final = struct.Struct(">iqhx").pack
pack_iqx: Final = struct.Struct(">iqx").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class DeleteRecordsRequestPartition(Struct):
    __slots__ = ("partition_index", "offset")
    FIELDS = ("partition_index", "offset")

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


@final
class DeleteRecordsRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[DeleteRecordsRequestPartition] = [] if partitions is EMPTY else partitions


@final
class DeleteRecordsRequest(Message):
    __slots__ = ("topics", "timeout_ms")
    FIELDS = ("topics", "timeout_ms")
    KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        topics: list[DeleteRecordsRequestTopic] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.topics: list[DeleteRecordsRequestTopic] = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteRecordsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteRecordsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteRecordsRequest v{version}: {error}") from error

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
            n = len(topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partitions:
                out += pack_iqx(partition.partition_index, partition.offset)
            out.append(0)
        out += pack_ix(self.timeout_ms)

    def _write_older(self, out: bytearray, version: int) -> None:
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
                out += pack_iq(partition.partition_index, partition.offset)
        out += pack_i(self.timeout_ms)


def _read_flexible_request(reader: Reader, version: int) -> DeleteRecordsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DeleteRecordsRequestTopic] = []
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
        if n < 0 or n > (size - pos) // 13 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DeleteRecordsRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_offset, tags = unpack_iqB(data, pos)
            pos += 13
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(DeleteRecordsRequestPartition(partitions_partition_index, partitions_offset))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DeleteRecordsRequestTopic(topics_name, topics_partitions))
    timeout_ms, tags = unpack_iB(data, pos)
    pos += 5
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteRecordsRequest(topics, timeout_ms)


def _read_older_request(reader: Reader, version: int) -> DeleteRecordsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DeleteRecordsRequestTopic] = []
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
        if n < 0 or n > (size - pos) // 12 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DeleteRecordsRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_offset = unpack_iq(data, pos)
            pos += 12
            topics_partitions.append(DeleteRecordsRequestPartition(partitions_partition_index, partitions_offset))
        topics.append(DeleteRecordsRequestTopic(topics_name, topics_partitions))
    (timeout_ms,) = unpack_i(data, pos)
    pos += 4
    reader.position = pos
    return DeleteRecordsRequest(topics, timeout_ms)


@final
class DeleteRecordsResponsePartition(Struct):
    __slots__ = ("partition_index", "low_watermark", "error_code")
    FIELDS = ("partition_index", "low_watermark", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


@final
class DeleteRecordsResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[DeleteRecordsResponsePartition] = [] if partitions is EMPTY else partitions


@final
class DeleteRecordsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = ("throttle_time_ms", "topics")
    KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DeleteRecordsResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteRecordsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteRecordsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteRecordsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
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
                out += pack_iqhx(partition.partition_index, partition.low_watermark, partition.error_code)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                out += pack_iqh(partition.partition_index, partition.low_watermark, partition.error_code)


def _read_flexible_response(reader: Reader, version: int) -> DeleteRecordsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DeleteRecordsResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 15 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DeleteRecordsResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_low_watermark, partitions_error_code, tags = unpack_iqhB(data, pos)
            pos += 15
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(DeleteRecordsResponsePartition(partitions_partition_index, partitions_low_watermark, partitions_error_code))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DeleteRecordsResponseTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteRecordsResponse(throttle_time_ms, topics)


def _read_older_response(reader: Reader, version: int) -> DeleteRecordsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DeleteRecordsResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 14 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DeleteRecordsResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_low_watermark, partitions_error_code = unpack_iqh(data, pos)
            pos += 14
            topics_partitions.append(DeleteRecordsResponsePartition(partitions_partition_index, partitions_low_watermark, partitions_error_code))
        topics.append(DeleteRecordsResponseTopic(topics_name, topics_partitions))
    reader.position = pos
    return DeleteRecordsResponse(throttle_time_ms, topics)
