"""Metadata (key 3). Brokers, topics, and who leads which partition.

Generated from wire/schema/metadata.txt by tools/generate_messages.py: change that, not this.
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
pack_16so: Final = struct.Struct(">16s?").pack
unpack_16soB: Final = struct.Struct(">16s?B").unpack_from
unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_o: Final = struct.Struct(">?").unpack_from
pack_o: Final = struct.Struct(">?").pack
unpack_ooo: Final = struct.Struct(">???").unpack_from
pack_ooo: Final = struct.Struct(">???").pack
unpack_oooB: Final = struct.Struct(">???B").unpack_from
pack_ooox: Final = struct.Struct(">???x").pack
unpack_ooB: Final = struct.Struct(">??B").unpack_from
pack_oox: Final = struct.Struct(">??x").pack
unpack_oB: Final = struct.Struct(">?B").unpack_from
unpack_oi: Final = struct.Struct(">?i").unpack_from
pack_oi: Final = struct.Struct(">?i").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
unpack_hh: Final = struct.Struct(">hh").unpack_from
pack_hh: Final = struct.Struct(">hh").pack
unpack_hiii: Final = struct.Struct(">hiii").unpack_from
pack_hiii: Final = struct.Struct(">hiii").pack
unpack_hiiiB: Final = struct.Struct(">hiiiB").unpack_from
unpack_hiiii: Final = struct.Struct(">hiiii").unpack_from
pack_hiiii: Final = struct.Struct(">hiiii").pack
pack_hx: Final = struct.Struct(">hx").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class MetadataRequestTopic(Struct):
    __slots__ = ("topic_id", "name")
    FIELDS = ("topic_id", "name")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name


@final
class MetadataRequest(Message):
    __slots__ = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")
    FIELDS = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")
    KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = EMPTY,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics: list[MetadataRequestTopic] | None = [] if topics is EMPTY else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations

    @classmethod
    def read(cls, reader: Reader, version: int) -> "MetadataRequest":
        try:
            if version >= 9:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("MetadataRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 9:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"MetadataRequest v{version}: {error}") from error

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
                if version >= 10:
                    out += pack_16s(topic.topic_id)
                topic_name = topic.name
                if topic_name is None:
                    if version < 10:
                        raise ValueError(f"name may not be null in version {version}")
                    raw = b""
                    n = 0
                else:
                    raw = topic_name.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
        if version >= 11:
            out += pack_oox(self.allow_auto_topic_creation, self.include_topic_authorized_operations)
        else:
            out += pack_ooox(self.allow_auto_topic_creation, self.include_cluster_authorized_operations, self.include_topic_authorized_operations)

    def _write_older(self, out: bytearray, version: int) -> None:
        topics = self.topics
        if topics is None:
            if version < 1:
                raise ValueError(f"topics may not be null in version {version}")
            n = -1
        else:
            n = len(topics)
        out += pack_i(n)
        if topics is not None:
            for topic in topics:
                topic_name = topic.name
                if topic_name is None:
                    raise ValueError(f"name may not be null in version {version}")
                else:
                    raw = topic_name.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw
        if version >= 8:
            out += pack_ooo(self.allow_auto_topic_creation, self.include_cluster_authorized_operations, self.include_topic_authorized_operations)
        elif version >= 4:
            out += pack_o(self.allow_auto_topic_creation)


def _read_flexible_request(reader: Reader, version: int) -> MetadataRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    topics: list[MetadataRequestTopic] | None
    if n == -1:
        topics = None
    else:
        if n < 0 or n > (size - pos) // 2 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        topics = []
        topics_count = n
        for _ in range(topics_count):
            if version >= 10:
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
            if n == 0 and version >= 10:
                topics_name = None
            else:
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                topics_name = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics.append(MetadataRequestTopic(topics_topic_id, topics_name))
    if version >= 11:
        allow_auto_topic_creation, include_topic_authorized_operations, tags = unpack_ooB(data, pos)
        pos += 3
        include_cluster_authorized_operations = False
    else:
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags = unpack_oooB(data, pos)
        pos += 4
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)


def _read_older_request(reader: Reader, version: int) -> MetadataRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None
    if n == -1 and version >= 1:
        topics = None
    else:
        if n < 0 or n > (size - pos) // 2 or n > budget:
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
            topics.append(MetadataRequestTopic(ZERO_UUID, topics_name))
    if version >= 8:
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = unpack_ooo(data, pos)
        pos += 3
    elif version >= 4:
        (allow_auto_topic_creation,) = unpack_o(data, pos)
        pos += 1
        include_cluster_authorized_operations = False
        include_topic_authorized_operations = False
    else:
        allow_auto_topic_creation = True
        include_cluster_authorized_operations = False
        include_topic_authorized_operations = False
    reader.position = pos
    return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)


@final
class MetadataResponseBroker(Struct):
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
class MetadataResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")
    FIELDS = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas: list[int] = [] if offline_replicas is EMPTY else offline_replicas


@final
class MetadataResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions: list[MetadataResponsePartition] = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations


@final
class MetadataResponse(Message):
    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")
    FIELDS = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")
    KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = EMPTY,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers: list[MetadataResponseBroker] = [] if brokers is EMPTY else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics: list[MetadataResponseTopic] = [] if topics is EMPTY else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code

    @classmethod
    def read(cls, reader: Reader, version: int) -> "MetadataResponse":
        try:
            if version >= 9:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("MetadataResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 9:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"MetadataResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.brokers) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for broker in self.brokers:
            out += pack_i(broker.node_id)
            raw = broker.host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_i(broker.port)
            broker_rack = broker.rack
            if broker_rack is None:
                raw = b""
                n = 0
            else:
                raw = broker_rack.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out.append(0)
        cluster_id = self.cluster_id
        if cluster_id is None:
            raw = b""
            n = 0
        else:
            raw = cluster_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_i(self.controller_id)
        n = len(self.topics) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.topics:
            out += pack_h(topic.error_code)
            topic_name = topic.name
            if topic_name is None:
                if version < 12:
                    raise ValueError(f"name may not be null in version {version}")
                raw = b""
                n = 0
            else:
                raw = topic_name.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            if version >= 10:
                out += pack_16so(topic.topic_id, topic.is_internal)
            else:
                out += pack_o(topic.is_internal)
            n = len(topic.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partitions:
                out += pack_hiii(partition.error_code, partition.partition_index, partition.leader_id, partition.leader_epoch)
                n = len(partition.replica_nodes) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.replica_nodes)}i", *partition.replica_nodes)
                n = len(partition.isr_nodes) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.isr_nodes)}i", *partition.isr_nodes)
                n = len(partition.offline_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(partition.offline_replicas)}i", *partition.offline_replicas)
                out.append(0)
            out += pack_ix(topic.topic_authorized_operations)
        if version >= 13:
            out += pack_hx(self.error_code)
        elif version >= 11:
            out.append(0)
        else:
            out += pack_ix(self.cluster_authorized_operations)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.brokers)
        if version >= 3:
            out += pack_ii(self.throttle_time_ms, n)
        else:
            out += pack_i(n)
        for broker in self.brokers:
            raw = broker.host.encode()
            n = len(raw)
            out += pack_ih(broker.node_id, n)
            out += raw
            out += pack_i(broker.port)
            if version >= 1:
                broker_rack = broker.rack
                if broker_rack is None:
                    raw = b""
                    n = -1
                else:
                    raw = broker_rack.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw
        if version >= 2:
            cluster_id = self.cluster_id
            if cluster_id is None:
                raw = b""
                n = -1
            else:
                raw = cluster_id.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw
        n = len(self.topics)
        if version >= 1:
            out += pack_ii(self.controller_id, n)
        else:
            out += pack_i(n)
        for topic in self.topics:
            topic_name = topic.name
            if topic_name is None:
                raise ValueError(f"name may not be null in version {version}")
            else:
                raw = topic_name.encode()
                n = len(raw)
            out += pack_hh(topic.error_code, n)
            out += raw
            n = len(topic.partitions)
            if version >= 1:
                out += pack_oi(topic.is_internal, n)
            else:
                out += pack_i(n)
            for partition in topic.partitions:
                n = len(partition.replica_nodes)
                if version >= 7:
                    out += pack_hiiii(partition.error_code, partition.partition_index, partition.leader_id, partition.leader_epoch, n)
                else:
                    out += pack_hiii(partition.error_code, partition.partition_index, partition.leader_id, n)
                out += struct.pack(f">{len(partition.replica_nodes)}i", *partition.replica_nodes)
                n = len(partition.isr_nodes)
                out += pack_i(n)
                out += struct.pack(f">{len(partition.isr_nodes)}i", *partition.isr_nodes)
                if version >= 5:
                    n = len(partition.offline_replicas)
                    out += pack_i(n)
                    out += struct.pack(f">{len(partition.offline_replicas)}i", *partition.offline_replicas)
            if version >= 8:
                out += pack_i(topic.topic_authorized_operations)
        if version >= 8:
            out += pack_i(self.cluster_authorized_operations)


def _read_flexible_response(reader: Reader, version: int) -> MetadataResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 11 or n > budget:
        raise too_many("brokers", n, size - pos)
    budget -= n
    brokers: list[MetadataResponseBroker] = []
    brokers_count = n
    for _ in range(brokers_count):
        brokers_node_id, n = unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("host", n - 1, size - pos)
        brokers_host = data[pos:stop].tobytes().decode()
        pos = stop
        brokers_port, n = unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            brokers_rack = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("rack", n - 1, size - pos)
            brokers_rack = data[pos:stop].tobytes().decode()
            pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
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
    controller_id, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 10 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[MetadataResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        topics_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0 and version >= 12:
            topics_name = None
        else:
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            topics_name = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 10:
            topics_topic_id, topics_is_internal, n = unpack_16soB(data, pos)
            pos += 18
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        else:
            topics_is_internal, n = unpack_oB(data, pos)
            pos += 2
            topics_topic_id = ZERO_UUID
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[MetadataResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            partitions_error_code, partitions_partition_index, partitions_leader_id, partitions_leader_epoch, n = unpack_hiiiB(data, pos)
            pos += 15
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("replica_nodes", n, size - pos)
            budget -= n
            partitions_replica_nodes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("isr_nodes", n, size - pos)
            budget -= n
            partitions_isr_nodes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("offline_replicas", n, size - pos)
            budget -= n
            partitions_offline_replicas: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_partitions.append(MetadataResponsePartition(partitions_error_code, partitions_partition_index, partitions_leader_id, partitions_leader_epoch, partitions_replica_nodes, partitions_isr_nodes, partitions_offline_replicas))
        topics_topic_authorized_operations, tags = unpack_iB(data, pos)
        pos += 5
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(MetadataResponseTopic(topics_error_code, topics_name, topics_topic_id, topics_is_internal, topics_partitions, topics_topic_authorized_operations))
    if version >= 13:
        error_code, tags = unpack_hB(data, pos)
        pos += 3
        cluster_authorized_operations = -2147483648
    elif version >= 11:
        tags = data[pos]
        pos += 1
        cluster_authorized_operations = -2147483648
        error_code = 0
    else:
        cluster_authorized_operations, tags = unpack_iB(data, pos)
        pos += 5
        error_code = 0
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, error_code)


def _read_older_response(reader: Reader, version: int) -> MetadataResponse:
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
    if n < 0 or n > (size - pos) // 10 or n > budget:
        raise too_many("brokers", n, size - pos)
    budget -= n
    brokers: list[MetadataResponseBroker] = []
    brokers_count = n
    for _ in range(brokers_count):
        brokers_node_id, n = unpack_ih(data, pos)
        pos += 6
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("host", n, size - pos)
        brokers_host = data[pos:stop].tobytes().decode()
        pos = stop
        (brokers_port,) = unpack_i(data, pos)
        pos += 4
        brokers_rack = None
        if version >= 1:
            (n,) = unpack_h(data, pos)
            pos += 2
            if n == -1:
                brokers_rack = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("rack", n, size - pos)
                brokers_rack = data[pos:stop].tobytes().decode()
                pos = stop
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    cluster_id = None
    if version >= 2:
        (n,) = unpack_h(data, pos)
        pos += 2
        if n == -1:
            cluster_id = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("cluster_id", n, size - pos)
            cluster_id = data[pos:stop].tobytes().decode()
            pos = stop
    if version >= 1:
        controller_id, n = unpack_ii(data, pos)
        pos += 8
    else:
        (n,) = unpack_i(data, pos)
        pos += 4
        controller_id = -1
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[MetadataResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        topics_error_code, n = unpack_hh(data, pos)
        pos += 4
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        if version >= 1:
            topics_is_internal, n = unpack_oi(data, pos)
            pos += 5
        else:
            (n,) = unpack_i(data, pos)
            pos += 4
            topics_is_internal = False
        if n < 0 or n > (size - pos) // 18 or n > budget:
            raise too_many("partitions", n, size - pos)
        budget -= n
        topics_partitions: list[MetadataResponsePartition] = []
        topics_partitions_count = n
        for _ in range(topics_partitions_count):
            if version >= 7:
                partitions_error_code, partitions_partition_index, partitions_leader_id, partitions_leader_epoch, n = unpack_hiiii(data, pos)
                pos += 18
            else:
                partitions_error_code, partitions_partition_index, partitions_leader_id, n = unpack_hiii(data, pos)
                pos += 14
                partitions_leader_epoch = -1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("replica_nodes", n, size - pos)
            budget -= n
            partitions_replica_nodes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("isr_nodes", n, size - pos)
            budget -= n
            partitions_isr_nodes: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            partitions_offline_replicas: list[int] = EMPTY
            if version >= 5:
                (n,) = unpack_i(data, pos)
                pos += 4
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("offline_replicas", n, size - pos)
                budget -= n
                partitions_offline_replicas = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
            topics_partitions.append(MetadataResponsePartition(partitions_error_code, partitions_partition_index, partitions_leader_id, partitions_leader_epoch, partitions_replica_nodes, partitions_isr_nodes, partitions_offline_replicas))
        if version >= 8:
            (topics_topic_authorized_operations,) = unpack_i(data, pos)
            pos += 4
        else:
            topics_topic_authorized_operations = -2147483648
        topics.append(MetadataResponseTopic(topics_error_code, topics_name, ZERO_UUID, topics_is_internal, topics_partitions, topics_topic_authorized_operations))
    if version >= 8:
        (cluster_authorized_operations,) = unpack_i(data, pos)
        pos += 4
    else:
        cluster_authorized_operations = -2147483648
    reader.position = pos
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
