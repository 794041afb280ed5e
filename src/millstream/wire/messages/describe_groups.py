"""DescribeGroups (key 15). State and members of groups.

Generated from wire/schema/describe_groups.txt by tools/generate_messages.py: change that, not this.
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

unpack_o: Final = struct.Struct(">?").unpack_from
pack_o: Final = struct.Struct(">?").pack
unpack_oB: Final = struct.Struct(">?B").unpack_from
pack_ox: Final = struct.Struct(">?x").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hh: Final = struct.Struct(">hh").unpack_from
pack_hh: Final = struct.Struct(">hh").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class DescribeGroupsRequest(Message):
    __slots__ = ("groups", "include_authorized_operations")
    FIELDS = ("groups", "include_authorized_operations")
    KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        groups: list[str] = EMPTY,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups: list[str] = [] if groups is EMPTY else groups
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeGroupsRequest":
        try:
            if version >= 5:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeGroupsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 5:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeGroupsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.groups) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for text in self.groups:
            raw = text.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out += pack_ox(self.include_authorized_operations)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.groups)
        out += pack_i(n)
        for text in self.groups:
            raw = text.encode()
            out += pack_h(len(raw))
            out += raw
        if version >= 3:
            out += pack_o(self.include_authorized_operations)


def _read_flexible_request(reader: Reader, version: int) -> DescribeGroupsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > size - pos or n > budget:
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[str] = []
    groups_count = n
    for _ in range(groups_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("groups", n - 1, size - pos)
        groups.append(data[pos:stop].tobytes().decode())
        pos = stop
    include_authorized_operations, tags = unpack_oB(data, pos)
    pos += 2
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeGroupsRequest(groups, include_authorized_operations)


def _read_older_request(reader: Reader, version: int) -> DescribeGroupsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[str] = []
    groups_count = n
    for _ in range(groups_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("groups", n, size - pos)
        groups.append(data[pos:stop].tobytes().decode())
        pos = stop
    if version >= 3:
        (include_authorized_operations,) = unpack_o(data, pos)
        pos += 1
    else:
        include_authorized_operations = False
    reader.position = pos
    return DescribeGroupsRequest(groups, include_authorized_operations)


@final
class DescribeGroupsResponseMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")
    FIELDS = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


@final
class DescribeGroupsResponseGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")
    FIELDS = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribeGroupsResponseMember] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members: list[DescribeGroupsResponseMember] = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations


@final
class DescribeGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = ("throttle_time_ms", "groups")
    KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeGroupsResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribeGroupsResponseGroup] = [] if groups is EMPTY else groups

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeGroupsResponse":
        try:
            if version >= 5:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeGroupsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 5:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeGroupsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.groups) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for group in self.groups:
            out += pack_h(group.error_code)
            if version >= 6:
                group_error_message = group.error_message
                if group_error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = group_error_message.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            raw = group.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            raw = group.group_state.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            raw = group.protocol_type.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            raw = group.protocol_data.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(group.members) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for member in group.members:
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
                raw = member.client_id.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                raw = member.client_host.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                n = len(member.member_metadata) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += member.member_metadata
                n = len(member.member_assignment) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += member.member_assignment
                out.append(0)
            out += pack_ix(group.authorized_operations)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.groups)
        if version >= 1:
            out += pack_ii(self.throttle_time_ms, n)
        else:
            out += pack_i(n)
        for group in self.groups:
            raw = group.group_id.encode()
            n = len(raw)
            out += pack_hh(group.error_code, n)
            out += raw
            raw = group.group_state.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            raw = group.protocol_type.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            raw = group.protocol_data.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(group.members)
            out += pack_i(n)
            for member in group.members:
                raw = member.member_id.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                if version >= 4:
                    member_group_instance_id = member.group_instance_id
                    if member_group_instance_id is None:
                        raw = b""
                        n = -1
                    else:
                        raw = member_group_instance_id.encode()
                        n = len(raw)
                    out += pack_h(n)
                    out += raw
                raw = member.client_id.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                raw = member.client_host.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                n = len(member.member_metadata)
                out += pack_i(n)
                out += member.member_metadata
                n = len(member.member_assignment)
                out += pack_i(n)
                out += member.member_assignment
            if version >= 3:
                out += pack_i(group.authorized_operations)


def _read_flexible_response(reader: Reader, version: int) -> DescribeGroupsResponse:
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
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[DescribeGroupsResponseGroup] = []
    groups_count = n
    for _ in range(groups_count):
        (groups_error_code,) = unpack_h(data, pos)
        pos += 2
        groups_error_message = None
        if version >= 6:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                groups_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                groups_error_message = data[pos:stop].tobytes().decode()
                pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("group_id", n - 1, size - pos)
        groups_group_id = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("group_state", n - 1, size - pos)
        groups_group_state = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("protocol_type", n - 1, size - pos)
        groups_protocol_type = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("protocol_data", n - 1, size - pos)
        groups_protocol_data = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 7 or n > budget:
            raise too_many("members", n, size - pos)
        budget -= n
        groups_members: list[DescribeGroupsResponseMember] = []
        groups_members_count = n
        for _ in range(groups_members_count):
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
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("client_id", n - 1, size - pos)
            members_client_id = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("client_host", n - 1, size - pos)
            members_client_host = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("member_metadata", n - 1, size - pos)
            members_member_metadata = data[pos:stop].tobytes()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("member_assignment", n - 1, size - pos)
            members_member_assignment = data[pos:stop].tobytes()
            pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            groups_members.append(DescribeGroupsResponseMember(members_member_id, members_group_instance_id, members_client_id, members_client_host, members_member_metadata, members_member_assignment))
        groups_authorized_operations, tags = unpack_iB(data, pos)
        pos += 5
        if tags:
            pos = skip_tags(data, pos, tags)
        groups.append(DescribeGroupsResponseGroup(groups_error_code, groups_error_message, groups_group_id, groups_group_state, groups_protocol_type, groups_protocol_data, groups_members, groups_authorized_operations))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeGroupsResponse(throttle_time_ms, groups)


def _read_older_response(reader: Reader, version: int) -> DescribeGroupsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        throttle_time_ms, n = unpack_ii(data, pos)
        pos += 8
    else:
        (n,) = unpack_i(data, pos)
        pos += 4
        throttle_time_ms = 0
    if n < 0 or n > (size - pos) // 14 or n > budget:
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[DescribeGroupsResponseGroup] = []
    groups_count = n
    for _ in range(groups_count):
        groups_error_code, n = unpack_hh(data, pos)
        pos += 4
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("group_id", n, size - pos)
        groups_group_id = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("group_state", n, size - pos)
        groups_group_state = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("protocol_type", n, size - pos)
        groups_protocol_type = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("protocol_data", n, size - pos)
        groups_protocol_data = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 14 or n > budget:
            raise too_many("members", n, size - pos)
        budget -= n
        groups_members: list[DescribeGroupsResponseMember] = []
        groups_members_count = n
        for _ in range(groups_members_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("member_id", n, size - pos)
            members_member_id = data[pos:stop].tobytes().decode()
            pos = stop
            members_group_instance_id = None
            if version >= 4:
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
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("client_id", n, size - pos)
            members_client_id = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("client_host", n, size - pos)
            members_client_host = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_i(data, pos)
            pos += 4
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("member_metadata", n, size - pos)
            members_member_metadata = data[pos:stop].tobytes()
            pos = stop
            (n,) = unpack_i(data, pos)
            pos += 4
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("member_assignment", n, size - pos)
            members_member_assignment = data[pos:stop].tobytes()
            pos = stop
            groups_members.append(DescribeGroupsResponseMember(members_member_id, members_group_instance_id, members_client_id, members_client_host, members_member_metadata, members_member_assignment))
        if version >= 3:
            (groups_authorized_operations,) = unpack_i(data, pos)
            pos += 4
        else:
            groups_authorized_operations = -2147483648
        groups.append(DescribeGroupsResponseGroup(groups_error_code, None, groups_group_id, groups_group_state, groups_protocol_type, groups_protocol_data, groups_members, groups_authorized_operations))
    reader.position = pos
    return DescribeGroupsResponse(throttle_time_ms, groups)
