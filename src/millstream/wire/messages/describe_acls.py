"""DescribeAcls (key 29). Who may do what.

Generated from wire/schema/describe_acls.txt by tools/generate_messages.py: change that, not this.
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
unpack_bb: Final = struct.Struct(">bb").unpack_from
pack_bb: Final = struct.Struct(">bb").pack
unpack_bbB: Final = struct.Struct(">bbB").unpack_from
pack_bbx: Final = struct.Struct(">bbx").pack
unpack_bh: Final = struct.Struct(">bh").unpack_from
pack_bh: Final = struct.Struct(">bh").pack
unpack_bi: Final = struct.Struct(">bi").unpack_from
pack_bi: Final = struct.Struct(">bi").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ihh: Final = struct.Struct(">ihh").unpack_from
pack_ihh: Final = struct.Struct(">ihh").pack


@final
class DescribeAclsRequest(Message):
    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")
    FIELDS = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")
    KEY = 29
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeAclsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeAclsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeAclsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_b(self.resource_type_filter)
        resource_name_filter = self.resource_name_filter
        if resource_name_filter is None:
            raw = b""
            n = 0
        else:
            raw = resource_name_filter.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_b(self.pattern_type_filter)
        principal_filter = self.principal_filter
        if principal_filter is None:
            raw = b""
            n = 0
        else:
            raw = principal_filter.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        host_filter = self.host_filter
        if host_filter is None:
            raw = b""
            n = 0
        else:
            raw = host_filter.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_bbx(self.operation, self.permission_type)

    def _write_older(self, out: bytearray, version: int) -> None:
        resource_name_filter = self.resource_name_filter
        if resource_name_filter is None:
            raw = b""
            n = -1
        else:
            raw = resource_name_filter.encode()
            n = len(raw)
        out += pack_bh(self.resource_type_filter, n)
        out += raw
        principal_filter = self.principal_filter
        if principal_filter is None:
            raw = b""
            n = -1
        else:
            raw = principal_filter.encode()
            n = len(raw)
        out += pack_bh(self.pattern_type_filter, n)
        out += raw
        host_filter = self.host_filter
        if host_filter is None:
            raw = b""
            n = -1
        else:
            raw = host_filter.encode()
            n = len(raw)
        out += pack_h(n)
        out += raw
        out += pack_bb(self.operation, self.permission_type)


def _read_flexible_request(reader: Reader, version: int) -> DescribeAclsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    resource_type_filter, n = unpack_bB(data, pos)
    pos += 2
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        resource_name_filter = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("resource_name_filter", n - 1, size - pos)
        resource_name_filter = data[pos:stop].tobytes().decode()
        pos = stop
    pattern_type_filter, n = unpack_bB(data, pos)
    pos += 2
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        principal_filter = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("principal_filter", n - 1, size - pos)
        principal_filter = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        host_filter = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("host_filter", n - 1, size - pos)
        host_filter = data[pos:stop].tobytes().decode()
        pos = stop
    operation, permission_type, tags = unpack_bbB(data, pos)
    pos += 3
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type)


def _read_older_request(reader: Reader, version: int) -> DescribeAclsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    resource_type_filter, n = unpack_bh(data, pos)
    pos += 3
    if n == -1:
        resource_name_filter = None
    else:
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("resource_name_filter", n, size - pos)
        resource_name_filter = data[pos:stop].tobytes().decode()
        pos = stop
    pattern_type_filter, n = unpack_bh(data, pos)
    pos += 3
    if n == -1:
        principal_filter = None
    else:
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("principal_filter", n, size - pos)
        principal_filter = data[pos:stop].tobytes().decode()
        pos = stop
    (n,) = unpack_h(data, pos)
    pos += 2
    if n == -1:
        host_filter = None
    else:
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("host_filter", n, size - pos)
        host_filter = data[pos:stop].tobytes().decode()
        pos = stop
    operation, permission_type = unpack_bb(data, pos)
    pos += 2
    reader.position = pos
    return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type)


@final
class DescribeAclsResponseAcl(Struct):
    __slots__ = ("principal", "host", "operation", "permission_type")
    FIELDS = ("principal", "host", "operation", "permission_type")

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


@final
class DescribeAclsResponseResource(Struct):
    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")
    FIELDS = ("resource_type", "resource_name", "pattern_type", "acls")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[DescribeAclsResponseAcl] = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls: list[DescribeAclsResponseAcl] = [] if acls is EMPTY else acls


@final
class DescribeAclsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "resources")
    KEY = 29
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResponseResource] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources: list[DescribeAclsResponseResource] = [] if resources is EMPTY else resources

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeAclsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeAclsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeAclsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        error_message = self.error_message
        if error_message is None:
            raw = b""
            n = 0
        else:
            raw = error_message.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        n = len(self.resources) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for resource in self.resources:
            out += pack_b(resource.resource_type)
            raw = resource.resource_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_b(resource.pattern_type)
            n = len(resource.acls) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for acl in resource.acls:
                raw = acl.principal.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                raw = acl.host.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_bbx(acl.operation, acl.permission_type)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        error_message = self.error_message
        if error_message is None:
            raw = b""
            n = -1
        else:
            raw = error_message.encode()
            n = len(raw)
        out += pack_ihh(self.throttle_time_ms, self.error_code, n)
        out += raw
        n = len(self.resources)
        out += pack_i(n)
        for resource in self.resources:
            raw = resource.resource_name.encode()
            n = len(raw)
            out += pack_bh(resource.resource_type, n)
            out += raw
            n = len(resource.acls)
            out += pack_bi(resource.pattern_type, n)
            for acl in resource.acls:
                raw = acl.principal.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                raw = acl.host.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                out += pack_bb(acl.operation, acl.permission_type)


def _read_flexible_response(reader: Reader, version: int) -> DescribeAclsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        error_message = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("error_message", n - 1, size - pos)
        error_message = data[pos:stop].tobytes().decode()
        pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 5 or n > budget:
        raise too_many("resources", n, size - pos)
    budget -= n
    resources: list[DescribeAclsResponseResource] = []
    resources_count = n
    for _ in range(resources_count):
        resources_resource_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("resource_name", n - 1, size - pos)
        resources_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        resources_pattern_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 5 or n > budget:
            raise too_many("acls", n, size - pos)
        budget -= n
        resources_acls: list[DescribeAclsResponseAcl] = []
        resources_acls_count = n
        for _ in range(resources_acls_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("principal", n - 1, size - pos)
            acls_principal = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("host", n - 1, size - pos)
            acls_host = data[pos:stop].tobytes().decode()
            pos = stop
            acls_operation, acls_permission_type, tags = unpack_bbB(data, pos)
            pos += 3
            if tags:
                pos = skip_tags(data, pos, tags)
            resources_acls.append(DescribeAclsResponseAcl(acls_principal, acls_host, acls_operation, acls_permission_type))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        resources.append(DescribeAclsResponseResource(resources_resource_type, resources_resource_name, resources_pattern_type, resources_acls))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)


def _read_older_response(reader: Reader, version: int) -> DescribeAclsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihh(data, pos)
    pos += 8
    if n == -1:
        error_message = None
    else:
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("error_message", n, size - pos)
        error_message = data[pos:stop].tobytes().decode()
        pos = stop
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("resources", n, size - pos)
    budget -= n
    resources: list[DescribeAclsResponseResource] = []
    resources_count = n
    for _ in range(resources_count):
        resources_resource_type, n = unpack_bh(data, pos)
        pos += 3
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("resource_name", n, size - pos)
        resources_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        resources_pattern_type, n = unpack_bi(data, pos)
        pos += 5
        if n < 0 or n > (size - pos) // 6 or n > budget:
            raise too_many("acls", n, size - pos)
        budget -= n
        resources_acls: list[DescribeAclsResponseAcl] = []
        resources_acls_count = n
        for _ in range(resources_acls_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("principal", n, size - pos)
            acls_principal = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("host", n, size - pos)
            acls_host = data[pos:stop].tobytes().decode()
            pos = stop
            acls_operation, acls_permission_type = unpack_bb(data, pos)
            pos += 2
            resources_acls.append(DescribeAclsResponseAcl(acls_principal, acls_host, acls_operation, acls_permission_type))
        resources.append(DescribeAclsResponseResource(resources_resource_type, resources_resource_name, resources_pattern_type, resources_acls))
    reader.position = pos
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)
