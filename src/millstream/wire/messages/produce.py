"""Produce (key 0). Append record batches to partitions.

Generated from wire/schema/produce.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message, Struct
from millstream.wire.primitives import (
    EMPTY,
    MAX_OBJECTS,
    ZERO_UUID,
    Buffer,
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    read_tags,
    skip_tags,
    too_many,
    write_tags,
    write_uvarint,
)

pack_16s: Final = struct.Struct(">16s").pack
unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
pack_hi: Final = struct.Struct(">hi").pack
unpack_hiB: Final = struct.Struct(">hiB").unpack_from
unpack_hii: Final = struct.Struct(">hii").unpack_from
pack_hii: Final = struct.Struct(">hii").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihqq: Final = struct.Struct(">ihqq").unpack_from
pack_ihqq: Final = struct.Struct(">ihqq").pack
unpack_ihqqq: Final = struct.Struct(">ihqqq").unpack_from
pack_ihqqq: Final = struct.Struct(">ihqqq").pack
unpack_ihqqqB: Final = struct.Struct(">ihqqqB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iiB: Final = struct.Struct(">iiB").unpack_from
pack_iix: Final = struct.Struct(">iix").pack


@final
class ProduceRequestPartitionData(Struct):
    __slots__ = ("index", "records")
    FIELDS = ("index", "records")

    def __init__(
        self,
        index: int = 0,
        records: Buffer | None = None,
    ) -> None:
        self.index = index
        self.records = records


@final
class ProduceRequestTopicData(Struct):
    __slots__ = ("name", "topic_id", "partition_data")
    FIELDS = ("name", "topic_id", "partition_data")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[ProduceRequestPartitionData] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data: list[ProduceRequestPartitionData] = [] if partition_data is EMPTY else partition_data


@final
class ProduceRequest(Message):
    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")
    FIELDS = ("transactional_id", "acks", "timeout_ms", "topic_data")
    KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[ProduceRequestTopicData] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data: list[ProduceRequestTopicData] = [] if topic_data is EMPTY else topic_data

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ProduceRequest":
        try:
            if version >= 9:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ProduceRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 9:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ProduceRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        transactional_id = self.transactional_id
        if transactional_id is None:
            raw = b""
            n = 0
        else:
            raw = transactional_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_hi(self.acks, self.timeout_ms)
        n = len(self.topic_data) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic_data in self.topic_data:
            if version <= 12:
                raw = topic_data.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            if version >= 13:
                out += pack_16s(topic_data.topic_id)
            n = len(topic_data.partition_data) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition_data in topic_data.partition_data:
                out += pack_i(partition_data.index)
                partition_data_records = partition_data.records
                if partition_data_records is None:
                    n = 0
                else:
                    n = len(partition_data_records) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                if partition_data_records is not None:
                    out += partition_data_records
                out.append(0)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        transactional_id = self.transactional_id
        if transactional_id is None:
            raw = b""
            n = -1
        else:
            raw = transactional_id.encode()
            n = len(raw)
        out += pack_h(n)
        out += raw
        n = len(self.topic_data)
        out += pack_hii(self.acks, self.timeout_ms, n)
        for topic_data in self.topic_data:
            raw = topic_data.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic_data.partition_data)
            out += pack_i(n)
            for partition_data in topic_data.partition_data:
                partition_data_records = partition_data.records
                if partition_data_records is None:
                    n = -1
                else:
                    n = len(partition_data_records)
                out += pack_ii(partition_data.index, n)
                if partition_data_records is not None:
                    out += partition_data_records


def _read_flexible_request(reader: Reader, version: int) -> ProduceRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        transactional_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("transactional_id", n - 1, size - pos)
        transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
    acks, timeout_ms, n = unpack_hiB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("topic_data", n, size - pos)
    budget -= n
    topic_data: list[ProduceRequestTopicData] = []
    topic_data_count = n
    for _ in range(topic_data_count):
        topic_data_name = ""
        if version <= 12:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            topic_data_name = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 13:
            topic_data_topic_id, n = unpack_16sB(data, pos)
            pos += 17
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        else:
            n = data[pos]
            pos += 1
            topic_data_topic_id = ZERO_UUID
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("partition_data", n, size - pos)
        budget -= n
        topic_data_partition_data: list[ProduceRequestPartitionData] = []
        topic_data_partition_data_count = n
        for _ in range(topic_data_partition_data_count):
            partition_data_index, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                more = data[pos]
                if more < 128:
                    n += (more - 1) << 7
                    pos += 1
                else:
                    n, pos = long_uvarint(data, pos, n)
            if n == 0:
                partition_data_records = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("records", n - 1, size - pos)
                partition_data_records = data[pos:stop]
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topic_data_partition_data.append(ProduceRequestPartitionData(partition_data_index, partition_data_records))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topic_data.append(ProduceRequestTopicData(topic_data_name, topic_data_topic_id, topic_data_partition_data))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)


def _read_older_request(reader: Reader, version: int) -> ProduceRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_h(data, pos)
    pos += 2
    if n == -1:
        transactional_id = None
    else:
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("transactional_id", n, size - pos)
        transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
    acks, timeout_ms, n = unpack_hii(data, pos)
    pos += 10
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topic_data", n, size - pos)
    budget -= n
    topic_data: list[ProduceRequestTopicData] = []
    topic_data_count = n
    for _ in range(topic_data_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topic_data_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("partition_data", n, size - pos)
        budget -= n
        topic_data_partition_data: list[ProduceRequestPartitionData] = []
        topic_data_partition_data_count = n
        for _ in range(topic_data_partition_data_count):
            partition_data_index, n = unpack_ii(data, pos)
            pos += 8
            if n == -1:
                partition_data_records = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("records", n, size - pos)
                partition_data_records = data[pos:stop]
                pos = stop
            topic_data_partition_data.append(ProduceRequestPartitionData(partition_data_index, partition_data_records))
        topic_data.append(ProduceRequestTopicData(topic_data_name, ZERO_UUID, topic_data_partition_data))
    reader.position = pos
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)


@final
class ProduceResponseRecordError(Struct):
    __slots__ = ("batch_index", "batch_index_error_message")
    FIELDS = ("batch_index", "batch_index_error_message")

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


@final
class ProduceResponseCurrentLeader(Struct):
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
class ProduceResponsePartition(Struct):
    __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")
    FIELDS = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[ProduceResponseRecordError] = EMPTY,
        error_message: str | None = None,
        current_leader: ProduceResponseCurrentLeader | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors: list[ProduceResponseRecordError] = [] if record_errors is EMPTY else record_errors
        self.error_message = error_message
        self.current_leader = current_leader


@final
class ProduceResponseTopic(Struct):
    __slots__ = ("name", "topic_id", "partition_responses")
    FIELDS = ("name", "topic_id", "partition_responses")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[ProduceResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses: list[ProduceResponsePartition] = [] if partition_responses is EMPTY else partition_responses


@final
class ProduceResponseNodeEndpoint(Struct):
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
class ProduceResponse(Message):
    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")
    FIELDS = ("responses", "throttle_time_ms", "node_endpoints")
    KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        responses: list[ProduceResponseTopic] = EMPTY,
        throttle_time_ms: int = 0,
        node_endpoints: list[ProduceResponseNodeEndpoint] = EMPTY,
    ) -> None:
        self.responses: list[ProduceResponseTopic] = [] if responses is EMPTY else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints: list[ProduceResponseNodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ProduceResponse":
        try:
            if version >= 9:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ProduceResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 9:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ProduceResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.responses) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.responses:
            if version <= 12:
                raw = topic.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            if version >= 13:
                out += pack_16s(topic.topic_id)
            n = len(topic.partition_responses) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for partition in topic.partition_responses:
                out += pack_ihqqq(partition.index, partition.error_code, partition.base_offset, partition.log_append_time_ms, partition.log_start_offset)
                n = len(partition.record_errors) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for record_error in partition.record_errors:
                    out += pack_i(record_error.batch_index)
                    record_error_batch_index_error_message = record_error.batch_index_error_message
                    if record_error_batch_index_error_message is None:
                        raw = b""
                        n = 0
                    else:
                        raw = record_error_batch_index_error_message.encode()
                        n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out.append(0)
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
                if (version < 10 or partition.current_leader is None):
                    out.append(0)
                else:
                    partition_tags: list[tuple[int, bytearray]] = []
                    current_leader = partition.current_leader
                    if version >= 10 and current_leader is not None and current_leader != ProduceResponseCurrentLeader():
                        tag = bytearray()
                        tag += pack_iix(current_leader.leader_id, current_leader.leader_epoch)
                        partition_tags.append((0, tag))
                    write_tags(out, partition_tags)
            out.append(0)
        out += pack_i(self.throttle_time_ms)
        if (version < 10 or not self.node_endpoints):
            out.append(0)
        else:
            tags: list[tuple[int, bytearray]] = []
            if version >= 10 and self.node_endpoints:
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

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.responses)
        out += pack_i(n)
        for topic in self.responses:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.partition_responses)
            out += pack_i(n)
            for partition in topic.partition_responses:
                if version >= 5:
                    out += pack_ihqqq(partition.index, partition.error_code, partition.base_offset, partition.log_append_time_ms, partition.log_start_offset)
                else:
                    out += pack_ihqq(partition.index, partition.error_code, partition.base_offset, partition.log_append_time_ms)
                if version >= 8:
                    n = len(partition.record_errors)
                    out += pack_i(n)
                    for record_error in partition.record_errors:
                        record_error_batch_index_error_message = record_error.batch_index_error_message
                        if record_error_batch_index_error_message is None:
                            raw = b""
                            n = -1
                        else:
                            raw = record_error_batch_index_error_message.encode()
                            n = len(raw)
                        out += pack_ih(record_error.batch_index, n)
                        out += raw
                if version >= 8:
                    partition_error_message = partition.error_message
                    if partition_error_message is None:
                        raw = b""
                        n = -1
                    else:
                        raw = partition_error_message.encode()
                        n = len(raw)
                    out += pack_h(n)
                    out += raw
        out += pack_i(self.throttle_time_ms)


def _read_flexible_response(reader: Reader, version: int) -> ProduceResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[ProduceResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        responses_name = ""
        if version <= 12:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            responses_name = data[pos:stop].tobytes().decode()
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
        if n < 0 or n > (size - pos) // 33 or n > budget:
            raise too_many("partition_responses", n, size - pos)
        budget -= n
        responses_partition_responses: list[ProduceResponsePartition] = []
        responses_partition_responses_count = n
        for _ in range(responses_partition_responses_count):
            partition_responses_index, partition_responses_error_code, partition_responses_base_offset, partition_responses_log_append_time_ms, partition_responses_log_start_offset, n = unpack_ihqqqB(data, pos)
            pos += 31
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 6 or n > budget:
                raise too_many("record_errors", n, size - pos)
            budget -= n
            partition_responses_record_errors: list[ProduceResponseRecordError] = []
            partition_responses_record_errors_count = n
            for _ in range(partition_responses_record_errors_count):
                record_errors_batch_index, n = unpack_iB(data, pos)
                pos += 5
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    record_errors_batch_index_error_message = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("batch_index_error_message", n - 1, size - pos)
                    record_errors_batch_index_error_message = data[pos:stop].tobytes().decode()
                    pos = stop
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                partition_responses_record_errors.append(ProduceResponseRecordError(record_errors_batch_index, record_errors_batch_index_error_message))
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                partition_responses_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                partition_responses_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            partition_responses_current_leader = None
            if tags:
                partition_responses_spans, partition_responses_after = read_tags(data, pos, tags)
                if version >= 10 and 0 in partition_responses_spans:
                    pos, partition_responses_current_leader_end = partition_responses_spans[0]
                    current_leader_leader_id, current_leader_leader_epoch, tags = unpack_iiB(data, pos)
                    pos += 9
                    if tags:
                        pos = skip_tags(data, pos, tags)
                    partition_responses_current_leader = ProduceResponseCurrentLeader(current_leader_leader_id, current_leader_leader_epoch)
                    if pos != partition_responses_current_leader_end:
                        raise bad_length("current_leader", partition_responses_current_leader_end - pos, size - pos)
                pos = partition_responses_after
            responses_partition_responses.append(ProduceResponsePartition(partition_responses_index, partition_responses_error_code, partition_responses_base_offset, partition_responses_log_append_time_ms, partition_responses_log_start_offset, partition_responses_record_errors, partition_responses_error_message, partition_responses_current_leader))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        responses.append(ProduceResponseTopic(responses_name, responses_topic_id, responses_partition_responses))
    throttle_time_ms, tags = unpack_iB(data, pos)
    pos += 5
    node_endpoints: list[ProduceResponseNodeEndpoint] = EMPTY
    if tags:
        spans, after = read_tags(data, pos, tags)
        if version >= 10 and 0 in spans:
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
                node_endpoints.append(ProduceResponseNodeEndpoint(node_endpoints_node_id, node_endpoints_host, node_endpoints_port, node_endpoints_rack))
            if pos != node_endpoints_end:
                raise bad_length("node_endpoints", node_endpoints_end - pos, size - pos)
        pos = after
    reader.position = pos
    return ProduceResponse(responses, throttle_time_ms, node_endpoints)


def _read_older_response(reader: Reader, version: int) -> ProduceResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[ProduceResponseTopic] = []
    responses_count = n
    for _ in range(responses_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        responses_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 22 or n > budget:
            raise too_many("partition_responses", n, size - pos)
        budget -= n
        responses_partition_responses: list[ProduceResponsePartition] = []
        responses_partition_responses_count = n
        for _ in range(responses_partition_responses_count):
            if version >= 5:
                partition_responses_index, partition_responses_error_code, partition_responses_base_offset, partition_responses_log_append_time_ms, partition_responses_log_start_offset = unpack_ihqqq(data, pos)
                pos += 30
            else:
                partition_responses_index, partition_responses_error_code, partition_responses_base_offset, partition_responses_log_append_time_ms = unpack_ihqq(data, pos)
                pos += 22
                partition_responses_log_start_offset = -1
            partition_responses_record_errors: list[ProduceResponseRecordError] = EMPTY
            if version >= 8:
                (n,) = unpack_i(data, pos)
                pos += 4
                if n < 0 or n > (size - pos) // 6 or n > budget:
                    raise too_many("record_errors", n, size - pos)
                budget -= n
                partition_responses_record_errors = []
                partition_responses_record_errors_count = n
                for _ in range(partition_responses_record_errors_count):
                    record_errors_batch_index, n = unpack_ih(data, pos)
                    pos += 6
                    if n == -1:
                        record_errors_batch_index_error_message = None
                    else:
                        stop = pos + n
                        if n < 0 or stop > size:
                            raise bad_length("batch_index_error_message", n, size - pos)
                        record_errors_batch_index_error_message = data[pos:stop].tobytes().decode()
                        pos = stop
                    partition_responses_record_errors.append(ProduceResponseRecordError(record_errors_batch_index, record_errors_batch_index_error_message))
            partition_responses_error_message = None
            if version >= 8:
                (n,) = unpack_h(data, pos)
                pos += 2
                if n == -1:
                    partition_responses_error_message = None
                else:
                    stop = pos + n
                    if n < 0 or stop > size:
                        raise bad_length("error_message", n, size - pos)
                    partition_responses_error_message = data[pos:stop].tobytes().decode()
                    pos = stop
            responses_partition_responses.append(ProduceResponsePartition(partition_responses_index, partition_responses_error_code, partition_responses_base_offset, partition_responses_log_append_time_ms, partition_responses_log_start_offset, partition_responses_record_errors, partition_responses_error_message, None))
        responses.append(ProduceResponseTopic(responses_name, ZERO_UUID, responses_partition_responses))
    (throttle_time_ms,) = unpack_i(data, pos)
    pos += 4
    reader.position = pos
    return ProduceResponse(responses, throttle_time_ms, EMPTY)
