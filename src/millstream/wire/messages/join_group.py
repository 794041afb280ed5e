"""JoinGroup (key 11). Enter a group, or take part in its rebalance.

Generated from wire/schema/join_group.txt by tools/generate_messages.py: change that, not this.
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

pack_o: Final = struct.Struct(">?").pack
unpack_oB: Final = struct.Struct(">?B").unpack_from
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hih: Final = struct.Struct(">hih").unpack_from
pack_hih: Final = struct.Struct(">hih").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihi: Final = struct.Struct(">ihi").unpack_from
pack_ihi: Final = struct.Struct(">ihi").pack
unpack_ihih: Final = struct.Struct(">ihih").unpack_from
pack_ihih: Final = struct.Struct(">ihih").pack
pack_ii: Final = struct.Struct(">ii").pack
unpack_iiB: Final = struct.Struct(">iiB").unpack_from
unpack_iih: Final = struct.Struct(">iih").unpack_from
pack_iih: Final = struct.Struct(">iih").pack


@final
class JoinGroupRequestProtocol(Struct):
    __slots__ = ("name", "metadata")
    FIELDS = ("name", "metadata")

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


@final
class JoinGroupRequest(Message):
    __slots__ = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")
    FIELDS = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")
    KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 9
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = EMPTY,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols: list[JoinGroupRequestProtocol] = [] if protocols is EMPTY else protocols
        self.reason = reason

    @classmethod
    def read(cls, reader: Reader, version: int) -> "JoinGroupRequest":
        try:
            if version >= 6:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("JoinGroupRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 6:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"JoinGroupRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_ii(self.session_timeout_ms, self.rebalance_timeout_ms)
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
        raw = self.protocol_type.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        n = len(self.protocols) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for protocol in self.protocols:
            raw = protocol.name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(protocol.metadata) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += protocol.metadata
            out.append(0)
        if version >= 8:
            reason = self.reason
            if reason is None:
                raw = b""
                n = 0
            else:
                raw = reason.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        raw = self.member_id.encode()
        n = len(raw)
        if version >= 1:
            out += pack_iih(self.session_timeout_ms, self.rebalance_timeout_ms, n)
        else:
            out += pack_ih(self.session_timeout_ms, n)
        out += raw
        if version >= 5:
            group_instance_id = self.group_instance_id
            if group_instance_id is None:
                raw = b""
                n = -1
            else:
                raw = group_instance_id.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw
        raw = self.protocol_type.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        n = len(self.protocols)
        out += pack_i(n)
        for protocol in self.protocols:
            raw = protocol.name.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            n = len(protocol.metadata)
            out += pack_i(n)
            out += protocol.metadata


def _read_flexible_request(reader: Reader, version: int) -> JoinGroupRequest:
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
    session_timeout_ms, rebalance_timeout_ms, n = unpack_iiB(data, pos)
    pos += 9
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
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("protocol_type", n - 1, size - pos)
    protocol_type = data[pos:stop].tobytes().decode()
    pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("protocols", n, size - pos)
    budget -= n
    protocols: list[JoinGroupRequestProtocol] = []
    protocols_count = n
    for _ in range(protocols_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("name", n - 1, size - pos)
        protocols_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("metadata", n - 1, size - pos)
        protocols_metadata = data[pos:stop].tobytes()
        pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        protocols.append(JoinGroupRequestProtocol(protocols_name, protocols_metadata))
    reason = None
    if version >= 8:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            reason = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("reason", n - 1, size - pos)
            reason = data[pos:stop].tobytes().decode()
            pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason)


def _read_older_request(reader: Reader, version: int) -> JoinGroupRequest:
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
    if version >= 1:
        session_timeout_ms, rebalance_timeout_ms, n = unpack_iih(data, pos)
        pos += 10
    else:
        session_timeout_ms, n = unpack_ih(data, pos)
        pos += 6
        rebalance_timeout_ms = -1
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("member_id", n, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    group_instance_id = None
    if version >= 5:
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
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("protocol_type", n, size - pos)
    protocol_type = data[pos:stop].tobytes().decode()
    pos = stop
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("protocols", n, size - pos)
    budget -= n
    protocols: list[JoinGroupRequestProtocol] = []
    protocols_count = n
    for _ in range(protocols_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("name", n, size - pos)
        protocols_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("metadata", n, size - pos)
        protocols_metadata = data[pos:stop].tobytes()
        pos = stop
        protocols.append(JoinGroupRequestProtocol(protocols_name, protocols_metadata))
    reader.position = pos
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None)


@final
class JoinGroupResponseMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "metadata")
    FIELDS = ("member_id", "group_instance_id", "metadata")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


@final
class JoinGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")
    FIELDS = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")
    KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 9
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members: list[JoinGroupResponseMember] = [] if members is EMPTY else members

    @classmethod
    def read(cls, reader: Reader, version: int) -> "JoinGroupResponse":
        try:
            if version >= 6:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("JoinGroupResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 6:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"JoinGroupResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ihi(self.throttle_time_ms, self.error_code, self.generation_id)
        if version >= 7:
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
        protocol_name = self.protocol_name
        if protocol_name is None:
            if version < 7:
                raise ValueError(f"protocol_name may not be null in version {version}")
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
        raw = self.leader.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        if version >= 9:
            out += pack_o(self.skip_assignment)
        raw = self.member_id.encode()
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
            n = len(member.metadata) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += member.metadata
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        protocol_name = self.protocol_name
        if protocol_name is None:
            raise ValueError(f"protocol_name may not be null in version {version}")
        else:
            raw = protocol_name.encode()
            n = len(raw)
        if version >= 2:
            out += pack_ihih(self.throttle_time_ms, self.error_code, self.generation_id, n)
        else:
            out += pack_hih(self.error_code, self.generation_id, n)
        out += raw
        raw = self.leader.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        raw = self.member_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        n = len(self.members)
        out += pack_i(n)
        for member in self.members:
            raw = member.member_id.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            if version >= 5:
                member_group_instance_id = member.group_instance_id
                if member_group_instance_id is None:
                    raw = b""
                    n = -1
                else:
                    raw = member_group_instance_id.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw
            n = len(member.metadata)
            out += pack_i(n)
            out += member.metadata


def _read_flexible_response(reader: Reader, version: int) -> JoinGroupResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, generation_id = unpack_ihi(data, pos)
    pos += 10
    protocol_type = None
    if version >= 7:
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
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0 and version >= 7:
        protocol_name = None
    else:
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("protocol_name", n - 1, size - pos)
        protocol_name = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("leader", n - 1, size - pos)
    leader = data[pos:stop].tobytes().decode()
    pos = stop
    if version >= 9:
        skip_assignment, n = unpack_oB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    else:
        n = data[pos]
        pos += 1
        skip_assignment = False
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
    n -= 1
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("members", n, size - pos)
    budget -= n
    members: list[JoinGroupResponseMember] = []
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
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("metadata", n - 1, size - pos)
        members_metadata = data[pos:stop].tobytes()
        pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        members.append(JoinGroupResponseMember(members_member_id, members_group_instance_id, members_metadata))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members)


def _read_older_response(reader: Reader, version: int) -> JoinGroupResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 2:
        throttle_time_ms, error_code, generation_id, n = unpack_ihih(data, pos)
        pos += 12
    else:
        error_code, generation_id, n = unpack_hih(data, pos)
        pos += 8
        throttle_time_ms = 0
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("protocol_name", n, size - pos)
    protocol_name = data[pos:stop].tobytes().decode()
    pos = stop
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("leader", n, size - pos)
    leader = data[pos:stop].tobytes().decode()
    pos = stop
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("member_id", n, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("members", n, size - pos)
    budget -= n
    members: list[JoinGroupResponseMember] = []
    members_count = n
    for _ in range(members_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("member_id", n, size - pos)
        members_member_id = data[pos:stop].tobytes().decode()
        pos = stop
        members_group_instance_id = None
        if version >= 5:
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
        (n,) = unpack_i(data, pos)
        pos += 4
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("metadata", n, size - pos)
        members_metadata = data[pos:stop].tobytes()
        pos = stop
        members.append(JoinGroupResponseMember(members_member_id, members_group_instance_id, members_metadata))
    reader.position = pos
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
