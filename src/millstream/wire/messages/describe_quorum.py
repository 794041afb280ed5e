"""DescribeQuorum (key 55). State of the metadata quorum, as tools show it.

Generated from wire/schema/describe_quorum.txt by tools/generate_messages.py: change that, not this.
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

unpack_HB: Final = struct.Struct(">HB").unpack_from
pack_Hx: Final = struct.Struct(">Hx").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
pack_i: Final = struct.Struct(">i").pack
unpack_i16sqqqB: Final = struct.Struct(">i16sqqqB").unpack_from
pack_i16sqqqx: Final = struct.Struct(">i16sqqqx").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
pack_iiq: Final = struct.Struct(">iiq").pack
unpack_iiqB: Final = struct.Struct(">iiqB").unpack_from
unpack_iqB: Final = struct.Struct(">iqB").unpack_from
unpack_iqqqB: Final = struct.Struct(">iqqqB").unpack_from
pack_iqqqx: Final = struct.Struct(">iqqqx").pack
pack_iqx: Final = struct.Struct(">iqx").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class DescribeQuorumRequestPartition(Struct):
    __slots__ = ("partition_index",)
    FIELDS = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


@final
class DescribeQuorumRequestTopic(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumRequestPartition] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[DescribeQuorumRequestPartition] = [] if partitions is EMPTY else partitions


@final
class DescribeQuorumRequest(Message):
    __slots__ = ("topics",)
    FIELDS = ("topics",)
    KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        topics: list[DescribeQuorumRequestTopic] = EMPTY,
    ) -> None:
        self.topics: list[DescribeQuorumRequestTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeQuorumRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeQuorumRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeQuorumRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
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
                out += pack_ix(partition.partition_index)
            out.append(0)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> DescribeQuorumRequest:
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
    topics: list[DescribeQuorumRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic_name", n - 1, size - pos)
        topics_topic_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 5 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DescribeQuorumRequestPartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, tags = unpack_iB(data, pos)
            pos += 5
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(DescribeQuorumRequestPartition(partitions_partition_index))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DescribeQuorumRequestTopic(topics_topic_name, topics_partitions))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeQuorumRequest(topics)


@final
class DescribeQuorumResponseReplicaState(Struct):
    __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")
    FIELDS = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


@final
class DescribeQuorumResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")
    FIELDS = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[DescribeQuorumResponseReplicaState] = EMPTY,
        observers: list[DescribeQuorumResponseReplicaState] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters: list[DescribeQuorumResponseReplicaState] = [] if current_voters is EMPTY else current_voters
        self.observers: list[DescribeQuorumResponseReplicaState] = [] if observers is EMPTY else observers


@final
class DescribeQuorumResponseTopic(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumResponsePartition] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[DescribeQuorumResponsePartition] = [] if partitions is EMPTY else partitions


@final
class DescribeQuorumResponseListener(Struct):
    __slots__ = ("name", "host", "port")
    FIELDS = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


@final
class DescribeQuorumResponseNode(Struct):
    __slots__ = ("node_id", "listeners")
    FIELDS = ("node_id", "listeners")

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[DescribeQuorumResponseListener] = EMPTY,
    ) -> None:
        self.node_id = node_id
        self.listeners: list[DescribeQuorumResponseListener] = [] if listeners is EMPTY else listeners


@final
class DescribeQuorumResponse(Message):
    __slots__ = ("error_code", "error_message", "topics", "nodes")
    FIELDS = ("error_code", "error_message", "topics", "nodes")
    KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponseTopic] = EMPTY,
        nodes: list[DescribeQuorumResponseNode] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[DescribeQuorumResponseTopic] = [] if topics is EMPTY else topics
        self.nodes: list[DescribeQuorumResponseNode] = [] if nodes is EMPTY else nodes

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeQuorumResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeQuorumResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeQuorumResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_h(self.error_code)
        if version >= 2:
            error_message = self.error_message
            if error_message is None:
                raw = b""
                n = 0
            else:
                raw = error_message.encode()
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
                out += pack_ih(partition.partition_index, partition.error_code)
                if version >= 2:
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
                out += pack_iiq(partition.leader_id, partition.leader_epoch, partition.high_watermark)
                n = len(partition.current_voters) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for replica_state in partition.current_voters:
                    if version >= 2:
                        out += pack_i16sqqqx(replica_state.replica_id, replica_state.replica_directory_id, replica_state.log_end_offset, replica_state.last_fetch_timestamp, replica_state.last_caught_up_timestamp)
                    elif version >= 1:
                        out += pack_iqqqx(replica_state.replica_id, replica_state.log_end_offset, replica_state.last_fetch_timestamp, replica_state.last_caught_up_timestamp)
                    else:
                        out += pack_iqx(replica_state.replica_id, replica_state.log_end_offset)
                n = len(partition.observers) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for replica_state in partition.observers:
                    if version >= 2:
                        out += pack_i16sqqqx(replica_state.replica_id, replica_state.replica_directory_id, replica_state.log_end_offset, replica_state.last_fetch_timestamp, replica_state.last_caught_up_timestamp)
                    elif version >= 1:
                        out += pack_iqqqx(replica_state.replica_id, replica_state.log_end_offset, replica_state.last_fetch_timestamp, replica_state.last_caught_up_timestamp)
                    else:
                        out += pack_iqx(replica_state.replica_id, replica_state.log_end_offset)
                out.append(0)
            out.append(0)
        if version >= 2:
            n = len(self.nodes) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for node in self.nodes:
                out += pack_i(node.node_id)
                n = len(node.listeners) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for listener in node.listeners:
                    raw = listener.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    raw = listener.host.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out += pack_Hx(listener.port)
                out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> DescribeQuorumResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (error_code,) = unpack_h(data, pos)
    pos += 2
    error_message: str | None = ""
    if version >= 2:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            error_message = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("error_message", n - 1, size - pos)
            error_message = data[pos:stop].tobytes().decode()
            pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[DescribeQuorumResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic_name", n - 1, size - pos)
        topics_topic_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 25 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[DescribeQuorumResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_partition_index, partitions_error_code = unpack_ih(data, pos)
            pos += 6
            partitions_error_message: str | None = ""
            if version >= 2:
                n = data[pos]
                pos += 1
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
            partitions_leader_id, partitions_leader_epoch, partitions_high_watermark, n = unpack_iiqB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 13 or n > budget:
                raise too_many("current_voters", n, size - pos)
            budget -= n
            partitions_current_voters: list[DescribeQuorumResponseReplicaState] = []
            partitions_current_voters_count = n
            for _ in range(partitions_current_voters_count):
                if version >= 2:
                    current_voters_replica_id, current_voters_replica_directory_id, current_voters_log_end_offset, current_voters_last_fetch_timestamp, current_voters_last_caught_up_timestamp, tags = unpack_i16sqqqB(data, pos)
                    pos += 45
                elif version >= 1:
                    current_voters_replica_id, current_voters_log_end_offset, current_voters_last_fetch_timestamp, current_voters_last_caught_up_timestamp, tags = unpack_iqqqB(data, pos)
                    pos += 29
                    current_voters_replica_directory_id = ZERO_UUID
                else:
                    current_voters_replica_id, current_voters_log_end_offset, tags = unpack_iqB(data, pos)
                    pos += 13
                    current_voters_replica_directory_id = ZERO_UUID
                    current_voters_last_fetch_timestamp = -1
                    current_voters_last_caught_up_timestamp = -1
                if tags:
                    pos = skip_tags(data, pos, tags)
                partitions_current_voters.append(DescribeQuorumResponseReplicaState(current_voters_replica_id, current_voters_replica_directory_id, current_voters_log_end_offset, current_voters_last_fetch_timestamp, current_voters_last_caught_up_timestamp))
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 13 or n > budget:
                raise too_many("observers", n, size - pos)
            budget -= n
            partitions_observers: list[DescribeQuorumResponseReplicaState] = []
            partitions_observers_count = n
            for _ in range(partitions_observers_count):
                if version >= 2:
                    observers_replica_id, observers_replica_directory_id, observers_log_end_offset, observers_last_fetch_timestamp, observers_last_caught_up_timestamp, tags = unpack_i16sqqqB(data, pos)
                    pos += 45
                elif version >= 1:
                    observers_replica_id, observers_log_end_offset, observers_last_fetch_timestamp, observers_last_caught_up_timestamp, tags = unpack_iqqqB(data, pos)
                    pos += 29
                    observers_replica_directory_id = ZERO_UUID
                else:
                    observers_replica_id, observers_log_end_offset, tags = unpack_iqB(data, pos)
                    pos += 13
                    observers_replica_directory_id = ZERO_UUID
                    observers_last_fetch_timestamp = -1
                    observers_last_caught_up_timestamp = -1
                if tags:
                    pos = skip_tags(data, pos, tags)
                partitions_observers.append(DescribeQuorumResponseReplicaState(observers_replica_id, observers_replica_directory_id, observers_log_end_offset, observers_last_fetch_timestamp, observers_last_caught_up_timestamp))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(DescribeQuorumResponsePartition(partitions_partition_index, partitions_error_code, partitions_error_message, partitions_leader_id, partitions_leader_epoch, partitions_high_watermark, partitions_current_voters, partitions_observers))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(DescribeQuorumResponseTopic(topics_topic_name, topics_partitions))
    nodes: list[DescribeQuorumResponseNode] = EMPTY
    if version >= 2:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("nodes", n, size - pos)
        budget -= n
        nodes = []
        nodes_count = n
        for _ in range(nodes_count):
            nodes_node_id, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 5 or n > budget:
                raise too_many("listeners", n, size - pos)
            budget -= n
            nodes_listeners: list[DescribeQuorumResponseListener] = []
            nodes_listeners_count = n
            for _ in range(nodes_listeners_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                listeners_name = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("host", n - 1, size - pos)
                listeners_host = data[pos:stop].tobytes().decode()
                pos = stop
                listeners_port, tags = unpack_HB(data, pos)
                pos += 3
                if tags:
                    pos = skip_tags(data, pos, tags)
                nodes_listeners.append(DescribeQuorumResponseListener(listeners_name, listeners_host, listeners_port))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            nodes.append(DescribeQuorumResponseNode(nodes_node_id, nodes_listeners))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeQuorumResponse(error_code, error_message, topics, nodes)
