"""DescribeProducers (key 61). Who writes to a partition, and whose transactions are open there.

Generated from wire/schema/describe_producers.txt by tools/generate_messages.py: change that, not this.
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
unpack_qiiqiqB: Final = struct.Struct(">qiiqiqB").unpack_from
pack_qiiqiqx: Final = struct.Struct(">qiiqiqx").pack


@final
class DescribeProducersRequestTopic(Struct):
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
class DescribeProducersRequest(Message):
    __slots__ = ("topics",)
    FIELDS = ("topics",)
    KEY = 61
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        topics: list[DescribeProducersRequestTopic] = EMPTY,
    ) -> None:
        self.topics: list[DescribeProducersRequestTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeProducersRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeProducersRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeProducersRequest v{version}: {error}") from error

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
            n = len(topic.partition_indexes) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += struct.pack(f">{len(topic.partition_indexes)}i", *topic.partition_indexes)
            out.append(0)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> DescribeProducersRequest:
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
    topics: list[DescribeProducersRequestTopic] = []
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
        topics.append(DescribeProducersRequestTopic(topics_name, topics_partition_indexes))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeProducersRequest(topics)


@final
class DescribeProducersResponseProducer(Struct):
    __slots__ = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")
    FIELDS = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


@final
class DescribeProducersResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "active_producers")
    FIELDS = ("partition_index", "error_code", "error_message", "active_producers")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[DescribeProducersResponseProducer] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers: list[DescribeProducersResponseProducer] = [] if active_producers is EMPTY else active_producers


@final
class DescribeProducersResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeProducersResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[DescribeProducersResponsePartition] = [] if partitions is EMPTY else partitions


@final
class DescribeProducersResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = ("throttle_time_ms", "topics")
    KEY = 61
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeProducersResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DescribeProducersResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeProducersResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeProducersResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeProducersResponse v{version}: {error}") from error

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
                n = len(partition.active_producers) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for producer in partition.active_producers:
                    out += pack_qiiqiqx(producer.producer_id, producer.producer_epoch, producer.last_sequence, producer.last_timestamp, producer.coordinator_epoch, producer.current_txn_start_offset)
                out.append(0)
            out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> DescribeProducersResponse:
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
    topics: list[DescribeProducersResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 9 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DescribeProducersResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
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
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 37 or n > budget:
                raise too_many("active_producers", n, size - pos)
            budget -= n
            partitions_active_producers: list[DescribeProducersResponseProducer] = []
            partitions_active_producers_count = n
            for _ in range(partitions_active_producers_count):
                active_producers_producer_id, active_producers_producer_epoch, active_producers_last_sequence, active_producers_last_timestamp, active_producers_coordinator_epoch, active_producers_current_txn_start_offset, tags = unpack_qiiqiqB(data, pos)
                pos += 37
                if tags:
                    pos = skip_tags(data, pos, tags)
                partitions_active_producers.append(DescribeProducersResponseProducer(active_producers_producer_id, active_producers_producer_epoch, active_producers_last_sequence, active_producers_last_timestamp, active_producers_coordinator_epoch, active_producers_current_txn_start_offset))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(DescribeProducersResponsePartition(partitions_partition_index, partitions_error_code, partitions_error_message, partitions_active_producers))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DescribeProducersResponseTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeProducersResponse(throttle_time_ms, topics)
