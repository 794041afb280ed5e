"""ConsumerGroupDescribe (key 69). State, members and assignments of consumer groups of the newer protocol.

Generated from wire/schema/consumer_group_describe.txt by tools/generate_messages.py: change that, not this.
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
unpack_16sB: Final = struct.Struct(">16sB").unpack_from
unpack_oB: Final = struct.Struct(">?B").unpack_from
pack_ox: Final = struct.Struct(">?x").pack
unpack_bB: Final = struct.Struct(">bB").unpack_from
pack_bx: Final = struct.Struct(">bx").pack
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ii: Final = struct.Struct(">ii").pack
unpack_iiB: Final = struct.Struct(">iiB").unpack_from
pack_ix: Final = struct.Struct(">ix").pack


@final
class ConsumerGroupDescribeRequest(Message):
    __slots__ = ("group_ids", "include_authorized_operations")
    FIELDS = ("group_ids", "include_authorized_operations")
    KEY = 69
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        group_ids: list[str] = EMPTY,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ConsumerGroupDescribeRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ConsumerGroupDescribeRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ConsumerGroupDescribeRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.group_ids) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for text in self.group_ids:
            raw = text.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out += pack_ox(self.include_authorized_operations)


def _read_flexible_request(reader: Reader, version: int) -> ConsumerGroupDescribeRequest:
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
        raise too_many("group_ids", n, size - pos)
    budget -= n
    group_ids: list[str] = []
    group_ids_count = n
    for _ in range(group_ids_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("group_ids", n - 1, size - pos)
        group_ids.append(data[pos:stop].tobytes().decode())
        pos = stop
    include_authorized_operations, tags = unpack_oB(data, pos)
    pos += 2
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ConsumerGroupDescribeRequest(group_ids, include_authorized_operations)


@final
class ConsumerGroupDescribeResponseTopic(Struct):
    __slots__ = ("topic_id", "topic_name", "partitions")
    FIELDS = ("topic_id", "topic_name", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions


@final
class ConsumerGroupDescribeResponseAssignment(Struct):
    __slots__ = ("topic_partitions",)
    FIELDS = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[ConsumerGroupDescribeResponseTopic] = EMPTY,
    ) -> None:
        self.topic_partitions: list[ConsumerGroupDescribeResponseTopic] = [] if topic_partitions is EMPTY else topic_partitions


@final
class ConsumerGroupDescribeResponseMember(Struct):
    __slots__ = ("member_id", "instance_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "assignment", "target_assignment", "member_type")
    FIELDS = ("member_id", "instance_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "assignment", "target_assignment", "member_type")

    def __init__(
        self,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        subscribed_topic_regex: str | None = None,
        assignment: ConsumerGroupDescribeResponseAssignment | None = None,
        target_assignment: ConsumerGroupDescribeResponseAssignment | None = None,
        member_type: int = -1,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment = ConsumerGroupDescribeResponseAssignment() if assignment is None else assignment
        self.target_assignment = ConsumerGroupDescribeResponseAssignment() if target_assignment is None else target_assignment
        self.member_type = member_type


@final
class ConsumerGroupDescribeResponseGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")
    FIELDS = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[ConsumerGroupDescribeResponseMember] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members: list[ConsumerGroupDescribeResponseMember] = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations


@final
class ConsumerGroupDescribeResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = ("throttle_time_ms", "groups")
    KEY = 69
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[ConsumerGroupDescribeResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[ConsumerGroupDescribeResponseGroup] = [] if groups is EMPTY else groups

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ConsumerGroupDescribeResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ConsumerGroupDescribeResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ConsumerGroupDescribeResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.groups) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for group in self.groups:
            out += pack_h(group.error_code)
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
            out += pack_ii(group.group_epoch, group.assignment_epoch)
            raw = group.assignor_name.encode()
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
                member_instance_id = member.instance_id
                if member_instance_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = member_instance_id.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                member_rack_id = member.rack_id
                if member_rack_id is None:
                    raw = b""
                    n = 0
                else:
                    raw = member_rack_id.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_i(member.member_epoch)
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
                n = len(member.subscribed_topic_names) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for text in member.subscribed_topic_names:
                    raw = text.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                member_subscribed_topic_regex = member.subscribed_topic_regex
                if member_subscribed_topic_regex is None:
                    raw = b""
                    n = 0
                else:
                    raw = member_subscribed_topic_regex.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                assignment = member.assignment
                n = len(assignment.topic_partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for topic in assignment.topic_partitions:
                    out += pack_16s(topic.topic_id)
                    raw = topic.topic_name.encode()
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
                out.append(0)
                assignment = member.target_assignment
                n = len(assignment.topic_partitions) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for topic in assignment.topic_partitions:
                    out += pack_16s(topic.topic_id)
                    raw = topic.topic_name.encode()
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
                out.append(0)
                if version >= 1:
                    out += pack_bx(member.member_type)
                else:
                    out.append(0)
            out += pack_ix(group.authorized_operations)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> ConsumerGroupDescribeResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 20 or n > budget:
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[ConsumerGroupDescribeResponseGroup] = []
    groups_count = n
    for _ in range(groups_count):
        groups_error_code, n = unpack_hB(data, pos)
        pos += 3
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
        groups_group_epoch, groups_assignment_epoch, n = unpack_iiB(data, pos)
        pos += 9
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("assignor_name", n - 1, size - pos)
        groups_assignor_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 16 or n > budget:
            raise too_many("members", n, size - pos)
        budget -= n
        groups_members: list[ConsumerGroupDescribeResponseMember] = []
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
                members_instance_id = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("instance_id", n - 1, size - pos)
                members_instance_id = data[pos:stop].tobytes().decode()
                pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                members_rack_id = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("rack_id", n - 1, size - pos)
                members_rack_id = data[pos:stop].tobytes().decode()
                pos = stop
            members_member_epoch, n = unpack_iB(data, pos)
            pos += 5
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
            n -= 1
            if n < 0 or n > size - pos or n > budget:
                raise too_many("subscribed_topic_names", n, size - pos)
            budget -= n
            members_subscribed_topic_names: list[str] = []
            members_subscribed_topic_names_count = n
            for _ in range(members_subscribed_topic_names_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("subscribed_topic_names", n - 1, size - pos)
                members_subscribed_topic_names.append(data[pos:stop].tobytes().decode())
                pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                members_subscribed_topic_regex = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("subscribed_topic_regex", n - 1, size - pos)
                members_subscribed_topic_regex = data[pos:stop].tobytes().decode()
                pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 19 or n > budget:
                raise too_many("topic_partitions", n, size - pos)
            budget -= n
            assignment_topic_partitions: list[ConsumerGroupDescribeResponseTopic] = []
            assignment_topic_partitions_count = n
            for _ in range(assignment_topic_partitions_count):
                topic_partitions_topic_id, n = unpack_16sB(data, pos)
                pos += 17
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("topic_name", n - 1, size - pos)
                topic_partitions_topic_name = data[pos:stop].tobytes().decode()
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
                assignment_topic_partitions.append(ConsumerGroupDescribeResponseTopic(topic_partitions_topic_id, topic_partitions_topic_name, topic_partitions_partitions))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            members_assignment = ConsumerGroupDescribeResponseAssignment(assignment_topic_partitions)
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 19 or n > budget:
                raise too_many("topic_partitions", n, size - pos)
            budget -= n
            target_assignment_topic_partitions: list[ConsumerGroupDescribeResponseTopic] = []
            target_assignment_topic_partitions_count = n
            for _ in range(target_assignment_topic_partitions_count):
                target_assignment_topic_partitions_topic_id, n = unpack_16sB(data, pos)
                pos += 17
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("topic_name", n - 1, size - pos)
                target_assignment_topic_partitions_topic_name = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                n -= 1
                if n < 0 or n > (size - pos) // 4 or n > budget:
                    raise too_many("partitions", n, size - pos)
                budget -= n
                target_assignment_topic_partitions_partitions: list[int] = list(struct.unpack_from(f">{n}i", data, pos))
                pos += 4 * n
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                target_assignment_topic_partitions.append(ConsumerGroupDescribeResponseTopic(target_assignment_topic_partitions_topic_id, target_assignment_topic_partitions_topic_name, target_assignment_topic_partitions_partitions))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            members_target_assignment = ConsumerGroupDescribeResponseAssignment(target_assignment_topic_partitions)
            if version >= 1:
                members_member_type, tags = unpack_bB(data, pos)
                pos += 2
            else:
                tags = data[pos]
                pos += 1
                members_member_type = -1
            if tags:
                pos = skip_tags(data, pos, tags)
            groups_members.append(ConsumerGroupDescribeResponseMember(members_member_id, members_instance_id, members_rack_id, members_member_epoch, members_client_id, members_client_host, members_subscribed_topic_names, members_subscribed_topic_regex, members_assignment, members_target_assignment, members_member_type))
        groups_authorized_operations, tags = unpack_iB(data, pos)
        pos += 5
        if tags:
            pos = skip_tags(data, pos, tags)
        groups.append(ConsumerGroupDescribeResponseGroup(groups_error_code, groups_error_message, groups_group_id, groups_group_state, groups_group_epoch, groups_assignment_epoch, groups_assignor_name, groups_members, groups_authorized_operations))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ConsumerGroupDescribeResponse(throttle_time_ms, groups)
