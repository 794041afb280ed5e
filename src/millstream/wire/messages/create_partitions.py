"""CreatePartitions (key 37). Give topics more partitions.

Generated from wire/schema/create_partitions.txt by tools/generate_messages.py: change that, not this.
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
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack


@final
class CreatePartitionsRequestAssignment(Struct):
    __slots__ = ("broker_ids",)
    FIELDS = ("broker_ids",)

    def __init__(
        self,
        broker_ids: list[int] = EMPTY,
    ) -> None:
        self.broker_ids: list[int] = [] if broker_ids is EMPTY else broker_ids


@final
class CreatePartitionsRequestTopic(Struct):
    __slots__ = ("name", "count", "assignments")
    FIELDS = ("name", "count", "assignments")

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsRequestAssignment] | None = EMPTY,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments: list[CreatePartitionsRequestAssignment] | None = [] if assignments is EMPTY else assignments


@final
class CreatePartitionsRequest(Message):
    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS = ("topics", "timeout_ms", "validate_only")
    KEY = 37
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        topics: list[CreatePartitionsRequestTopic] = EMPTY,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics: list[CreatePartitionsRequestTopic] = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @classmethod
    def read(cls, reader: Reader, version: int) -> "CreatePartitionsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("CreatePartitionsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"CreatePartitionsRequest v{version}: {error}") from error

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
            out += pack_i(topic.count)
            topic_assignments = topic.assignments
            if topic_assignments is None:
                n = 0
            else:
                n = len(topic_assignments) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if topic_assignments is not None:
                for assignment in topic_assignments:
                    n = len(assignment.broker_ids) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += struct.pack(f">{len(assignment.broker_ids)}i", *assignment.broker_ids)
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
            topic_assignments = topic.assignments
            if topic_assignments is None:
                n = -1
            else:
                n = len(topic_assignments)
            out += pack_ii(topic.count, n)
            if topic_assignments is not None:
                for assignment in topic_assignments:
                    n = len(assignment.broker_ids)
                    out += pack_i(n)
                    out += struct.pack(f">{len(assignment.broker_ids)}i", *assignment.broker_ids)
        out += pack_io(self.timeout_ms, self.validate_only)


def _read_flexible_request(reader: Reader, version: int) -> CreatePartitionsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 7 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[CreatePartitionsRequestTopic] = []
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
        topics_count, n = unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        topics_assignments: list[CreatePartitionsRequestAssignment] | None
        if n == -1:
            topics_assignments = None
        else:
            if n < 0 or n > (size - pos) // 2 or n > budget:
                raise too_many("assignments", n, size - pos)
            budget -= n
            topics_assignments = []
            topics_assignments_count = n
            for _ in range(topics_assignments_count):
                n = data[pos]
                pos += 1
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
                topics_assignments.append(CreatePartitionsRequestAssignment(assignments_broker_ids))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        topics.append(CreatePartitionsRequestTopic(topics_name, topics_count, topics_assignments))
    timeout_ms, validate_only, tags = unpack_ioB(data, pos)
    pos += 6
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return CreatePartitionsRequest(topics, timeout_ms, validate_only)


def _read_older_request(reader: Reader, version: int) -> CreatePartitionsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 10 or n > budget:
        raise too_many("topics", n, size - pos)
    budget -= n
    topics: list[CreatePartitionsRequestTopic] = []
    topics_count = n
    for _ in range(topics_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        topics_name = data[pos:stop].tobytes().decode()
        pos = stop
        topics_count, n = unpack_ii(data, pos)
        pos += 8
        topics_assignments: list[CreatePartitionsRequestAssignment] | None
        if n == -1:
            topics_assignments = None
        else:
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("assignments", n, size - pos)
            budget -= n
            topics_assignments = []
            topics_assignments_count = n
            for _ in range(topics_assignments_count):
                (n,) = unpack_i(data, pos)
                pos += 4
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("broker_ids", n, size - pos)
                budget -= n
                assignments_broker_ids: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
                topics_assignments.append(CreatePartitionsRequestAssignment(assignments_broker_ids))
        topics.append(CreatePartitionsRequestTopic(topics_name, topics_count, topics_assignments))
    timeout_ms, validate_only = unpack_io(data, pos)
    pos += 5
    reader.position = pos
    return CreatePartitionsRequest(topics, timeout_ms, validate_only)


@final
class CreatePartitionsResponseTopic(Struct):
    __slots__ = ("name", "error_code", "error_message")
    FIELDS = ("name", "error_code", "error_message")

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message


@final
class CreatePartitionsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = ("throttle_time_ms", "results")
    KEY = 37
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[CreatePartitionsResponseTopic] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "CreatePartitionsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("CreatePartitionsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"CreatePartitionsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for topic in self.results:
            raw = topic.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
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
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results)
        out += pack_ii(self.throttle_time_ms, n)
        for topic in self.results:
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


def _read_flexible_response(reader: Reader, version: int) -> CreatePartitionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 5 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[CreatePartitionsResponseTopic] = []
    results_count = n
    for _ in range(results_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("name", n - 1, size - pos)
        results_name = data[pos:stop].tobytes().decode()
        pos = stop
        results_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            results_error_message = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("error_message", n - 1, size - pos)
            results_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        results.append(CreatePartitionsResponseTopic(results_name, results_error_code, results_error_message))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return CreatePartitionsResponse(throttle_time_ms, results)


def _read_older_response(reader: Reader, version: int) -> CreatePartitionsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[CreatePartitionsResponseTopic] = []
    results_count = n
    for _ in range(results_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        results_name = data[pos:stop].tobytes().decode()
        pos = stop
        results_error_code, n = unpack_hh(data, pos)
        pos += 4
        if n == -1:
            results_error_message = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("error_message", n, size - pos)
            results_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        results.append(CreatePartitionsResponseTopic(results_name, results_error_code, results_error_message))
    reader.position = pos
    return CreatePartitionsResponse(throttle_time_ms, results)
