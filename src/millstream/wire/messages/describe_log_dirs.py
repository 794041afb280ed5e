"""DescribeLogDirs (key 35). Sizes of logs, by log directory.

Generated from wire/schema/describe_log_dirs.txt by tools/generate_messages.py: change that, not this.
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
unpack_hB: Final = struct.Struct(">hB").unpack_from
unpack_hh: Final = struct.Struct(">hh").unpack_from
pack_hh: Final = struct.Struct(">hh").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iqqo: Final = struct.Struct(">iqq?").unpack_from
pack_iqqo: Final = struct.Struct(">iqq?").pack
unpack_iqqoB: Final = struct.Struct(">iqq?B").unpack_from
pack_iqqox: Final = struct.Struct(">iqq?x").pack
unpack_qqoB: Final = struct.Struct(">qq?B").unpack_from
pack_qqox: Final = struct.Struct(">qq?x").pack
unpack_qqB: Final = struct.Struct(">qqB").unpack_from
pack_qqx: Final = struct.Struct(">qqx").pack


@final
class DescribeLogDirsRequestTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class DescribeLogDirsRequest(Message):
    __slots__ = ("topics",)
    FIELDS = ("topics",)
    KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        topics: list[DescribeLogDirsRequestTopic] | None = EMPTY,
    ) -> None:
        self.topics: list[DescribeLogDirsRequestTopic] | None = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeLogDirsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeLogDirsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeLogDirsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
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
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
                out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        topics = self.topics
        if topics is None:
            n = -1
        else:
            n = len(topics)
        out += pack_i(n)
        if topics is not None:
            for topic in topics:
                raw = topic.topic.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(topic.partitions)
                out += pack_i(n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)


def _read_flexible_request(reader: Reader, version: int) -> DescribeLogDirsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    topics: list[DescribeLogDirsRequestTopic] | None
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
                raise bad_length("topic", n - 1, size - pos)
            topics_topic = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics.append(DescribeLogDirsRequestTopic(topics_topic, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeLogDirsRequest(topics)


def _read_older_request(reader: Reader, version: int) -> DescribeLogDirsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    topics: list[DescribeLogDirsRequestTopic] | None
    if n == -1:
        topics = None
    else:
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        topics = []
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
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            topics.append(DescribeLogDirsRequestTopic(topics_topic, topics_partitions))
    reader.position = pos
    return DescribeLogDirsRequest(topics)


@final
class DescribeLogDirsResponsePartition(Struct):
    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    FIELDS = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


@final
class DescribeLogDirsResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[DescribeLogDirsResponsePartition] = [] if partitions is EMPTY else partitions


@final
class DescribeLogDirsResponseLogDir(Struct):
    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    FIELDS = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsResponseTopic] = EMPTY,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics: list[DescribeLogDirsResponseTopic] = [] if topics is EMPTY else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


@final
class DescribeLogDirsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "results")
    FIELDS = ("throttle_time_ms", "error_code", "results")
    KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResponseLogDir] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results: list[DescribeLogDirsResponseLogDir] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeLogDirsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeLogDirsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeLogDirsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 3:
            out += pack_ih(self.throttle_time_ms, self.error_code)
        else:
            out += pack_i(self.throttle_time_ms)
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for log_dir in self.results:
            out += pack_h(log_dir.error_code)
            raw = log_dir.log_dir.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(log_dir.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in log_dir.topics:
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
                    out += pack_iqqox(partition.partition_index, partition.partition_size, partition.offset_lag, partition.is_future_key)
                out.append(0)
            if version >= 5:
                out += pack_qqox(log_dir.total_bytes, log_dir.usable_bytes, log_dir.is_cordoned)
            elif version >= 4:
                out += pack_qqx(log_dir.total_bytes, log_dir.usable_bytes)
            else:
                out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results)
        out += pack_ii(self.throttle_time_ms, n)
        for log_dir in self.results:
            raw = log_dir.log_dir.encode()
            n = len(raw)
            out += pack_hh(log_dir.error_code, n)
            out += raw
            n = len(log_dir.topics)
            out += pack_i(n)
            for topic in log_dir.topics:
                raw = topic.name.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(topic.partitions)
                out += pack_i(n)
                for partition in topic.partitions:
                    out += pack_iqqo(partition.partition_index, partition.partition_size, partition.offset_lag, partition.is_future_key)


def _read_flexible_response(reader: Reader, version: int) -> DescribeLogDirsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 3:
        throttle_time_ms, error_code, n = unpack_ihB(data, pos)
        pos += 7
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    else:
        throttle_time_ms, n = unpack_iB(data, pos)
        pos += 5
        error_code = 0
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 5 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[DescribeLogDirsResponseLogDir] = []
    results_count = n
    for _ in range(results_count):
        results_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("log_dir", n - 1, size - pos)
        results_log_dir = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        results_topics: list[DescribeLogDirsResponseTopic] = []
        results_topics_count = n
        for _ in range(results_topics_count):
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
            if n < 0 or n > (size - pos) // 22 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[DescribeLogDirsResponsePartition] = []
            topics_partitions_count = n
            for _ in range(topics_partitions_count):
                partitions_partition_index, partitions_partition_size, partitions_offset_lag, partitions_is_future_key, tags = unpack_iqqoB(data, pos)
                pos += 22
                if tags:
                    pos = skip_tags(data, pos, tags)
                topics_partitions.append(DescribeLogDirsResponsePartition(partitions_partition_index, partitions_partition_size, partitions_offset_lag, partitions_is_future_key))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            results_topics.append(DescribeLogDirsResponseTopic(topics_name, topics_partitions))
        if version >= 5:
            results_total_bytes, results_usable_bytes, results_is_cordoned, tags = unpack_qqoB(data, pos)
            pos += 18
        elif version >= 4:
            results_total_bytes, results_usable_bytes, tags = unpack_qqB(data, pos)
            pos += 17
            results_is_cordoned = False
        else:
            tags = data[pos]
            pos += 1
            results_total_bytes = -1
            results_usable_bytes = -1
            results_is_cordoned = False
        if tags:
            pos = skip_tags(data, pos, tags)
        results.append(DescribeLogDirsResponseLogDir(results_error_code, results_log_dir, results_topics, results_total_bytes, results_usable_bytes, results_is_cordoned))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results)


def _read_older_response(reader: Reader, version: int) -> DescribeLogDirsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[DescribeLogDirsResponseLogDir] = []
    results_count = n
    for _ in range(results_count):
        results_error_code, n = unpack_hh(data, pos)
        pos += 4
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("log_dir", n, size - pos)
        results_log_dir = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        results_topics: list[DescribeLogDirsResponseTopic] = []
        results_topics_count = n
        for _ in range(results_topics_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("name", n, size - pos)
            topics_name = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 21 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[DescribeLogDirsResponsePartition] = []
            topics_partitions_count = n
            for _ in range(topics_partitions_count):
                partitions_partition_index, partitions_partition_size, partitions_offset_lag, partitions_is_future_key = unpack_iqqo(data, pos)
                pos += 21
                topics_partitions.append(DescribeLogDirsResponsePartition(partitions_partition_index, partitions_partition_size, partitions_offset_lag, partitions_is_future_key))
            results_topics.append(DescribeLogDirsResponseTopic(topics_name, topics_partitions))
        results.append(DescribeLogDirsResponseLogDir(results_error_code, results_log_dir, results_topics, -1, -1, False))
    reader.position = pos
    return DescribeLogDirsResponse(throttle_time_ms, 0, results)
