"""SyncGroup (key 14). Hand out, and receive, the assignment of a rebalance.

Generated from wire/schema/sync_group.txt by tools/generate_messages.py: change that, not this.
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
unpack_hi: Final = struct.Struct(">hi").unpack_from
pack_hi: Final = struct.Struct(">hi").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihi: Final = struct.Struct(">ihi").unpack_from
pack_ihi: Final = struct.Struct(">ihi").pack


@final
class SyncGroupRequestAssignment(Struct):
    __slots__ = ("member_id", "assignment")
    FIELDS = ("member_id", "assignment")

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


@final
class SyncGroupRequest(Message):
    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")
    FIELDS = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")
    KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments: list[SyncGroupRequestAssignment] = [] if assignments is EMPTY else assignments

    @classmethod
    def read(cls, reader: Reader, version: int) -> "SyncGroupRequest":
        try:
            if version >= 4:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("SyncGroupRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"SyncGroupRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_i(self.generation_id)
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
        if version >= 5:
            protocol_type = self.protocol_type
            if protocol_type is None:
                raw = b""
                n = 0
            else:
                raw = protocol_type.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        if version >= 5:
            protocol_name = self.protocol_name
            if protocol_name is None:
                raw = b""
                n = 0
            else:
                raw = protocol_name.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        n = len(self.assignments) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for assignment in self.assignments:
            raw = assignment.member_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(assignment.assignment) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += assignment.assignment
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        raw = self.member_id.encode()
        n = len(raw)
        out += pack_ih(self.generation_id, n)
        out += raw
        if version >= 3:
            group_instance_id = self.group_instance_id
            if group_instance_id is None:
                raw = b""
                n = -1
            else:
                raw = group_instance_id.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw
        n = len(self.assignments)
        out += pack_i(n)
        for assignment in self.assignments:
            raw = assignment.member_id.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(assignment.assignment)
            out += pack_i(n)
            out += assignment.assignment


def _read_flexible_request(reader: Reader, version: int) -> SyncGroupRequest:
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
        raise bad_length("group_id", n - 1, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    generation_id, n = unpack_iB(data, pos)
    pos += 5
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
    protocol_type = None
    if version >= 5:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            protocol_type = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("protocol_type", n - 1, size - pos)
            protocol_type = data[pos:stop].tobytes().decode()
            pos = stop
    protocol_name = None
    if version >= 5:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            protocol_name = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("protocol_name", n - 1, size - pos)
            protocol_name = data[pos:stop].tobytes().decode()
            pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("assignments", n, size - pos)
    budget -= n
    assignments: list[SyncGroupRequestAssignment] = []
    assignments_count = n
    for _ in range(assignments_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("member_id", n - 1, size - pos)
        assignments_member_id = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("assignment", n - 1, size - pos)
        assignments_assignment = data[pos:stop].tobytes()
        pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        assignments.append(SyncGroupRequestAssignment(assignments_member_id, assignments_assignment))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments)


def _read_older_request(reader: Reader, version: int) -> SyncGroupRequest:
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
    generation_id, n = unpack_ih(data, pos)
    pos += 6
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("member_id", n, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    group_instance_id = None
    if version >= 3:
        (n,) = unpack_h(data, pos)
        pos += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("group_instance_id", n, size - pos)
            group_instance_id = data[pos:stop].tobytes().decode()
            pos = stop
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("assignments", n, size - pos)
    budget -= n
    assignments: list[SyncGroupRequestAssignment] = []
    assignments_count = n
    for _ in range(assignments_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("member_id", n, size - pos)
        assignments_member_id = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("assignment", n, size - pos)
        assignments_assignment = data[pos:stop].tobytes()
        pos = stop
        assignments.append(SyncGroupRequestAssignment(assignments_member_id, assignments_assignment))
    reader.position = pos
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments)


@final
class SyncGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    FIELDS = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment

    @classmethod
    def read(cls, reader: Reader, version: int) -> "SyncGroupResponse":
        try:
            if version >= 4:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("SyncGroupResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"SyncGroupResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        if version >= 5:
            protocol_type = self.protocol_type
            if protocol_type is None:
                raw = b""
                n = 0
            else:
                raw = protocol_type.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        if version >= 5:
            protocol_name = self.protocol_name
            if protocol_name is None:
                raw = b""
                n = 0
            else:
                raw = protocol_name.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        n = len(self.assignment) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += self.assignment
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.assignment)
        if version >= 1:
            out += pack_ihi(self.throttle_time_ms, self.error_code, n)
        else:
            out += pack_hi(self.error_code, n)
        out += self.assignment


def _read_flexible_response(reader: Reader, version: int) -> SyncGroupResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    throttle_time_ms, error_code = unpack_ih(data, pos)
    pos += 6
    protocol_type = None
    if version >= 5:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            protocol_type = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("protocol_type", n - 1, size - pos)
            protocol_type = data[pos:stop].tobytes().decode()
            pos = stop
    protocol_name = None
    if version >= 5:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            protocol_name = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("protocol_name", n - 1, size - pos)
            protocol_name = data[pos:stop].tobytes().decode()
            pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("assignment", n - 1, size - pos)
    assignment = data[pos:stop].tobytes()
    pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment)


def _read_older_response(reader: Reader, version: int) -> SyncGroupResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    if version >= 1:
        throttle_time_ms, error_code, n = unpack_ihi(data, pos)
        pos += 10
    else:
        error_code, n = unpack_hi(data, pos)
        pos += 6
        throttle_time_ms = 0
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("assignment", n, size - pos)
    assignment = data[pos:stop].tobytes()
    pos = stop
    reader.position = pos
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment)
