"""WriteTxnMarkers (key 27). The end of a transaction, written into its partitions. Brokers ask, and operators who abort a hanging one.

Generated from wire/schema/write_txn_markers.txt by tools/generate_messages.py: change that, not this.
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

unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ibB: Final = struct.Struct(">ibB").unpack_from
pack_ibx: Final = struct.Struct(">ibx").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
pack_ihx: Final = struct.Struct(">ihx").pack
pack_ix: Final = struct.Struct(">ix").pack
pack_q: Final = struct.Struct(">q").pack
unpack_qB: Final = struct.Struct(">qB").unpack_from
pack_qho: Final = struct.Struct(">qh?").pack
unpack_qhoB: Final = struct.Struct(">qh?B").unpack_from


@final
class WriteTxnMarkersRequestTopic(Struct):
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
class WriteTxnMarkersRequestMarker(Struct):
    __slots__ = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")
    FIELDS = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WriteTxnMarkersRequestTopic] = EMPTY,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics: list[WriteTxnMarkersRequestTopic] = [] if topics is EMPTY else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


@final
class WriteTxnMarkersRequest(Message):
    __slots__ = ("markers",)
    FIELDS = ("markers",)
    KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        markers: list[WriteTxnMarkersRequestMarker] = EMPTY,
    ) -> None:
        self.markers: list[WriteTxnMarkersRequestMarker] = [] if markers is EMPTY else markers

    @classmethod
    def read(cls, reader: Reader, version: int) -> "WriteTxnMarkersRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("WriteTxnMarkersRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"WriteTxnMarkersRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.markers) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for marker in self.markers:
            out += pack_qho(marker.producer_id, marker.producer_epoch, marker.transaction_result)
            n = len(marker.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in marker.topics:
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
            if version >= 2:
                out += pack_ibx(marker.coordinator_epoch, marker.transaction_version)
            else:
                out += pack_ix(marker.coordinator_epoch)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> WriteTxnMarkersRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 17 or n > budget:
        raise too_many("markers", n, size - pos)
    budget -= n
    markers: list[WriteTxnMarkersRequestMarker] = []
    markers_count = n
    for _ in range(markers_count):
        markers_producer_id, markers_producer_epoch, markers_transaction_result, n = unpack_qhoB(data, pos)
        pos += 12
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        markers_topics: list[WriteTxnMarkersRequestTopic] = []
        markers_topics_count = n
        for _ in range(markers_topics_count):
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
            markers_topics.append(WriteTxnMarkersRequestTopic(topics_name, topics_partition_indexes))
        if version >= 2:
            markers_coordinator_epoch, markers_transaction_version, tags = unpack_ibB(data, pos)
            pos += 6
        else:
            markers_coordinator_epoch, tags = unpack_iB(data, pos)
            pos += 5
            markers_transaction_version = 0
        if tags:
            pos = skip_tags(data, pos, tags)
        markers.append(WriteTxnMarkersRequestMarker(markers_producer_id, markers_producer_epoch, markers_transaction_result, markers_topics, markers_coordinator_epoch, markers_transaction_version))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return WriteTxnMarkersRequest(markers)


@final
class WriteTxnMarkersResponsePartition(Struct):
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
class WriteTxnMarkersResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[WriteTxnMarkersResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions: list[WriteTxnMarkersResponsePartition] = [] if partitions is EMPTY else partitions


@final
class WriteTxnMarkersResponseMarker(Struct):
    __slots__ = ("producer_id", "topics")
    FIELDS = ("producer_id", "topics")

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WriteTxnMarkersResponseTopic] = EMPTY,
    ) -> None:
        self.producer_id = producer_id
        self.topics: list[WriteTxnMarkersResponseTopic] = [] if topics is EMPTY else topics


@final
class WriteTxnMarkersResponse(Message):
    __slots__ = ("markers",)
    FIELDS = ("markers",)
    KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        markers: list[WriteTxnMarkersResponseMarker] = EMPTY,
    ) -> None:
        self.markers: list[WriteTxnMarkersResponseMarker] = [] if markers is EMPTY else markers

    @classmethod
    def read(cls, reader: Reader, version: int) -> "WriteTxnMarkersResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("WriteTxnMarkersResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"WriteTxnMarkersResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.markers) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for marker in self.markers:
            out += pack_q(marker.producer_id)
            n = len(marker.topics) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for topic in marker.topics:
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
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> WriteTxnMarkersResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 10 or n > budget:
        raise too_many("markers", n, size - pos)
    budget -= n
    markers: list[WriteTxnMarkersResponseMarker] = []
    markers_count = n
    for _ in range(markers_count):
        markers_producer_id, n = unpack_qB(data, pos)
        pos += 9
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topics", n, size - pos)
        budget -= n
        markers_topics: list[WriteTxnMarkersResponseTopic] = []
        markers_topics_count = n
        for _ in range(markers_topics_count):
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
            topics_partitions: list[WriteTxnMarkersResponsePartition] = []
            topics_partitions_count = n
            for _ in range(topics_partitions_count):
                partitions_partition_index, partitions_error_code, tags = unpack_ihB(data, pos)
                pos += 7
                if tags:
                    pos = skip_tags(data, pos, tags)
                topics_partitions.append(WriteTxnMarkersResponsePartition(partitions_partition_index, partitions_error_code))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            markers_topics.append(WriteTxnMarkersResponseTopic(topics_name, topics_partitions))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        markers.append(WriteTxnMarkersResponseMarker(markers_producer_id, markers_topics))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return WriteTxnMarkersResponse(markers)
