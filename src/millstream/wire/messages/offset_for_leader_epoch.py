"""OffsetForLeaderEpoch (key 23). Where a leader's reign ended; how clients and followers notice truncation.

Generated from wire/schema/offset_for_leader_epoch.txt by tools/generate_messages.py: change that, not this.
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
unpack_hiiq: Final = struct.Struct(">hiiq").unpack_from
pack_hiiq: Final = struct.Struct(">hiiq").pack
unpack_hiiqB: Final = struct.Struct(">hiiqB").unpack_from
pack_hiiqx: Final = struct.Struct(">hiiqx").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iii: Final = struct.Struct(">iii").unpack_from
pack_iii: Final = struct.Struct(">iii").pack
unpack_iiiB: Final = struct.Struct(">iiiB").unpack_from
pack_iiix: Final = struct.Struct(">iiix").pack


@final
class OffsetForLeaderEpochRequestPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")
    FIELDS = ("partition", "current_leader_epoch", "leader_epoch")

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


@final
class OffsetForLeaderEpochRequestTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderEpochRequestPartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions: list[OffsetForLeaderEpochRequestPartition] = [] if partitions is EMPTY else partitions


@final
class OffsetForLeaderEpochRequest(Message):
    __slots__ = ("replica_id", "topics")
    FIELDS = ("replica_id", "topics")
    KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderEpochRequestTopic] = EMPTY,
    ) -> None:
        self.replica_id = replica_id
        self.topics: list[OffsetForLeaderEpochRequestTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "OffsetForLeaderEpochRequest":
        try:
            if version >= 4:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("OffsetForLeaderEpochRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"OffsetForLeaderEpochRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.replica_id)
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
            raw = topic.topic.encode()
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
                out += pack_iiix(partition.partition, partition.current_leader_epoch, partition.leader_epoch)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        if version >= 3:
            out += pack_ii(self.replica_id, n)
        else:
            out += pack_i(n)
        for topic in self.topics:
            raw = topic.topic.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                out += pack_iii(partition.partition, partition.current_leader_epoch, partition.leader_epoch)


def _read_flexible_request(reader: Reader, version: int) -> OffsetForLeaderEpochRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    replica_id, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[OffsetForLeaderEpochRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic", n - 1, size - pos)
        topics_topic = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 13 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetForLeaderEpochRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition, partitions_current_leader_epoch, partitions_leader_epoch, tags = unpack_iiiB(data, pos)
            pos += 13
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(OffsetForLeaderEpochRequestPartition(partitions_partition, partitions_current_leader_epoch, partitions_leader_epoch))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(OffsetForLeaderEpochRequestTopic(topics_topic, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return OffsetForLeaderEpochRequest(replica_id, topics)


def _read_older_request(reader: Reader, version: int) -> OffsetForLeaderEpochRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 3:
        replica_id, n = unpack_ii(data, pos)
        pos += 8
    else:
        (n,) = unpack_i(data, pos)
        pos += 4
        replica_id = -2
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[OffsetForLeaderEpochRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("topic", n, size - pos)
        topics_topic = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 12 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetForLeaderEpochRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition, partitions_current_leader_epoch, partitions_leader_epoch = unpack_iii(data, pos)
            pos += 12
            topics_partitions.append(OffsetForLeaderEpochRequestPartition(partitions_partition, partitions_current_leader_epoch, partitions_leader_epoch))
        topics.append(OffsetForLeaderEpochRequestTopic(topics_topic, topics_partitions))
    reader.position = pos
    return OffsetForLeaderEpochRequest(replica_id, topics)


@final
class OffsetForLeaderEpochResponsePartition(Struct):
    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")
    FIELDS = ("error_code", "partition", "leader_epoch", "end_offset")

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


@final
class OffsetForLeaderEpochResponseTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderEpochResponsePartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions: list[OffsetForLeaderEpochResponsePartition] = [] if partitions is EMPTY else partitions


@final
class OffsetForLeaderEpochResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = ("throttle_time_ms", "topics")
    KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderEpochResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetForLeaderEpochResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "OffsetForLeaderEpochResponse":
        try:
            if version >= 4:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("OffsetForLeaderEpochResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"OffsetForLeaderEpochResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
            raw = topic.topic.encode()
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
                out += pack_hiiqx(partition.error_code, partition.partition, partition.leader_epoch, partition.end_offset)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.topics:
            raw = topic.topic.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                out += pack_hiiq(partition.error_code, partition.partition, partition.leader_epoch, partition.end_offset)


def _read_flexible_response(reader: Reader, version: int) -> OffsetForLeaderEpochResponse:
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
    topics: list[OffsetForLeaderEpochResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic", n - 1, size - pos)
        topics_topic = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 19 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetForLeaderEpochResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_error_code, partitions_partition, partitions_leader_epoch, partitions_end_offset, tags = unpack_hiiqB(data, pos)
            pos += 19
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(OffsetForLeaderEpochResponsePartition(partitions_error_code, partitions_partition, partitions_leader_epoch, partitions_end_offset))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(OffsetForLeaderEpochResponseTopic(topics_topic, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics)


def _read_older_response(reader: Reader, version: int) -> OffsetForLeaderEpochResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[OffsetForLeaderEpochResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("topic", n, size - pos)
        topics_topic = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetForLeaderEpochResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_error_code, partitions_partition, partitions_leader_epoch, partitions_end_offset = unpack_hiiq(data, pos)
            pos += 18
            topics_partitions.append(OffsetForLeaderEpochResponsePartition(partitions_error_code, partitions_partition, partitions_leader_epoch, partitions_end_offset))
        topics.append(OffsetForLeaderEpochResponseTopic(topics_topic, topics_partitions))
    reader.position = pos
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics)
