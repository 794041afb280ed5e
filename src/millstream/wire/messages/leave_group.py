"""LeaveGroup (key 13). Members leave their group.

Generated from wire/schema/leave_group.txt by tools/generate_messages.py: change that, not this.
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
pack_hx: Final = struct.Struct(">hx").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class LeaveGroupRequestMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "reason")
    FIELDS = ("member_id", "group_instance_id", "reason")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


@final
class LeaveGroupRequest(Message):
    __slots__ = ("group_id", "member_id", "members")
    FIELDS = ("group_id", "member_id", "members")
    KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[LeaveGroupRequestMember] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members: list[LeaveGroupRequestMember] = [] if members is EMPTY else members

    @classmethod
    def read(cls, reader: Reader, version: int) -> "LeaveGroupRequest":
        try:
            if version >= 4:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("LeaveGroupRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"LeaveGroupRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        n = len(self.members) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for member in self.members:
            raw = member.member_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            member_group_instance_id = member.group_instance_id
            if member_group_instance_id is None:
                raw = b""
                n = 0
            else:
                raw = member_group_instance_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            if version >= 5:
                member_reason = member.reason
                if member_reason is None:
                    raw = b""
                    n = 0
                else:
                    raw = member_reason.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        if version <= 2:
            raw = self.member_id.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
        if version >= 3:
            n = len(self.members)
            out += pack_i(n)
            for member in self.members:
                raw = member.member_id.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                member_group_instance_id = member.group_instance_id
                if member_group_instance_id is None:
                    raw = b""
                    n = -1
                else:
                    raw = member_group_instance_id.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw


def _read_flexible_request(reader: Reader, version: int) -> LeaveGroupRequest:
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
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("members", n, size - pos)
    budget -= n
    members: list[LeaveGroupRequestMember] = []
    members_count = n
    for _ in range(members_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("member_id", n - 1, size - pos)
        members_member_id = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            members_group_instance_id = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("group_instance_id", n - 1, size - pos)
            members_group_instance_id = data[pos:stop].tobytes().decode()
            pos = stop
        members_reason = None
        if version >= 5:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                members_reason = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("reason", n - 1, size - pos)
                members_reason = data[pos:stop].tobytes().decode()
                pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        members.append(LeaveGroupRequestMember(members_member_id, members_group_instance_id, members_reason))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return LeaveGroupRequest(group_id, "", members)


def _read_older_request(reader: Reader, version: int) -> LeaveGroupRequest:
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
    member_id = ""
    if version <= 2:
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("member_id", n, size - pos)
        member_id = data[pos:stop].tobytes().decode()
        pos = stop
    members: list[LeaveGroupRequestMember] = EMPTY
    if version >= 3:
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("members", n, size - pos)
        budget -= n
        members = []
        members_count = n
        for _ in range(members_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("member_id", n, size - pos)
            members_member_id = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            if n == -1:
                members_group_instance_id = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("group_instance_id", n, size - pos)
                members_group_instance_id = data[pos:stop].tobytes().decode()
                pos = stop
            members.append(LeaveGroupRequestMember(members_member_id, members_group_instance_id, None))
    reader.position = pos
    return LeaveGroupRequest(group_id, member_id, members)


@final
class LeaveGroupResponseMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "error_code")
    FIELDS = ("member_id", "group_instance_id", "error_code")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


@final
class LeaveGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "members")
    FIELDS = ("throttle_time_ms", "error_code", "members")
    KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[LeaveGroupResponseMember] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members: list[LeaveGroupResponseMember] = [] if members is EMPTY else members

    @classmethod
    def read(cls, reader: Reader, version: int) -> "LeaveGroupResponse":
        try:
            if version >= 4:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("LeaveGroupResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"LeaveGroupResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        n = len(self.members) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for member in self.members:
            raw = member.member_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            member_group_instance_id = member.group_instance_id
            if member_group_instance_id is None:
                raw = b""
                n = 0
            else:
                raw = member_group_instance_id.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_hx(member.error_code)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        if version >= 1:
            out += pack_ih(self.throttle_time_ms, self.error_code)
        else:
            out += pack_h(self.error_code)
        if version >= 3:
            n = len(self.members)
            out += pack_i(n)
            for member in self.members:
                raw = member.member_id.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                member_group_instance_id = member.group_instance_id
                if member_group_instance_id is None:
                    raw = b""
                    n = -1
                else:
                    raw = member_group_instance_id.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw
                out += pack_h(member.error_code)


def _read_flexible_response(reader: Reader, version: int) -> LeaveGroupResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 5 or n > budget:
        raise too_many("members", n, size - pos)
    budget -= n
    members: list[LeaveGroupResponseMember] = []
    members_count = n
    for _ in range(members_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("member_id", n - 1, size - pos)
        members_member_id = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            members_group_instance_id = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("group_instance_id", n - 1, size - pos)
            members_group_instance_id = data[pos:stop].tobytes().decode()
            pos = stop
        members_error_code, tags = unpack_hB(data, pos)
        pos += 3
        if tags:
            pos = skip_tags(data, pos, tags)
        members.append(LeaveGroupResponseMember(members_member_id, members_group_instance_id, members_error_code))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return LeaveGroupResponse(throttle_time_ms, error_code, members)


def _read_older_response(reader: Reader, version: int) -> LeaveGroupResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        throttle_time_ms, error_code = unpack_ih(data, pos)
        pos += 6
    else:
        (error_code,) = unpack_h(data, pos)
        pos += 2
        throttle_time_ms = 0
    members: list[LeaveGroupResponseMember] = EMPTY
    if version >= 3:
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("members", n, size - pos)
        budget -= n
        members = []
        members_count = n
        for _ in range(members_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("member_id", n, size - pos)
            members_member_id = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            if n == -1:
                members_group_instance_id = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("group_instance_id", n, size - pos)
                members_group_instance_id = data[pos:stop].tobytes().decode()
                pos = stop
            (members_error_code,) = unpack_h(data, pos)
            pos += 2
            members.append(LeaveGroupResponseMember(members_member_id, members_group_instance_id, members_error_code))
    reader.position = pos
    return LeaveGroupResponse(throttle_time_ms, error_code, members)
