"""AlterReplicaLogDirs (key 34). Move replicas between a broker's log directories.

Generated from wire/schema/alter_replica_log_dirs.txt by tools/generate_messages.py: change that, not this.
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
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
pack_ihx: Final = struct.Struct(">ihx").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack


@final
class AlterReplicaLogDirsRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class AlterReplicaLogDirsRequestDir(Struct):
    __slots__ = ("path", "topics")
    FIELDS = ("path", "topics")

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirsRequestTopic] = EMPTY,
    ) -> None:
        self.path = path
        self.topics: list[AlterReplicaLogDirsRequestTopic] = [] if topics is EMPTY else topics


@final
class AlterReplicaLogDirsRequest(Message):
    __slots__ = ("dirs",)
    FIELDS = ("dirs",)
    KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        dirs: list[AlterReplicaLogDirsRequestDir] = EMPTY,
    ) -> None:
        self.dirs: list[AlterReplicaLogDirsRequestDir] = [] if dirs is EMPTY else dirs

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterReplicaLogDirsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterReplicaLogDirsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AlterReplicaLogDirsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.dirs) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for dir in self.dirs:
            raw = dir.path.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(dir.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in dir.topics:
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
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
                out.append(0)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.dirs)
        out += pack_i(n)
        for dir in self.dirs:
            raw = dir.path.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(dir.topics)
            out += pack_i(n)
            for topic in dir.topics:
                raw = topic.name.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(topic.partitions)
                out += pack_i(n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)


def _read_flexible_request(reader: Reader, version: int) -> AlterReplicaLogDirsRequest:
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
        raise too_many("dirs", n, size - pos)
    budget -= n
    dirs: list[AlterReplicaLogDirsRequestDir] = []
    dirs_count = n
    for _ in range(dirs_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("path", n - 1, size - pos)
        dirs_path = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        dirs_topics: list[AlterReplicaLogDirsRequestTopic] = []
        dirs_topics_count = n
        for _ in range(dirs_topics_count):
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
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            dirs_topics.append(AlterReplicaLogDirsRequestTopic(topics_name, topics_partitions))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        dirs.append(AlterReplicaLogDirsRequestDir(dirs_path, dirs_topics))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterReplicaLogDirsRequest(dirs)


def _read_older_request(reader: Reader, version: int) -> AlterReplicaLogDirsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("dirs", n, size - pos)
    budget -= n
    dirs: list[AlterReplicaLogDirsRequestDir] = []
    dirs_count = n
    for _ in range(dirs_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("path", n, size - pos)
        dirs_path = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        dirs_topics: list[AlterReplicaLogDirsRequestTopic] = []
        dirs_topics_count = n
        for _ in range(dirs_topics_count):
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
            topics_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            dirs_topics.append(AlterReplicaLogDirsRequestTopic(topics_name, topics_partitions))
        dirs.append(AlterReplicaLogDirsRequestDir(dirs_path, dirs_topics))
    reader.position = pos
    return AlterReplicaLogDirsRequest(dirs)


@final
class AlterReplicaLogDirsResponsePartition(Struct):
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
class AlterReplicaLogDirsResponseTopic(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirsResponsePartition] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[AlterReplicaLogDirsResponsePartition] = [] if partitions is EMPTY else partitions


@final
class AlterReplicaLogDirsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = ("throttle_time_ms", "results")
    KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterReplicaLogDirsResponseTopic] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterReplicaLogDirsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterReplicaLogDirsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AlterReplicaLogDirsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.results:
            raw = topic.topic_name.encode()
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
                out += pack_ihx(partition.partition_index, partition.error_code)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.results:
            raw = topic.topic_name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                out += pack_ih(partition.partition_index, partition.error_code)


def _read_flexible_response(reader: Reader, version: int) -> AlterReplicaLogDirsResponse:
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
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[AlterReplicaLogDirsResponseTopic] = []
    results_count = n
    for _ in range(results_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic_name", n - 1, size - pos)
        results_topic_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 7 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        results_partitions: list[AlterReplicaLogDirsResponsePartition] = []
        results_partitions_count = n
        for _ in range(results_partitions_count):
            partitions_partition_index, partitions_error_code, tags = unpack_ihB(data, pos)
            pos += 7
            if tags:
                pos = skip_tags(data, pos, tags)
            results_partitions.append(AlterReplicaLogDirsResponsePartition(partitions_partition_index, partitions_error_code))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        results.append(AlterReplicaLogDirsResponseTopic(results_topic_name, results_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterReplicaLogDirsResponse(throttle_time_ms, results)


def _read_older_response(reader: Reader, version: int) -> AlterReplicaLogDirsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[AlterReplicaLogDirsResponseTopic] = []
    results_count = n
    for _ in range(results_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("topic_name", n, size - pos)
        results_topic_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        results_partitions: list[AlterReplicaLogDirsResponsePartition] = []
        results_partitions_count = n
        for _ in range(results_partitions_count):
            partitions_partition_index, partitions_error_code = unpack_ih(data, pos)
            pos += 6
            results_partitions.append(AlterReplicaLogDirsResponsePartition(partitions_partition_index, partitions_error_code))
        results.append(AlterReplicaLogDirsResponseTopic(results_topic_name, results_partitions))
    reader.position = pos
    return AlterReplicaLogDirsResponse(throttle_time_ms, results)
