"""ListOffsets (key 2). Find offsets by time, or the ends of a log.

Generated from wire/schema/list_offsets.txt by tools/generate_messages.py: change that, not this.
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
pack_ib: Final = struct.Struct(">ib").pack
unpack_ibB: Final = struct.Struct(">ibB").unpack_from
unpack_ibi: Final = struct.Struct(">ibi").unpack_from
pack_ibi: Final = struct.Struct(">ibi").pack
unpack_ihqq: Final = struct.Struct(">ihqq").unpack_from
pack_ihqq: Final = struct.Struct(">ihqq").pack
unpack_ihqqi: Final = struct.Struct(">ihqqi").unpack_from
pack_ihqqi: Final = struct.Struct(">ihqqi").pack
unpack_ihqqiB: Final = struct.Struct(">ihqqiB").unpack_from
pack_ihqqix: Final = struct.Struct(">ihqqix").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iiq: Final = struct.Struct(">iiq").unpack_from
pack_iiq: Final = struct.Struct(">iiq").pack
unpack_iiqB: Final = struct.Struct(">iiqB").unpack_from
pack_iiqx: Final = struct.Struct(">iiqx").pack
unpack_iq: Final = struct.Struct(">iq").unpack_from
pack_iq: Final = struct.Struct(">iq").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class ListOffsetsRequestPartition(Struct):
    __slots__ = ("partition_index", "current_leader_epoch", "timestamp")
    FIELDS = ("partition_index", "current_leader_epoch", "timestamp")

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp


@final
class ListOffsetsRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[ListOffsetsRequestPartition] = [] if partitions is EMPTY else partitions


@final
class ListOffsetsRequest(Message):
    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")
    FIELDS = ("replica_id", "isolation_level", "topics", "timeout_ms")
    KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsRequestTopic] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics: list[ListOffsetsRequestTopic] = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListOffsetsRequest":
        try:
            if version >= 6:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListOffsetsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 6:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ListOffsetsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ib(self.replica_id, self.isolation_level)
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
                out += pack_iiqx(partition.partition_index, partition.current_leader_epoch, partition.timestamp)
            out.append(0)
        if version >= 10:
            out += pack_ix(self.timeout_ms)
        else:
            out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        if version >= 2:
            out += pack_ibi(self.replica_id, self.isolation_level, n)
        else:
            out += pack_ii(self.replica_id, n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                if version >= 4:
                    out += pack_iiq(partition.partition_index, partition.current_leader_epoch, partition.timestamp)
                else:
                    out += pack_iq(partition.partition_index, partition.timestamp)


def _read_flexible_request(reader: Reader, version: int) -> ListOffsetsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    replica_id, isolation_level, n = unpack_ibB(data, pos)
    pos += 6
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[ListOffsetsRequestTopic] = []
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
        if n < 0 or n > (size - pos) // 17 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[ListOffsetsRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_current_leader_epoch, partitions_timestamp, tags = unpack_iiqB(data, pos)
            pos += 17
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(ListOffsetsRequestPartition(partitions_partition_index, partitions_current_leader_epoch, partitions_timestamp))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(ListOffsetsRequestTopic(topics_name, topics_partitions))
    if version >= 10:
        timeout_ms, tags = unpack_iB(data, pos)
        pos += 5
    else:
        tags = data[pos]
        pos += 1
        timeout_ms = 0
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms)


def _read_older_request(reader: Reader, version: int) -> ListOffsetsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 2:
        replica_id, isolation_level, n = unpack_ibi(data, pos)
        pos += 9
    else:
        replica_id, n = unpack_ii(data, pos)
        pos += 8
        isolation_level = 0
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[ListOffsetsRequestTopic] = []
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
        topics_partitions: list[ListOffsetsRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            if version >= 4:
                partitions_partition_index, partitions_current_leader_epoch, partitions_timestamp = unpack_iiq(data, pos)
                pos += 16
            else:
                partitions_partition_index, partitions_timestamp = unpack_iq(data, pos)
                pos += 12
                partitions_current_leader_epoch = -1
            topics_partitions.append(ListOffsetsRequestPartition(partitions_partition_index, partitions_current_leader_epoch, partitions_timestamp))
        topics.append(ListOffsetsRequestTopic(topics_name, topics_partitions))
    reader.position = pos
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0)


@final
class ListOffsetsResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")
    FIELDS = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


@final
class ListOffsetsResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[ListOffsetsResponsePartition] = [] if partitions is EMPTY else partitions


@final
class ListOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = ("throttle_time_ms", "topics")
    KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[ListOffsetsResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListOffsetsResponse":
        try:
            if version >= 6:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListOffsetsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 6:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ListOffsetsResponse v{version}: {error}") from error

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
                out += pack_ihqqix(partition.partition_index, partition.error_code, partition.timestamp, partition.offset, partition.leader_epoch)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        if version >= 2:
            out += pack_ii(self.throttle_time_ms, n)
        else:
            out += pack_i(n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                if version >= 4:
                    out += pack_ihqqi(partition.partition_index, partition.error_code, partition.timestamp, partition.offset, partition.leader_epoch)
                else:
                    out += pack_ihqq(partition.partition_index, partition.error_code, partition.timestamp, partition.offset)


def _read_flexible_response(reader: Reader, version: int) -> ListOffsetsResponse:
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
    topics: list[ListOffsetsResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 27 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[ListOffsetsResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_error_code, partitions_timestamp, partitions_offset, partitions_leader_epoch, tags = unpack_ihqqiB(data, pos)
            pos += 27
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(ListOffsetsResponsePartition(partitions_partition_index, partitions_error_code, partitions_timestamp, partitions_offset, partitions_leader_epoch))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(ListOffsetsResponseTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListOffsetsResponse(throttle_time_ms, topics)


def _read_older_response(reader: Reader, version: int) -> ListOffsetsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 2:
        throttle_time_ms, n = unpack_ii(data, pos)
        pos += 8
    else:
        (n,) = unpack_i(data, pos)
        pos += 4
        throttle_time_ms = 0
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[ListOffsetsResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 22 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[ListOffsetsResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            if version >= 4:
                partitions_partition_index, partitions_error_code, partitions_timestamp, partitions_offset, partitions_leader_epoch = unpack_ihqqi(data, pos)
                pos += 26
            else:
                partitions_partition_index, partitions_error_code, partitions_timestamp, partitions_offset = unpack_ihqq(data, pos)
                pos += 22
                partitions_leader_epoch = -1
            topics_partitions.append(ListOffsetsResponsePartition(partitions_partition_index, partitions_error_code, partitions_timestamp, partitions_offset, partitions_leader_epoch))
        topics.append(ListOffsetsResponseTopic(topics_name, topics_partitions))
    reader.position = pos
    return ListOffsetsResponse(throttle_time_ms, topics)
