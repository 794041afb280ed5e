"""OffsetFetch (key 9). How far a group has read.

Generated from wire/schema/offset_fetch.txt by tools/generate_messages.py: change that, not this.
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

pack_16s: Final = struct.Struct(">16s").pack
unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_oB: Final = struct.Struct(">?B").unpack_from
pack_ox: Final = struct.Struct(">?x").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
pack_hx: Final = struct.Struct(">hx").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iqh: Final = struct.Struct(">iqh").unpack_from
pack_iqh: Final = struct.Struct(">iqh").pack
pack_iqi: Final = struct.Struct(">iqi").pack
unpack_iqiB: Final = struct.Struct(">iqiB").unpack_from
unpack_iqih: Final = struct.Struct(">iqih").unpack_from
pack_iqih: Final = struct.Struct(">iqih").pack


@final
class OffsetFetchRequestTopic(Struct):
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
class OffsetFetchRequestGroupTopic(Struct):
    __slots__ = ("name", "topic_id", "partition_indexes")
    FIELDS = ("name", "topic_id", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes


@final
class OffsetFetchRequestGroup(Struct):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics")
    FIELDS = ("group_id", "member_id", "member_epoch", "topics")

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestGroupTopic] | None = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics: list[OffsetFetchRequestGroupTopic] | None = [] if topics is EMPTY else topics


@final
class OffsetFetchRequest(Message):
    __slots__ = ("group_id", "topics", "groups", "require_stable")
    FIELDS = ("group_id", "topics", "groups", "require_stable")
    KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,
        groups: list[OffsetFetchRequestGroup] = EMPTY,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetFetchRequestTopic] | None = [] if topics is EMPTY else topics
        self.groups: list[OffsetFetchRequestGroup] = [] if groups is EMPTY else groups
        self.require_stable = require_stable

    @classmethod
    def read(cls, reader: Reader, version: int) -> "OffsetFetchRequest":
        try:
            if version >= 6:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("OffsetFetchRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 6:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"OffsetFetchRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version <= 7:
            raw = self.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        if version <= 7:
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
        if version >= 8:
            n = len(self.groups) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for group in self.groups:
                raw = group.group_id.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                if version >= 9:
                    group_member_id = group.member_id
                    if group_member_id is None:
                        raw = b""
                        n = 0
                    else:
                        raw = group_member_id.encode()
                        n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                if version >= 9:
                    out += pack_i(group.member_epoch)
                group_topics = group.topics
                if group_topics is None:
                    n = 0
                else:
                    n = len(group_topics) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if group_topics is not None:
                    for group_topic in group_topics:
                        if version <= 9:
                            raw = group_topic.name.encode()
                            n = len(raw) + 1
                            if n < 128:
                                out.append(n)
                            else:
                                write_uvarint(out, n)
                            out += raw
                        if version >= 10:
                            out += pack_16s(group_topic.topic_id)
                        n = len(group_topic.partition_indexes) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            write_uvarint(out, n)
                        out += struct.pack(f">{len(group_topic.partition_indexes)}i", *group_topic.partition_indexes)
                        out.append(0)
                out.append(0)
        if version >= 7:
            out += pack_ox(self.require_stable)
        else:
            out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        topics = self.topics
        if topics is None:
            if version < 2:
                raise ValueError(f"topics may not be null in version {version}")
            n = -1
        else:
            n = len(topics)
        out += pack_i(n)
        if topics is not None:
            for topic in topics:
                raw = topic.name.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(topic.partition_indexes)
                out += pack_i(n)
                out += struct.pack(f">{len(topic.partition_indexes)}i", *topic.partition_indexes)


def _read_flexible_request(reader: Reader, version: int) -> OffsetFetchRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    group_id = ""
    if version <= 7:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("group_id", n - 1, size - pos)
        group_id = data[pos:stop].tobytes().decode()
        pos = stop
    topics: list[OffsetFetchRequestTopic] | None = EMPTY
    if version <= 7:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
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
                topics.append(OffsetFetchRequestTopic(topics_name, topics_partition_indexes))
    groups: list[OffsetFetchRequestGroup] = EMPTY
    if version >= 8:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("groups", n, size - pos)
        budget -= n
        groups = []
        groups_count = n
        for _ in range(groups_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("group_id", n - 1, size - pos)
            groups_group_id = data[pos:stop].tobytes().decode()
            pos = stop
            groups_member_id = None
            if version >= 9:
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    groups_member_id = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("member_id", n - 1, size - pos)
                    groups_member_id = data[pos:stop].tobytes().decode()
                    pos = stop
            if version >= 9:
                groups_member_epoch, n = unpack_iB(data, pos)
                pos += 5
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
            else:
                n = data[pos]
                pos += 1
                groups_member_epoch = -1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
            n -= 1
            groups_topics: list[OffsetFetchRequestGroupTopic] | None
            if n == -1:
                groups_topics = None
            else:
                if n < 0 or n > (size - pos) // 2 or n > budget:
                    raise too_many("topics", n, size - pos)
                budget -= n
                groups_topics = []
                groups_topics_count = n
                for _ in range(groups_topics_count):
                    groups_topics_name = ""
                    if version <= 9:
                        n = data[pos]
                        pos += 1
                        if n > 127:
                            n, pos = long_uvarint(data, pos, n)
                        stop = pos + n - 1
                        if n == 0 or stop > size:
                            raise bad_length("name", n - 1, size - pos)
                        groups_topics_name = data[pos:stop].tobytes().decode()
                        pos = stop
                    if version >= 10:
                        groups_topics_topic_id, n = unpack_16sB(data, pos)
                        pos += 17
                        if n > 127:
                            n, pos = long_uvarint(data, pos, n)
                    else:
                        n = data[pos]
                        pos += 1
                        groups_topics_topic_id = ZERO_UUID
                        if n > 127:
                            n, pos = long_uvarint(data, pos, n)
                    n -= 1
                    if n < 0 or n > (size - pos) // 4 or n > budget:
                        raise too_many("partition_indexes", n, size - pos)
                    budget -= n
                    groups_topics_partition_indexes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
                    pos += 4 * n
                    tags = data[pos]
                    pos += 1
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    groups_topics.append(OffsetFetchRequestGroupTopic(groups_topics_name, groups_topics_topic_id, groups_topics_partition_indexes))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            groups.append(OffsetFetchRequestGroup(groups_group_id, groups_member_id, groups_member_epoch, groups_topics))
    if version >= 7:
        require_stable, tags = unpack_oB(data, pos)
        pos += 2
    else:
        tags = data[pos]
        pos += 1
        require_stable = False
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return OffsetFetchRequest(group_id, topics, groups, require_stable)


def _read_older_request(reader: Reader, version: int) -> OffsetFetchRequest:
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
    topics: list[OffsetFetchRequestTopic] | None
    if n == -1 and version >= 2:
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
                raise bad_length("name", n, size - pos)
            topics_name = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partition_indexes", n, size - pos)
            budget -= n
            topics_partition_indexes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            topics.append(OffsetFetchRequestTopic(topics_name, topics_partition_indexes))
    reader.position = pos
    return OffsetFetchRequest(group_id, topics, EMPTY, False)


@final
class OffsetFetchResponsePartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


@final
class OffsetFetchResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetFetchResponsePartition] = [] if partitions is EMPTY else partitions


@final
class OffsetFetchResponseGroupPartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


@final
class OffsetFetchResponseGroupTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetFetchResponseGroupPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[OffsetFetchResponseGroupPartition] = [] if partitions is EMPTY else partitions


@final
class OffsetFetchResponseGroup(Struct):
    __slots__ = ("group_id", "topics", "error_code")
    FIELDS = ("group_id", "topics", "error_code")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseGroupTopic] = EMPTY,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetFetchResponseGroupTopic] = [] if topics is EMPTY else topics
        self.error_code = error_code


@final
class OffsetFetchResponse(Message):
    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")
    FIELDS = ("throttle_time_ms", "topics", "error_code", "groups")
    KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = EMPTY,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetFetchResponseTopic] = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.groups: list[OffsetFetchResponseGroup] = [] if groups is EMPTY else groups

    @classmethod
    def read(cls, reader: Reader, version: int) -> "OffsetFetchResponse":
        try:
            if version >= 6:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("OffsetFetchResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 6:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"OffsetFetchResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        if version <= 7:
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
                    out += pack_iqi(partition.partition_index, partition.committed_offset, partition.committed_leader_epoch)
                    partition_metadata = partition.metadata
                    if partition_metadata is None:
                        raw = b""
                        n = 0
                    else:
                        raw = partition_metadata.encode()
                        n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out += pack_hx(partition.error_code)
                out.append(0)
        if version >= 8:
            pass
        else:
            out += pack_h(self.error_code)
        if version >= 8:
            n = len(self.groups) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for group in self.groups:
                raw = group.group_id.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(group.topics) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for group_topic in group.topics:
                    if version <= 9:
                        raw = group_topic.name.encode()
                        n = len(raw) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            write_uvarint(out, n)
                        out += raw
                    if version >= 10:
                        out += pack_16s(group_topic.topic_id)
                    n = len(group_topic.partitions) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    for group_partition in group_topic.partitions:
                        out += pack_iqi(group_partition.partition_index, group_partition.committed_offset, group_partition.committed_leader_epoch)
                        group_partition_metadata = group_partition.metadata
                        if group_partition_metadata is None:
                            raw = b""
                            n = 0
                        else:
                            raw = group_partition_metadata.encode()
                            n = len(raw) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            write_uvarint(out, n)
                        out += raw
                        out += pack_hx(group_partition.error_code)
                    out.append(0)
                out += pack_hx(group.error_code)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        if version >= 3:
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
                partition_metadata = partition.metadata
                if partition_metadata is None:
                    raw = b""
                    n = -1
                else:
                    raw = partition_metadata.encode()
                    n = len(raw)
                if version >= 5:
                    out += pack_iqih(partition.partition_index, partition.committed_offset, partition.committed_leader_epoch, n)
                else:
                    out += pack_iqh(partition.partition_index, partition.committed_offset, n)
                out += raw
                out += pack_h(partition.error_code)
        if version >= 2:
            out += pack_h(self.error_code)


def _read_flexible_response(reader: Reader, version: int) -> OffsetFetchResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (throttle_time_ms,) = unpack_i(data, pos)
    pos += 4
    topics: list[OffsetFetchResponseTopic] = EMPTY
    if version <= 7:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
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
            if n < 0 or n > (size - pos) // 20 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topics_partitions: list[OffsetFetchResponsePartition] = []
            topics_partitions_count = n
            for _ in range(topics_partitions_count):
                partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, n = unpack_iqiB(data, pos)
                pos += 17
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    partitions_metadata = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("metadata", n - 1, size - pos)
                    partitions_metadata = data[pos:stop].tobytes().decode()
                    pos = stop
                partitions_error_code, tags = unpack_hB(data, pos)
                pos += 3
                if tags:
                    pos = skip_tags(data, pos, tags)
                topics_partitions.append(OffsetFetchResponsePartition(partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, partitions_metadata, partitions_error_code))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics.append(OffsetFetchResponseTopic(topics_name, topics_partitions))
    if version >= 8:
        error_code = 0
    else:
        (error_code,) = unpack_h(data, pos)
        pos += 2
    groups: list[OffsetFetchResponseGroup] = EMPTY
    if version >= 8:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 5 or n > budget:
            raise too_many("groups", n, size - pos)
        budget -= n
        groups = []
        groups_count = n
        for _ in range(groups_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("group_id", n - 1, size - pos)
            groups_group_id = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 2 or n > budget:
                raise too_many("topics", n, size - pos)
            budget -= n
            groups_topics: list[OffsetFetchResponseGroupTopic] = []
            groups_topics_count = n
            for _ in range(groups_topics_count):
                groups_topics_name = ""
                if version <= 9:
                    n = data[pos]
                    pos += 1
                    if n > 127:
                        n, pos = long_uvarint(data, pos, n)
                    stop = pos + n - 1
                    if n == 0 or stop > size:
                        raise bad_length("name", n - 1, size - pos)
                    groups_topics_name = data[pos:stop].tobytes().decode()
                    pos = stop
                if version >= 10:
                    groups_topics_topic_id, n = unpack_16sB(data, pos)
                    pos += 17
                    if n > 127:
                        n, pos = long_uvarint(data, pos, n)
                else:
                    n = data[pos]
                    pos += 1
                    groups_topics_topic_id = ZERO_UUID
                    if n > 127:
                        n, pos = long_uvarint(data, pos, n)
                n -= 1
                if n < 0 or n > (size - pos) // 20 or n > budget:
                    raise too_many("partitions", n, size - pos)
                budget -= n
                groups_topics_partitions: list[OffsetFetchResponseGroupPartition] = []
                groups_topics_partitions_count = n
                for _ in range(groups_topics_partitions_count):
                    topics_partitions_partition_index, topics_partitions_committed_offset, topics_partitions_committed_leader_epoch, n = unpack_iqiB(data, pos)
                    pos += 17
                    if n > 127:
                        n, pos = long_uvarint(data, pos, n)
                    if n == 0:
                        topics_partitions_metadata = None
                    else:
                        stop = pos + n - 1
                        if stop > size:
                            raise bad_length("metadata", n - 1, size - pos)
                        topics_partitions_metadata = data[pos:stop].tobytes().decode()
                        pos = stop
                    topics_partitions_error_code, tags = unpack_hB(data, pos)
                    pos += 3
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    groups_topics_partitions.append(OffsetFetchResponseGroupPartition(topics_partitions_partition_index, topics_partitions_committed_offset, topics_partitions_committed_leader_epoch, topics_partitions_metadata, topics_partitions_error_code))
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                groups_topics.append(OffsetFetchResponseGroupTopic(groups_topics_name, groups_topics_topic_id, groups_topics_partitions))
            groups_error_code, tags = unpack_hB(data, pos)
            pos += 3
            if tags:
                pos = skip_tags(data, pos, tags)
            groups.append(OffsetFetchResponseGroup(groups_group_id, groups_topics, groups_error_code))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, groups)


def _read_older_response(reader: Reader, version: int) -> OffsetFetchResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 3:
        throttle_time_ms, n = unpack_ii(data, pos)
        pos += 8
    else:
        (n,) = unpack_i(data, pos)
        pos += 4
        throttle_time_ms = 0
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[OffsetFetchResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 16 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[OffsetFetchResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            if version >= 5:
                partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, n = unpack_iqih(data, pos)
                pos += 18
            else:
                partitions_partition_index, partitions_committed_offset, n = unpack_iqh(data, pos)
                pos += 14
                partitions_committed_leader_epoch = -1
            if n == -1:
                partitions_metadata = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("metadata", n, size - pos)
                partitions_metadata = data[pos:stop].tobytes().decode()
                pos = stop
            (partitions_error_code,) = unpack_h(data, pos)
            pos += 2
            topics_partitions.append(OffsetFetchResponsePartition(partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, partitions_metadata, partitions_error_code))
        topics.append(OffsetFetchResponseTopic(topics_name, topics_partitions))
    if version >= 2:
        (error_code,) = unpack_h(data, pos)
        pos += 2
    else:
        error_code = 0
    reader.position = pos
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, EMPTY)
