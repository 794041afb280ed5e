"""CreateTopics (key 19). Create topics.

Generated from wire/schema/create_topics.txt by tools/generate_messages.py: change that, not this.
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
    read_tags,
    skip_tags,
    too_many,
    write_tags,
    write_uvarint,
)

pack_16sh: Final = struct.Struct(">16sh").pack
unpack_16shB: Final = struct.Struct(">16shB").unpack_from
unpack_oboB: Final = struct.Struct(">?b?B").unpack_from
pack_obox: Final = struct.Struct(">?b?x").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
unpack_hh: Final = struct.Struct(">hh").unpack_from
pack_hh: Final = struct.Struct(">hh").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_io: Final = struct.Struct(">i?").unpack_from
pack_io: Final = struct.Struct(">i?").pack
unpack_ioB: Final = struct.Struct(">i?B").unpack_from
pack_iox: Final = struct.Struct(">i?x").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ihi: Final = struct.Struct(">ihi").unpack_from
pack_ihi: Final = struct.Struct(">ihi").pack
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack


@final
class CreateTopicsRequestAssignment(Struct):
    __slots__ = ("partition_index", "broker_ids")
    FIELDS = ("partition_index", "broker_ids")

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids: list[int] = [] if broker_ids is EMPTY else broker_ids


@final
class CreateTopicsRequestConfig(Struct):
    __slots__ = ("name", "value")
    FIELDS = ("name", "value")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


@final
class CreateTopicsRequestTopic(Struct):
    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")
    FIELDS = ("name", "num_partitions", "replication_factor", "assignments", "configs")

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreateTopicsRequestAssignment] = EMPTY,
        configs: list[CreateTopicsRequestConfig] = EMPTY,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments: list[CreateTopicsRequestAssignment] = [] if assignments is EMPTY else assignments
        self.configs: list[CreateTopicsRequestConfig] = [] if configs is EMPTY else configs


@final
class CreateTopicsRequest(Message):
    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS = ("topics", "timeout_ms", "validate_only")
    KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        topics: list[CreateTopicsRequestTopic] = EMPTY,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics: list[CreateTopicsRequestTopic] = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @classmethod
    def read(cls, reader: Reader, version: int) -> "CreateTopicsRequest":
        try:
            if version >= 5:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("CreateTopicsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 5:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"CreateTopicsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
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
            out += pack_ih(topic.num_partitions, topic.replication_factor)
            n = len(topic.assignments) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for assignment in topic.assignments:
                out += pack_i(assignment.partition_index)
                n = len(assignment.broker_ids) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += struct.pack(f">{len(assignment.broker_ids)}i", *assignment.broker_ids)
                out.append(0)
            n = len(topic.configs) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for config in topic.configs:
                raw = config.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                config_value = config.value
                if config_value is None:
                    raw = b""
                    n = 0
                else:
                    raw = config_value.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
            out.append(0)
        out += pack_iox(self.timeout_ms, self.validate_only)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        out += pack_i(n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(topic.assignments)
            out += pack_ihi(topic.num_partitions, topic.replication_factor, n)
            for assignment in topic.assignments:
                n = len(assignment.broker_ids)
                out += pack_ii(assignment.partition_index, n)
                out += struct.pack(f">{len(assignment.broker_ids)}i", *assignment.broker_ids)
            n = len(topic.configs)
            out += pack_i(n)
            for config in topic.configs:
                raw = config.name.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                config_value = config.value
                if config_value is None:
                    raw = b""
                    n = -1
                else:
                    raw = config_value.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw
        out += pack_io(self.timeout_ms, self.validate_only)


def _read_flexible_request(reader: Reader, version: int) -> CreateTopicsRequest:
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
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[CreateTopicsRequestTopic] = []
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
        topics_num_partitions, topics_replication_factor, n = unpack_ihB(data, pos)
        pos += 7
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("assignments", n, size - pos)
        budget -= n
        topics_assignments: list[CreateTopicsRequestAssignment] = []
        topics_assignments_count = n
        for _ in range(topics_assignments_count):
            assignments_partition_index, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("broker_ids", n, size - pos)
            budget -= n
            assignments_broker_ids: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_assignments.append(CreateTopicsRequestAssignment(assignments_partition_index, assignments_broker_ids))
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("configs", n, size - pos)
        budget -= n
        topics_configs: list[CreateTopicsRequestConfig] = []
        topics_configs_count = n
        for _ in range(topics_configs_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            configs_name = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                configs_value = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("value", n - 1, size - pos)
                configs_value = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            topics_configs.append(CreateTopicsRequestConfig(configs_name, configs_value))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(CreateTopicsRequestTopic(topics_name, topics_num_partitions, topics_replication_factor, topics_assignments, topics_configs))
    timeout_ms, validate_only, tags = unpack_ioB(data, pos)
    pos += 6
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return CreateTopicsRequest(topics, timeout_ms, validate_only)


def _read_older_request(reader: Reader, version: int) -> CreateTopicsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 16 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[CreateTopicsRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        topics_num_partitions, topics_replication_factor, n = unpack_ihi(data, pos)
        pos += 10
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("assignments", n, size - pos)
        budget -= n
        topics_assignments: list[CreateTopicsRequestAssignment] = []
        topics_assignments_count = n
        for _ in range(topics_assignments_count):
            assignments_partition_index, n = unpack_ii(data, pos)
            pos += 8
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("broker_ids", n, size - pos)
            budget -= n
            assignments_broker_ids: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
            pos += 4 * n
            topics_assignments.append(CreateTopicsRequestAssignment(assignments_partition_index, assignments_broker_ids))
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("configs", n, size - pos)
        budget -= n
        topics_configs: list[CreateTopicsRequestConfig] = []
        topics_configs_count = n
        for _ in range(topics_configs_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("name", n, size - pos)
            configs_name = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            if n == -1:
                configs_value = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("value", n, size - pos)
                configs_value = data[pos:stop].tobytes().decode()
                pos = stop
            topics_configs.append(CreateTopicsRequestConfig(configs_name, configs_value))
        topics.append(CreateTopicsRequestTopic(topics_name, topics_num_partitions, topics_replication_factor, topics_assignments, topics_configs))
    timeout_ms, validate_only = unpack_io(data, pos)
    pos += 5
    reader.position = pos
    return CreateTopicsRequest(topics, timeout_ms, validate_only)


@final
class CreateTopicsResponseConfig(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")
    FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


@final
class CreateTopicsResponseTopic(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message", "num_partitions", "replication_factor", "configs", "topic_config_error_code")
    FIELDS = ("name", "topic_id", "error_code", "error_message", "num_partitions", "replication_factor", "configs", "topic_config_error_code")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreateTopicsResponseConfig] | None = EMPTY,
        topic_config_error_code: int = 0,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs: list[CreateTopicsResponseConfig] | None = [] if configs is EMPTY else configs
        self.topic_config_error_code = topic_config_error_code


@final
class CreateTopicsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = ("throttle_time_ms", "topics")
    KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreateTopicsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[CreateTopicsResponseTopic] = [] if topics is EMPTY else topics

    @classmethod
    def read(cls, reader: Reader, version: int) -> "CreateTopicsResponse":
        try:
            if version >= 5:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("CreateTopicsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 5:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"CreateTopicsResponse v{version}: {error}") from error

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
            if version >= 7:
                out += pack_16sh(topic.topic_id, topic.error_code)
            else:
                out += pack_h(topic.error_code)
            topic_error_message = topic.error_message
            if topic_error_message is None:
                raw = b""
                n = 0
            else:
                raw = topic_error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_ih(topic.num_partitions, topic.replication_factor)
            topic_configs = topic.configs
            if topic_configs is None:
                n = 0
            else:
                n = len(topic_configs) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if topic_configs is not None:
                for config in topic_configs:
                    raw = config.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    config_value = config.value
                    if config_value is None:
                        raw = b""
                        n = 0
                    else:
                        raw = config_value.encode()
                        n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out += pack_obox(config.read_only, config.config_source, config.is_sensitive)
            if topic.topic_config_error_code == 0:
                out.append(0)
            else:
                topic_tags: list[tuple[int, bytearray]] = []
                if topic.topic_config_error_code != 0:
                    tag = bytearray()
                    tag += pack_h(topic.topic_config_error_code)
                    topic_tags.append((0, tag))
                write_tags(out, topic_tags)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.topics)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.topics:
            raw = topic.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            topic_error_message = topic.error_message
            if topic_error_message is None:
                raw = b""
                n = -1
            else:
                raw = topic_error_message.encode()
                n = len(raw)
            out += pack_hh(topic.error_code, n)
            out += raw


def _read_flexible_response(reader: Reader, version: int) -> CreateTopicsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 12 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[CreateTopicsResponseTopic] = []
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
        if version >= 7:
            topics_topic_id, topics_error_code, n = unpack_16shB(data, pos)
            pos += 19
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        else:
            topics_error_code, n = unpack_hB(data, pos)
            pos += 3
            topics_topic_id = ZERO_UUID
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
        if n == 0:
            topics_error_message = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("error_message", n - 1, size - pos)
            topics_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        topics_num_partitions, topics_replication_factor, n = unpack_ihB(data, pos)
        pos += 7
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        topics_configs: list[CreateTopicsResponseConfig] | None
        if n == -1:
            topics_configs = None
        else:
            if n < 0 or n > (size - pos) // 6 or n > budget:
                raise too_many("configs", n, size - pos)
            budget -= n
            topics_configs = []
            topics_configs_count = n
            for _ in range(topics_configs_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                configs_name = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    configs_value = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("value", n - 1, size - pos)
                    configs_value = data[pos:stop].tobytes().decode()
                    pos = stop
                configs_read_only, configs_config_source, configs_is_sensitive, tags = unpack_oboB(data, pos)
                pos += 4
                if tags:
                    pos = skip_tags(data, pos, tags)
                topics_configs.append(CreateTopicsResponseConfig(configs_name, configs_value, configs_read_only, configs_config_source, configs_is_sensitive))
        tags = data[pos]
        pos += 1
        topics_topic_config_error_code = 0
        if tags:
            topics_spans, topics_after = read_tags(data, pos, tags)
            if 0 in topics_spans:
                pos, topics_topic_config_error_code_end = topics_spans[0]
                (topics_topic_config_error_code,) = unpack_h(data, pos)
                pos += 2
                if pos != topics_topic_config_error_code_end:
                    raise bad_length("topic_config_error_code", topics_topic_config_error_code_end - pos, size - pos)
            pos = topics_after
        topics.append(CreateTopicsResponseTopic(topics_name, topics_topic_id, topics_error_code, topics_error_message, topics_num_partitions, topics_replication_factor, topics_configs, topics_topic_config_error_code))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return CreateTopicsResponse(throttle_time_ms, topics)


def _read_older_response(reader: Reader, version: int) -> CreateTopicsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[CreateTopicsResponseTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        topics_error_code, n = unpack_hh(data, pos)
        pos += 4
        if n == -1:
            topics_error_message = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("error_message", n, size - pos)
            topics_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        topics.append(CreateTopicsResponseTopic(topics_name, ZERO_UUID, topics_error_code, topics_error_message, -1, -1, EMPTY, 0))
    reader.position = pos
    return CreateTopicsResponse(throttle_time_ms, topics)
