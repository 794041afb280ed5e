"""Fetch (key 1). Read record batches from partitions, as a consumer or as a follower.

Generated from wire/schema/fetch.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    ZERO_UUID,
    Piece,
    Reader,
    Records,
    bad_length,
    long_uvarint,
    malformed,
    read_tags,
    size_of,
    skip_tags,
    too_many,
    write_records,
    write_tags,
    write_uvarint,
)

unpack_16s: Final = struct.Struct(">16s").unpack_from
pack_16s: Final = struct.Struct(">16s").pack
unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ihi: Final = struct.Struct(">ihi").pack
unpack_ihiB: Final = struct.Struct(">ihiB").unpack_from
unpack_ihii: Final = struct.Struct(">ihii").unpack_from
pack_ihii: Final = struct.Struct(">ihii").pack
unpack_ihqqi: Final = struct.Struct(">ihqqi").unpack_from
pack_ihqqi: Final = struct.Struct(">ihqqi").pack
pack_ihqqq: Final = struct.Struct(">ihqqq").pack
unpack_ihqqqB: Final = struct.Struct(">ihqqqB").unpack_from
unpack_ihqqqi: Final = struct.Struct(">ihqqqi").unpack_from
pack_ihqqqi: Final = struct.Struct(">ihqqqi").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iiB: Final = struct.Struct(">iiB").unpack_from
pack_iiibii: Final = struct.Struct(">iiibii").pack
unpack_iiibiiB: Final = struct.Struct(">iiibiiB").unpack_from
unpack_iiiibi: Final = struct.Struct(">iiiibi").unpack_from
pack_iiiibi: Final = struct.Struct(">iiiibi").pack
pack_iiiibii: Final = struct.Struct(">iiiibii").pack
unpack_iiiibiiB: Final = struct.Struct(">iiiibiiB").unpack_from
unpack_iiiibiii: Final = struct.Struct(">iiiibiii").unpack_from
pack_iiiibiii: Final = struct.Struct(">iiiibiii").pack
pack_iiqiqi: Final = struct.Struct(">iiqiqi").pack
unpack_iiqiqiB: Final = struct.Struct(">iiqiqiB").unpack_from
unpack_iiqqi: Final = struct.Struct(">iiqqi").unpack_from
pack_iiqqi: Final = struct.Struct(">iiqqi").pack
pack_iix: Final = struct.Struct(">iix").pack
unpack_iqB: Final = struct.Struct(">iqB").unpack_from
unpack_iqi: Final = struct.Struct(">iqi").unpack_from
pack_iqi: Final = struct.Struct(">iqi").pack
unpack_iqqi: Final = struct.Struct(">iqqi").unpack_from
pack_iqqi: Final = struct.Struct(">iqqi").pack
pack_iqx: Final = struct.Struct(">iqx").pack
unpack_q: Final = struct.Struct(">q").unpack_from
pack_q: Final = struct.Struct(">q").pack
unpack_qiB: Final = struct.Struct(">qiB").unpack_from
pack_qix: Final = struct.Struct(">qix").pack
unpack_qq: Final = struct.Struct(">qq").unpack_from
pack_qq: Final = struct.Struct(">qq").pack
unpack_qqB: Final = struct.Struct(">qqB").unpack_from
pack_qqx: Final = struct.Struct(">qqx").pack


@final
class FetchRequestPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")
    FIELDS = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


@final
class FetchRequestTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchRequestPartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: list[FetchRequestPartition] = [] if partitions is EMPTY else partitions


@final
class FetchRequestForgottenTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class FetchRequestReplicaState(Struct):
    __slots__ = ("replica_id", "replica_epoch")
    FIELDS = ("replica_id", "replica_epoch")

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


@final
class FetchRequest(Message):
    __slots__ = ("replica_id", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id", "cluster_id", "replica_state")
    FIELDS = ("replica_id", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id", "cluster_id", "replica_state")
    KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12

    def __init__(
        self,
        replica_id: int = -1,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchRequestTopic] = EMPTY,
        forgotten_topics_data: list[FetchRequestForgottenTopic] = EMPTY,
        rack_id: str = "",
        cluster_id: str | None = None,
        replica_state: FetchRequestReplicaState | None = None,
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics: list[FetchRequestTopic] = [] if topics is EMPTY else topics
        self.forgotten_topics_data: list[FetchRequestForgottenTopic] = [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        self.rack_id = rack_id
        self.cluster_id = cluster_id
        self.replica_state = replica_state

    @classmethod
    def read(cls, reader: Reader, version: int) -> "FetchRequest":
        try:
            if version >= 12:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("FetchRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 12:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"FetchRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 15:
            out += pack_iiibii(self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level, self.session_id, self.session_epoch)
        else:
            out += pack_iiiibii(self.replica_id, self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level, self.session_id, self.session_epoch)
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
            if version <= 12:
                raw = topic.topic.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            if version >= 13:
                out += pack_16s(topic.topic_id)
            n = len(topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partitions:
                out += pack_iiqiqi(partition.partition, partition.current_leader_epoch, partition.fetch_offset, partition.last_fetched_epoch, partition.log_start_offset, partition.partition_max_bytes)
                if (version < 17 or partition.replica_directory_id == ZERO_UUID) and (version < 18 or partition.high_watermark == 9223372036854775807):
                    out.append(0)
                else:
                    partition_tags: list[tuple[int, bytearray]] = []
                    if version >= 17 and partition.replica_directory_id != ZERO_UUID:
                        tag = bytearray()
                        tag += pack_16s(partition.replica_directory_id)
                        partition_tags.append((0, tag))
                    if version >= 18 and partition.high_watermark != 9223372036854775807:
                        tag = bytearray()
                        tag += pack_q(partition.high_watermark)
                        partition_tags.append((1, tag))
                    write_tags(out, partition_tags)
            out.append(0)
        n = len(self.forgotten_topics_data) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for forgotten_topic in self.forgotten_topics_data:
            if version <= 12:
                raw = forgotten_topic.topic.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            if version >= 13:
                out += pack_16s(forgotten_topic.topic_id)
            n = len(forgotten_topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += struct.pack(f">{len(forgotten_topic.partitions)}i", *forgotten_topic.partitions)
            out.append(0)
        raw = self.rack_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        if self.cluster_id is None and (version < 15 or self.replica_state is None):
            out.append(0)
        else:
            tags: list[tuple[int, bytearray]] = []
            if self.cluster_id is not None:
                tag = bytearray()
                raw = self.cluster_id.encode()
                n = len(raw) + 1
                if n < 128:
                    tag.append(n)
                else:
                    write_uvarint(tag, n)
                tag += raw
                tags.append((0, tag))
            replica_state = self.replica_state
            if version >= 15 and replica_state is not None and replica_state != FetchRequestReplicaState():
                tag = bytearray()
                tag += pack_iqx(replica_state.replica_id, replica_state.replica_epoch)
                tags.append((1, tag))
            write_tags(out, tags)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        if version >= 7:
            out += pack_iiiibiii(self.replica_id, self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level, self.session_id, self.session_epoch, n)
        else:
            out += pack_iiiibi(self.replica_id, self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level, n)
        for topic in self.topics:
            raw = topic.topic.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                if version >= 9:
                    out += pack_iiqqi(partition.partition, partition.current_leader_epoch, partition.fetch_offset, partition.log_start_offset, partition.partition_max_bytes)
                elif version >= 5:
                    out += pack_iqqi(partition.partition, partition.fetch_offset, partition.log_start_offset, partition.partition_max_bytes)
                else:
                    out += pack_iqi(partition.partition, partition.fetch_offset, partition.partition_max_bytes)
        if version >= 7:
            n = len(self.forgotten_topics_data)
            out += pack_i(n)
            for forgotten_topic in self.forgotten_topics_data:
                raw = forgotten_topic.topic.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(forgotten_topic.partitions)
                out += pack_i(n)
                out += struct.pack(f">{len(forgotten_topic.partitions)}i", *forgotten_topic.partitions)
        if version >= 11:
            raw = self.rack_id.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw


def _read_flexible_request(reader: Reader, version: int) -> FetchRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 15:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = unpack_iiibiiB(data, pos)
        pos += 22
        replica_id = -1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    else:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = unpack_iiiibiiB(data, pos)
        pos += 26
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[FetchRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        topics_topic = ""
        if version <= 12:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("topic", n - 1, size - pos)
            topics_topic = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 13:
            topics_topic_id, n = unpack_16sB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        else:
            n = data[pos]
            pos += 1
            topics_topic_id = ZERO_UUID
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 33 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[FetchRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition, partitions_current_leader_epoch, partitions_fetch_offset, partitions_last_fetched_epoch, partitions_log_start_offset, partitions_partition_max_bytes, tags = unpack_iiqiqiB(data, pos)
            pos += 33
            partitions_replica_directory_id = ZERO_UUID
            partitions_high_watermark = 9223372036854775807
            if tags:
                partitions_spans, partitions_after = read_tags(data, pos, tags)
                if version >= 17 and 0 in partitions_spans:
                    pos, partitions_replica_directory_id_end = partitions_spans[0]
                    (partitions_replica_directory_id,) = unpack_16s(data, pos)
                    pos += 16
                    if pos != partitions_replica_directory_id_end:
                        raise bad_length("replica_directory_id", partitions_replica_directory_id_end - pos, size - pos)
                if version >= 18 and 1 in partitions_spans:
                    pos, partitions_high_watermark_end = partitions_spans[1]
                    (partitions_high_watermark,) = unpack_q(data, pos)
                    pos += 8
                    if pos != partitions_high_watermark_end:
                        raise bad_length("high_watermark", partitions_high_watermark_end - pos, size - pos)
                pos = partitions_after
            topics_partitions.append(FetchRequestPartition(partitions_partition, partitions_current_leader_epoch, partitions_fetch_offset, partitions_last_fetched_epoch, partitions_log_start_offset, partitions_partition_max_bytes, partitions_replica_directory_id, partitions_high_watermark))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(FetchRequestTopic(topics_topic, topics_topic_id, topics_partitions))
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("forgotten_topics_data", n, size - pos)
    budget -= n
    forgotten_topics_data: list[FetchRequestForgottenTopic] = []
    forgotten_topics_data_count = n
    for _ in range(forgotten_topics_data_count):
        forgotten_topics_data_topic = ""
        if version <= 12:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("topic", n - 1, size - pos)
            forgotten_topics_data_topic = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 13:
            forgotten_topics_data_topic_id, n = unpack_16sB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        else:
            n = data[pos]
            pos += 1
            forgotten_topics_data_topic_id = ZERO_UUID
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        forgotten_topics_data_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
        pos += 4 * n
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        forgotten_topics_data.append(FetchRequestForgottenTopic(forgotten_topics_data_topic, forgotten_topics_data_topic_id, forgotten_topics_data_partitions))
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("rack_id", n - 1, size - pos)
    rack_id = data[pos:stop].tobytes().decode()
    pos = stop
    tags = data[pos]
    pos += 1
    cluster_id = None
    replica_state = None
    if tags:
        spans, after = read_tags(data, pos, tags)
        if 0 in spans:
            pos, cluster_id_end = spans[0]
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                cluster_id = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("cluster_id", n - 1, size - pos)
                cluster_id = data[pos:stop].tobytes().decode()
                pos = stop
            if pos != cluster_id_end:
                raise bad_length("cluster_id", cluster_id_end - pos, size - pos)
        if version >= 15 and 1 in spans:
            pos, replica_state_end = spans[1]
            replica_state_replica_id, replica_state_replica_epoch, tags = unpack_iqB(data, pos)
            pos += 13
            if tags:
                pos = skip_tags(data, pos, tags)
            replica_state = FetchRequestReplicaState(replica_state_replica_id, replica_state_replica_epoch)
            if pos != replica_state_end:
                raise bad_length("replica_state", replica_state_end - pos, size - pos)
        pos = after
    reader.position = pos
    return FetchRequest(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id, cluster_id, replica_state)


def _read_older_request(reader: Reader, version: int) -> FetchRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 7:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = unpack_iiiibiii(data, pos)
        pos += 29
    else:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = unpack_iiiibi(data, pos)
        pos += 21
        session_id = 0
        session_epoch = -1
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[FetchRequestTopic] = []
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
        if n < 0 or n > (size - pos) // 16 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[FetchRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            if version >= 9:
                partitions_partition, partitions_current_leader_epoch, partitions_fetch_offset, partitions_log_start_offset, partitions_partition_max_bytes = unpack_iiqqi(data, pos)
                pos += 28
            elif version >= 5:
                partitions_partition, partitions_fetch_offset, partitions_log_start_offset, partitions_partition_max_bytes = unpack_iqqi(data, pos)
                pos += 24
                partitions_current_leader_epoch = -1
            else:
                partitions_partition, partitions_fetch_offset, partitions_partition_max_bytes = unpack_iqi(data, pos)
                pos += 16
                partitions_current_leader_epoch = -1
                partitions_log_start_offset = -1
            topics_partitions.append(FetchRequestPartition(partitions_partition, partitions_current_leader_epoch, partitions_fetch_offset, -1, partitions_log_start_offset, partitions_partition_max_bytes, ZERO_UUID, 9223372036854775807))
        topics.append(FetchRequestTopic(topics_topic, ZERO_UUID, topics_partitions))
    forgotten_topics_data: list[FetchRequestForgottenTopic] = EMPTY
    if version >= 7:
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("forgotten_topics_data", n, size - pos)
        budget -= n
        forgotten_topics_data = []
        forgotten_topics_data_count = n
        for _ in range(forgotten_topics_data_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("topic", n, size - pos)
            forgotten_topics_data_topic = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            forgotten_topics_data_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            forgotten_topics_data.append(FetchRequestForgottenTopic(forgotten_topics_data_topic, ZERO_UUID, forgotten_topics_data_partitions))
    rack_id = ""
    if version >= 11:
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("rack_id", n, size - pos)
        rack_id = data[pos:stop].tobytes().decode()
        pos = stop
    reader.position = pos
    return FetchRequest(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id, None, None)


@final
class FetchResponseAbortedTransaction(Struct):
    __slots__ = ("producer_id", "first_offset")
    FIELDS = ("producer_id", "first_offset")

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


@final
class FetchResponseDivergingEpoch(Struct):
    __slots__ = ("epoch", "end_offset")
    FIELDS = ("epoch", "end_offset")

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


@final
class FetchResponseCurrentLeader(Struct):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


@final
class FetchResponseSnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")
    FIELDS = ("end_offset", "epoch")

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


@final
class FetchResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "aborted_transactions", "preferred_read_replica", "records", "diverging_epoch", "current_leader", "snapshot_id")
    FIELDS = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "aborted_transactions", "preferred_read_replica", "records", "diverging_epoch", "current_leader", "snapshot_id")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted_transactions: list[FetchResponseAbortedTransaction] | None = EMPTY,
        preferred_read_replica: int = -1,
        records: Records | None = None,
        diverging_epoch: FetchResponseDivergingEpoch | None = None,
        current_leader: FetchResponseCurrentLeader | None = None,
        snapshot_id: FetchResponseSnapshotId | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.aborted_transactions: list[FetchResponseAbortedTransaction] | None = [] if aborted_transactions is EMPTY else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id


@final
class FetchResponseTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchResponsePartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: list[FetchResponsePartition] = [] if partitions is EMPTY else partitions


@final
class FetchResponseNodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


@final
class FetchResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    FIELDS = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchResponseTopic] = EMPTY,
        node_endpoints: list[FetchResponseNodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses: list[FetchResponseTopic] = [] if responses is EMPTY else responses
        self.node_endpoints: list[FetchResponseNodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @classmethod
    def read(cls, reader: Reader, version: int) -> "FetchResponse":
        try:
            if version >= 12:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("FetchResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 12:
                self._write_flexible(out, version, None)
            else:
                self._write_older(out, version, None)
        except struct.error as error:
            raise ValueError(f"FetchResponse v{version}: {error}") from error

    def write_pieces(self, out: bytearray, version: int) -> list[Piece]:
        """As `write`, going on after *out*; large or absent records are not copied."""
        pieces: list[Piece] = []
        try:
            if version >= 12:
                out = self._write_flexible(out, version, pieces)
            else:
                out = self._write_older(out, version, pieces)
        except struct.error as error:
            raise ValueError(f"FetchResponse v{version}: {error}") from error
        if out:
            pieces.append(out)
        return pieces

    def _write_flexible(self, out: bytearray, version: int, pieces: list[Piece] | None) -> bytearray:
        out += pack_ihi(self.throttle_time_ms, self.error_code, self.session_id)
        n = len(self.responses) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.responses:
            if version <= 12:
                raw = topic.topic.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            if version >= 13:
                out += pack_16s(topic.topic_id)
            n = len(topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partitions:
                out += pack_ihqqq(partition.partition_index, partition.error_code, partition.high_watermark, partition.last_stable_offset, partition.log_start_offset)
                partition_aborted_transactions = partition.aborted_transactions
                if partition_aborted_transactions is None:
                    n = 0
                else:
                    n = len(partition_aborted_transactions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if partition_aborted_transactions is not None:
                    for aborted_transaction in partition_aborted_transactions:
                        out += pack_qqx(aborted_transaction.producer_id, aborted_transaction.first_offset)
                out += pack_i(partition.preferred_read_replica)
                partition_records = partition.records
                if partition_records is None:
                    n = 0
                else:
                    n = size_of(partition_records) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if partition_records is not None:
                    out = write_records(out, partition_records, pieces)
                if partition.diverging_epoch is None and partition.current_leader is None and partition.snapshot_id is None:
                    out.append(0)
                else:
                    partition_tags: list[tuple[int, bytearray]] = []
                    diverging_epoch = partition.diverging_epoch
                    if diverging_epoch is not None and diverging_epoch != FetchResponseDivergingEpoch():
                        tag = bytearray()
                        tag += pack_iqx(diverging_epoch.epoch, diverging_epoch.end_offset)
                        partition_tags.append((0, tag))
                    current_leader = partition.current_leader
                    if current_leader is not None and current_leader != FetchResponseCurrentLeader():
                        tag = bytearray()
                        tag += pack_iix(current_leader.leader_id, current_leader.leader_epoch)
                        partition_tags.append((1, tag))
                    snapshot_id = partition.snapshot_id
                    if snapshot_id is not None and snapshot_id != FetchResponseSnapshotId():
                        tag = bytearray()
                        tag += pack_qix(snapshot_id.end_offset, snapshot_id.epoch)
                        partition_tags.append((2, tag))
                    write_tags(out, partition_tags)
            out.append(0)
        if (version < 16 or not self.node_endpoints):
            out.append(0)
        else:
            tags: list[tuple[int, bytearray]] = []
            if version >= 16 and self.node_endpoints:
                tag = bytearray()
                n = len(self.node_endpoints) + 1
                if n < 128:
                    tag.append(n)
                else:
                    write_uvarint(tag, n)
                for node_endpoint in self.node_endpoints:
                    tag += pack_i(node_endpoint.node_id)
                    raw = node_endpoint.host.encode()
                    n = len(raw) + 1
                    if n < 128:
                        tag.append(n)
                    else:
                        write_uvarint(tag, n)
                    tag += raw
                    tag += pack_i(node_endpoint.port)
                    node_endpoint_rack = node_endpoint.rack
                    if node_endpoint_rack is None:
                        raw = b""
                        n = 0
                    else:
                        raw = node_endpoint_rack.encode()
                        n = len(raw) + 1
                    if n < 128:
                        tag.append(n)
                    else:
                        write_uvarint(tag, n)
                    tag += raw
                    tag.append(0)
                tags.append((0, tag))
            write_tags(out, tags)
        return out

    def _write_older(self, out: bytearray, version: int, pieces: list[Piece] | None) -> bytearray:
        n = len(self.responses)
        if version >= 7:
            out += pack_ihii(self.throttle_time_ms, self.error_code, self.session_id, n)
        else:
            out += pack_ii(self.throttle_time_ms, n)
        for topic in self.responses:
            raw = topic.topic.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partitions)
            out += pack_i(n)
            for partition in topic.partitions:
                partition_aborted_transactions = partition.aborted_transactions
                if partition_aborted_transactions is None:
                    n = -1
                else:
                    n = len(partition_aborted_transactions)
                if version >= 5:
                    out += pack_ihqqqi(partition.partition_index, partition.error_code, partition.high_watermark, partition.last_stable_offset, partition.log_start_offset, n)
                else:
                    out += pack_ihqqi(partition.partition_index, partition.error_code, partition.high_watermark, partition.last_stable_offset, n)
                if partition_aborted_transactions is not None:
                    for aborted_transaction in partition_aborted_transactions:
                        out += pack_qq(aborted_transaction.producer_id, aborted_transaction.first_offset)
                partition_records = partition.records
                if partition_records is None:
                    n = -1
                else:
                    n = size_of(partition_records)
                if version >= 11:
                    out += pack_ii(partition.preferred_read_replica, n)
                else:
                    out += pack_i(n)
                if partition_records is not None:
                    out = write_records(out, partition_records, pieces)
        return out


def _read_flexible_response(reader: Reader, version: int) -> FetchResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, session_id, n = unpack_ihiB(data, pos)
    pos += 11
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[FetchResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        responses_topic = ""
        if version <= 12:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("topic", n - 1, size - pos)
            responses_topic = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 13:
            responses_topic_id, n = unpack_16sB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        else:
            n = data[pos]
            pos += 1
            responses_topic_id = ZERO_UUID
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 37 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        responses_partitions: list[FetchResponsePartition] = []
        responses_partitions_count = n
        for _ in range(responses_partitions_count):
            partitions_partition_index, partitions_error_code, partitions_high_watermark, partitions_last_stable_offset, partitions_log_start_offset, n = unpack_ihqqqB(data, pos)
            pos += 31
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            partitions_aborted_transactions: list[FetchResponseAbortedTransaction] | None
            if n == -1:
                partitions_aborted_transactions = None
            else:
                if n < 0 or n > (size - pos) // 17 or n > budget:
                    raise too_many("aborted_transactions", n, size - pos)
                budget -= n
                partitions_aborted_transactions = []
                partitions_aborted_transactions_count = n
                for _ in range(partitions_aborted_transactions_count):
                    aborted_transactions_producer_id, aborted_transactions_first_offset, tags = unpack_qqB(data, pos)
                    pos += 17
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    partitions_aborted_transactions.append(FetchResponseAbortedTransaction(aborted_transactions_producer_id, aborted_transactions_first_offset))
            partitions_preferred_read_replica, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                more = data[pos]
                if more < 128:
                    n += (more - 1) << 7
                    pos += 1
                else:
                    n, pos = long_uvarint(data, pos, n)
            if n == 0:
                partitions_records = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("records", n - 1, size - pos)
                partitions_records = data[pos:stop]
                pos = stop
            tags = data[pos]
            pos += 1
            partitions_diverging_epoch = None
            partitions_current_leader = None
            partitions_snapshot_id = None
            if tags:
                partitions_spans, partitions_after = read_tags(data, pos, tags)
                if 0 in partitions_spans:
                    pos, partitions_diverging_epoch_end = partitions_spans[0]
                    diverging_epoch_epoch, diverging_epoch_end_offset, tags = unpack_iqB(data, pos)
                    pos += 13
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    partitions_diverging_epoch = FetchResponseDivergingEpoch(diverging_epoch_epoch, diverging_epoch_end_offset)
                    if pos != partitions_diverging_epoch_end:
                        raise bad_length("diverging_epoch", partitions_diverging_epoch_end - pos, size - pos)
                if 1 in partitions_spans:
                    pos, partitions_current_leader_end = partitions_spans[1]
                    current_leader_leader_id, current_leader_leader_epoch, tags = unpack_iiB(data, pos)
                    pos += 9
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    partitions_current_leader = FetchResponseCurrentLeader(current_leader_leader_id, current_leader_leader_epoch)
                    if pos != partitions_current_leader_end:
                        raise bad_length("current_leader", partitions_current_leader_end - pos, size - pos)
                if 2 in partitions_spans:
                    pos, partitions_snapshot_id_end = partitions_spans[2]
                    snapshot_id_end_offset, snapshot_id_epoch, tags = unpack_qiB(data, pos)
                    pos += 13
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    partitions_snapshot_id = FetchResponseSnapshotId(snapshot_id_end_offset, snapshot_id_epoch)
                    if pos != partitions_snapshot_id_end:
                        raise bad_length("snapshot_id", partitions_snapshot_id_end - pos, size - pos)
                pos = partitions_after
            responses_partitions.append(FetchResponsePartition(partitions_partition_index, partitions_error_code, partitions_high_watermark, partitions_last_stable_offset, partitions_log_start_offset, partitions_aborted_transactions, partitions_preferred_read_replica, partitions_records, partitions_diverging_epoch, partitions_current_leader, partitions_snapshot_id))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        responses.append(FetchResponseTopic(responses_topic, responses_topic_id, responses_partitions))
    tags = data[pos]
    pos += 1
    node_endpoints: list[FetchResponseNodeEndpoint] = EMPTY
    if tags:
        spans, after = read_tags(data, pos, tags)
        if version >= 16 and 0 in spans:
            pos, node_endpoints_end = spans[0]
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 11 or n > budget:
                raise too_many("node_endpoints", n, size - pos)
            budget -= n
            node_endpoints = []
            node_endpoints_count = n
            for _ in range(node_endpoints_count):
                node_endpoints_node_id, n = unpack_iB(data, pos)
                pos += 5
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("host", n - 1, size - pos)
                node_endpoints_host = data[pos:stop].tobytes().decode()
                pos = stop
                node_endpoints_port, n = unpack_iB(data, pos)
                pos += 5
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    node_endpoints_rack = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("rack", n - 1, size - pos)
                    node_endpoints_rack = data[pos:stop].tobytes().decode()
                    pos = stop
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                node_endpoints.append(FetchResponseNodeEndpoint(node_endpoints_node_id, node_endpoints_host, node_endpoints_port, node_endpoints_rack))
            if pos != node_endpoints_end:
                raise bad_length("node_endpoints", node_endpoints_end - pos, size - pos)
        pos = after
    reader.position = pos
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints)


def _read_older_response(reader: Reader, version: int) -> FetchResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 7:
        throttle_time_ms, error_code, session_id, n = unpack_ihii(data, pos)
        pos += 14
    else:
        throttle_time_ms, n = unpack_ii(data, pos)
        pos += 8
        error_code = 0
        session_id = 0
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[FetchResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("topic", n, size - pos)
        responses_topic = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 30 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        responses_partitions: list[FetchResponsePartition] = []
        responses_partitions_count = n
        for _ in range(responses_partitions_count):
            if version >= 5:
                partitions_partition_index, partitions_error_code, partitions_high_watermark, partitions_last_stable_offset, partitions_log_start_offset, n = unpack_ihqqqi(data, pos)
                pos += 34
            else:
                partitions_partition_index, partitions_error_code, partitions_high_watermark, partitions_last_stable_offset, n = unpack_ihqqi(data, pos)
                pos += 26
                partitions_log_start_offset = -1
            partitions_aborted_transactions: list[FetchResponseAbortedTransaction] | None
            if n == -1:
                partitions_aborted_transactions = None
            else:
                if n < 0 or n > (size - pos) // 16 or n > budget:
                    raise too_many("aborted_transactions", n, size - pos)
                budget -= n
                partitions_aborted_transactions = []
                partitions_aborted_transactions_count = n
                for _ in range(partitions_aborted_transactions_count):
                    aborted_transactions_producer_id, aborted_transactions_first_offset = unpack_qq(data, pos)
                    pos += 16
                    partitions_aborted_transactions.append(FetchResponseAbortedTransaction(aborted_transactions_producer_id, aborted_transactions_first_offset))
            if version >= 11:
                partitions_preferred_read_replica, n = unpack_ii(data, pos)
                pos += 8
            else:
                (n,) = unpack_i(data, pos)
                pos += 4
                partitions_preferred_read_replica = -1
            if n == -1:
                partitions_records = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("records", n, size - pos)
                partitions_records = data[pos:stop]
                pos = stop
            responses_partitions.append(FetchResponsePartition(partitions_partition_index, partitions_error_code, partitions_high_watermark, partitions_last_stable_offset, partitions_log_start_offset, partitions_aborted_transactions, partitions_preferred_read_replica, partitions_records, None, None, None))
        responses.append(FetchResponseTopic(responses_topic, ZERO_UUID, responses_partitions))
    reader.position = pos
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, EMPTY)
