"""TxnOffsetCommit (key 28). Remember how far a group has read, once a transaction commits.

Generated from wire/schema/txn_offset_commit.txt by tools/generate_messages.py: change that, not this.
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
unpack_iqh: Final = struct.Struct(">iqh").unpack_from
pack_iqh: Final = struct.Struct(">iqh").pack
pack_iqi: Final = struct.Struct(">iqi").pack
unpack_iqiB: Final = struct.Struct(">iqiB").unpack_from
unpack_iqih: Final = struct.Struct(">iqih").unpack_from
pack_iqih: Final = struct.Struct(">iqih").pack
unpack_qhi: Final = struct.Struct(">qhi").unpack_from
pack_qhi: Final = struct.Struct(">qhi").pack
unpack_qhiB: Final = struct.Struct(">qhiB").unpack_from


@final
class TxnOffsetCommitRequestPartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")
    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


@final
class TxnOffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[TxnOffsetCommitRequestPartition] = [] if partitions is EMPTY else partitions


@final
class TxnOffsetCommitRequest(Message):
    __slots__ = ("transactional_id", "group_id", "producer_id", "producer_epoch", "generation_id", "member_id", "group_instance_id", "topics")
    FIELDS = ("transactional_id", "group_id", "producer_id", "producer_epoch", "generation_id", "member_id", "group_instance_id", "topics")
    KEY = 28
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics: list[TxnOffsetCommitRequestTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "TxnOffsetCommitRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("TxnOffsetCommitRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"TxnOffsetCommitRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_qhi(self.producer_id, self.producer_epoch, self.generation_id)
        raw = self.member_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        group_instance_id = self.group_instance_id
        if group_instance_id is None:
            raw = b""
            n = 0
        else:
            raw = group_instance_id.encode()
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
                out += pack_iqi(partition.partition_index, partition.committed_offset, partition.committed_leader_epoch)
                partition_committed_metadata = partition.committed_metadata
                if partition_committed_metadata is None:
                    raw = b""
                    n = 0
                else:
                    raw = partition_committed_metadata.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.transactional_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        n = len(self.topics)
        out += pack_qhi(self.producer_id, self.producer_epoch, n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                partition_committed_metadata = partition.committed_metadata
                if partition_committed_metadata is None:
                    raw = b""
                    n = -1
                else:
                    raw = partition_committed_metadata.encode()
                    n = len(raw)
                if version >= 2:
                    out += pack_iqih(partition.partition_index, partition.committed_offset, partition.committed_leader_epoch, n)
                else:
                    out += pack_iqh(partition.partition_index, partition.committed_offset, n)
                out += raw


def _read_flexible_request(reader: Reader, version: int) -> TxnOffsetCommitRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("transactional_id", n - 1, size - pos)
    transactional_id = data[pos:stop].tobytes().decode()
    pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("group_id", n - 1, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    producer_id, producer_epoch, generation_id, n = unpack_qhiB(data, pos)
    pos += 15
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("member_id", n - 1, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        group_instance_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("group_instance_id", n - 1, size - pos)
        group_instance_id = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[TxnOffsetCommitRequestTopic] = []
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
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[TxnOffsetCommitRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, n = unpack_iqiB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                partitions_committed_metadata = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("committed_metadata", n - 1, size - pos)
                partitions_committed_metadata = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(TxnOffsetCommitRequestPartition(partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, partitions_committed_metadata))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(TxnOffsetCommitRequestTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics)


def _read_older_request(reader: Reader, version: int) -> TxnOffsetCommitRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("transactional_id", n, size - pos)
    transactional_id = data[pos:stop].tobytes().decode()
    pos = stop
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("group_id", n, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    producer_id, producer_epoch, n = unpack_qhi(data, pos)
    pos += 14
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[TxnOffsetCommitRequestTopic] = []
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
        topics_partitions: list[TxnOffsetCommitRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            if version >= 2:
                partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, n = unpack_iqih(data, pos)
                pos += 18
            else:
                partitions_partition_index, partitions_committed_offset, n = unpack_iqh(data, pos)
                pos += 14
                partitions_committed_leader_epoch = -1
            if n == -1:
                partitions_committed_metadata = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("committed_metadata", n, size - pos)
                partitions_committed_metadata = data[pos:stop].tobytes().decode()
                pos = stop
            topics_partitions.append(TxnOffsetCommitRequestPartition(partitions_partition_index, partitions_committed_offset, partitions_committed_leader_epoch, partitions_committed_metadata))
        topics.append(TxnOffsetCommitRequestTopic(topics_name, topics_partitions))
    reader.position = pos
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics)


@final
class TxnOffsetCommitResponsePartition(Struct):
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
class TxnOffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[TxnOffsetCommitResponsePartition] = [] if partitions is EMPTY else partitions


@final
class TxnOffsetCommitResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = ("throttle_time_ms", "topics")
    KEY = 28
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[TxnOffsetCommitResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "TxnOffsetCommitResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("TxnOffsetCommitResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"TxnOffsetCommitResponse v{version}: {error}") from error

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
                out += pack_ihx(partition.partition_index, partition.error_code)
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
                out += pack_ih(partition.partition_index, partition.error_code)


def _read_flexible_response(reader: Reader, version: int) -> TxnOffsetCommitResponse:
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
    topics: list[TxnOffsetCommitResponseTopic] = []
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
        if n < 0 or n > (size - pos) // 7 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[TxnOffsetCommitResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_error_code, tags = unpack_ihB(data, pos)
            pos += 7
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(TxnOffsetCommitResponsePartition(partitions_partition_index, partitions_error_code))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(TxnOffsetCommitResponseTopic(topics_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return TxnOffsetCommitResponse(throttle_time_ms, topics)


def _read_older_response(reader: Reader, version: int) -> TxnOffsetCommitResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[TxnOffsetCommitResponseTopic] = []
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
        topics_partitions: list[TxnOffsetCommitResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_error_code = unpack_ih(data, pos)
            pos += 6
            topics_partitions.append(TxnOffsetCommitResponsePartition(partitions_partition_index, partitions_error_code))
        topics.append(TxnOffsetCommitResponseTopic(topics_name, topics_partitions))
    reader.position = pos
    return TxnOffsetCommitResponse(throttle_time_ms, topics)
