"""ElectLeaders (key 43). Have partitions led by the replica they should be led by.

Generated from wire/schema/elect_leaders.txt by tools/generate_messages.py: change that, not this.
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

pack_b: Final = struct.Struct(">b").pack
unpack_bB: Final = struct.Struct(">bB").unpack_from
unpack_bi: Final = struct.Struct(">bi").unpack_from
pack_bi: Final = struct.Struct(">bi").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ihh: Final = struct.Struct(">ihh").unpack_from
pack_ihh: Final = struct.Struct(">ihh").pack
unpack_ihi: Final = struct.Struct(">ihi").unpack_from
pack_ihi: Final = struct.Struct(">ihi").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class ElectLeadersRequestTopic(Struct):
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
class ElectLeadersRequest(Message):
    __slots__ = ("election_type", "topic_partitions", "timeout_ms")
    FIELDS = ("election_type", "topic_partitions", "timeout_ms")
    KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[ElectLeadersRequestTopic] | None = EMPTY,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions: list[ElectLeadersRequestTopic] | None = [] if topic_partitions is EMPTY else topic_partitions
        self.timeout_ms = timeout_ms

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ElectLeadersRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ElectLeadersRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ElectLeadersRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_b(self.election_type)
        topic_partitions = self.topic_partitions
        if topic_partitions is None:
            n = 0
        else:
            n = len(topic_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if topic_partitions is not None:
            for topic in topic_partitions:
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
        out += pack_ix(self.timeout_ms)

    def _write_older(self, out: bytearray, version: int) -> None:
        topic_partitions = self.topic_partitions
        if topic_partitions is None:
            n = -1
        else:
            n = len(topic_partitions)
        if version >= 1:
            out += pack_bi(self.election_type, n)
        else:
            out += pack_i(n)
        if topic_partitions is not None:
            for topic in topic_partitions:
                raw = topic.topic.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(topic.partitions)
                out += pack_i(n)
                out += struct.pack(f">{len(topic.partitions)}i", *topic.partitions)
        out += pack_i(self.timeout_ms)


def _read_flexible_request(reader: Reader, version: int) -> ElectLeadersRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    election_type, n = unpack_bB(data, pos)
    pos += 2
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    topic_partitions: list[ElectLeadersRequestTopic] | None
    if n == -1:
        topic_partitions = None
    else:
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("topic_partitions", n, size - pos)
        budget -= n
        topic_partitions = []
        topic_partitions_count = n
        for _ in range(topic_partitions_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("topic", n - 1, size - pos)
            topic_partitions_topic = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topic_partitions_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topic_partitions.append(ElectLeadersRequestTopic(topic_partitions_topic, topic_partitions_partitions))
    timeout_ms, tags = unpack_iB(data, pos)
    pos += 5
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms)


def _read_older_request(reader: Reader, version: int) -> ElectLeadersRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        election_type, n = unpack_bi(data, pos)
        pos += 5
    else:
        (n,) = unpack_i(data, pos)
        pos += 4
        election_type = 0
    topic_partitions: list[ElectLeadersRequestTopic] | None
    if n == -1:
        topic_partitions = None
    else:
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("topic_partitions", n, size - pos)
        budget -= n
        topic_partitions = []
        topic_partitions_count = n
        for _ in range(topic_partitions_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("topic", n, size - pos)
            topic_partitions_topic = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("partitions", n, size - pos)
            budget -= n
            topic_partitions_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            topic_partitions.append(ElectLeadersRequestTopic(topic_partitions_topic, topic_partitions_partitions))
    (timeout_ms,) = unpack_i(data, pos)
    pos += 4
    reader.position = pos
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms)


@final
class ElectLeadersResponsePartition(Struct):
    __slots__ = ("partition_id", "error_code", "error_message")
    FIELDS = ("partition_id", "error_code", "error_message")

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


@final
class ElectLeadersResponseTopic(Struct):
    __slots__ = ("topic", "partition_result")
    FIELDS = ("topic", "partition_result")

    def __init__(
        self,
        topic: str = "",
        partition_result: list[ElectLeadersResponsePartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partition_result: list[ElectLeadersResponsePartition] = [] if partition_result is EMPTY else partition_result


@final
class ElectLeadersResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")
    FIELDS = ("throttle_time_ms", "error_code", "replica_election_results")
    KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ElectLeadersResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results: list[ElectLeadersResponseTopic] = [] if replica_election_results is EMPTY else replica_election_results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ElectLeadersResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ElectLeadersResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ElectLeadersResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        n = len(self.replica_election_results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.replica_election_results:
            raw = topic.topic.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(topic.partition_result) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partition_result:
                out += pack_ih(partition.partition_id, partition.error_code)
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
                out.append(0)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.replica_election_results)
        if version >= 1:
            out += pack_ihi(self.throttle_time_ms, self.error_code, n)
        else:
            out += pack_ii(self.throttle_time_ms, n)
        for topic in self.replica_election_results:
            raw = topic.topic.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partition_result)
            out += pack_i(n)
            for partition in topic.partition_result:
                partition_error_message = partition.error_message
                if partition_error_message is None:
                    raw = b""
                    n = -1
                else:
                    raw = partition_error_message.encode()
                    n = len(raw)
                out += pack_ihh(partition.partition_id, partition.error_code, n)
                out += raw


def _read_flexible_response(reader: Reader, version: int) -> ElectLeadersResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("replica_election_results", n, size - pos)
    budget -= n
    replica_election_results: list[ElectLeadersResponseTopic] = []
    replica_election_results_count = n
    for _ in range(replica_election_results_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("topic", n - 1, size - pos)
        replica_election_results_topic = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("partition_result", n, size - pos)
        budget -= n
        replica_election_results_partition_result: list[ElectLeadersResponsePartition] = []
        replica_election_results_partition_result_count = n
        for _ in range(replica_election_results_partition_result_count):
            partition_result_partition_id, partition_result_error_code, n = unpack_ihB(data, pos)
            pos += 7
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                partition_result_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                partition_result_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            replica_election_results_partition_result.append(ElectLeadersResponsePartition(partition_result_partition_id, partition_result_error_code, partition_result_error_message))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        replica_election_results.append(ElectLeadersResponseTopic(replica_election_results_topic, replica_election_results_partition_result))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results)


def _read_older_response(reader: Reader, version: int) -> ElectLeadersResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        throttle_time_ms, error_code, n = unpack_ihi(data, pos)
        pos += 10
    else:
        throttle_time_ms, n = unpack_ii(data, pos)
        pos += 8
        error_code = 0
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("replica_election_results", n, size - pos)
    budget -= n
    replica_election_results: list[ElectLeadersResponseTopic] = []
    replica_election_results_count = n
    for _ in range(replica_election_results_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("topic", n, size - pos)
        replica_election_results_topic = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("partition_result", n, size - pos)
        budget -= n
        replica_election_results_partition_result: list[ElectLeadersResponsePartition] = []
        replica_election_results_partition_result_count = n
        for _ in range(replica_election_results_partition_result_count):
            partition_result_partition_id, partition_result_error_code, n = unpack_ihh(data, pos)
            pos += 8
            if n == -1:
                partition_result_error_message = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("error_message", n, size - pos)
                partition_result_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            replica_election_results_partition_result.append(ElectLeadersResponsePartition(partition_result_partition_id, partition_result_error_code, partition_result_error_message))
        replica_election_results.append(ElectLeadersResponseTopic(replica_election_results_topic, replica_election_results_partition_result))
    reader.position = pos
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results)
