"""ListGroups (key 16). The groups of one broker.

Generated from wire/schema/list_groups.txt by tools/generate_messages.py: change that, not this.
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
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ihi: Final = struct.Struct(">ihi").unpack_from
pack_ihi: Final = struct.Struct(">ihi").pack


@final
class ListGroupsRequest(Message):
    __slots__ = ("states_filter", "types_filter")
    FIELDS = ("states_filter", "types_filter")
    KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        states_filter: list[str] = EMPTY,
        types_filter: list[str] = EMPTY,
    ) -> None:
        self.states_filter: list[str] = [] if states_filter is EMPTY else states_filter
        self.types_filter: list[str] = [] if types_filter is EMPTY else types_filter

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListGroupsRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListGroupsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ListGroupsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 4:
            n = len(self.states_filter) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for text in self.states_filter:
                raw = text.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
        if version >= 5:
            n = len(self.types_filter) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for text in self.types_filter:
                raw = text.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        pass


def _read_flexible_request(reader: Reader, version: int) -> ListGroupsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    states_filter: list[str] = EMPTY
    if version >= 4:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > size - pos or n > budget:
            raise too_many("states_filter", n, size - pos)
        budget -= n
        states_filter = []
        states_filter_count = n
        for _ in range(states_filter_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("states_filter", n - 1, size - pos)
            states_filter.append(data[pos:stop].tobytes().decode())
            pos = stop
    types_filter: list[str] = EMPTY
    if version >= 5:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > size - pos or n > budget:
            raise too_many("types_filter", n, size - pos)
        budget -= n
        types_filter = []
        types_filter_count = n
        for _ in range(types_filter_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("types_filter", n - 1, size - pos)
            types_filter.append(data[pos:stop].tobytes().decode())
            pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListGroupsRequest(states_filter, types_filter)


def _read_older_request(reader: Reader, version: int) -> ListGroupsRequest:
    return ListGroupsRequest(EMPTY, EMPTY)


@final
class ListGroupsResponseGroup(Struct):
    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")
    FIELDS = ("group_id", "protocol_type", "group_state", "group_type")

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


@final
class ListGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "groups")
    FIELDS = ("throttle_time_ms", "error_code", "groups")
    KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListGroupsResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups: list[ListGroupsResponseGroup] = [] if groups is EMPTY else groups

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListGroupsResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListGroupsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"ListGroupsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        n = len(self.groups) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for group in self.groups:
            raw = group.group_id.encode()
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
            if version >= 4:
                raw = group.group_state.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            if version >= 5:
                raw = group.group_type.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.groups)
        if version >= 1:
            out += pack_ihi(self.throttle_time_ms, self.error_code, n)
        else:
            out += pack_hi(self.error_code, n)
        for group in self.groups:
            raw = group.group_id.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            raw = group.protocol_type.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw


def _read_flexible_response(reader: Reader, version: int) -> ListGroupsResponse:
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
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[ListGroupsResponseGroup] = []
    groups_count = n
    for _ in range(groups_count):
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
            raise bad_length("protocol_type", n - 1, size - pos)
        groups_protocol_type = data[pos:stop].tobytes().decode()
        pos = stop
        groups_group_state = ""
        if version >= 4:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("group_state", n - 1, size - pos)
            groups_group_state = data[pos:stop].tobytes().decode()
            pos = stop
        groups_group_type = ""
        if version >= 5:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("group_type", n - 1, size - pos)
            groups_group_type = data[pos:stop].tobytes().decode()
            pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        groups.append(ListGroupsResponseGroup(groups_group_id, groups_protocol_type, groups_group_state, groups_group_type))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListGroupsResponse(throttle_time_ms, error_code, groups)


def _read_older_response(reader: Reader, version: int) -> ListGroupsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 1:
        throttle_time_ms, error_code, n = unpack_ihi(data, pos)
        pos += 10
    else:
        error_code, n = unpack_hi(data, pos)
        pos += 6
        throttle_time_ms = 0
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("groups", n, size - pos)
    budget -= n
    groups: list[ListGroupsResponseGroup] = []
    groups_count = n
    for _ in range(groups_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("group_id", n, size - pos)
        groups_group_id = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("protocol_type", n, size - pos)
        groups_protocol_type = data[pos:stop].tobytes().decode()
        pos = stop
        groups.append(ListGroupsResponseGroup(groups_group_id, groups_protocol_type, "", ""))
    reader.position = pos
    return ListGroupsResponse(throttle_time_ms, error_code, groups)
