"""DeleteAcls (key 31). Take back what was allowed or denied.

Generated from wire/schema/delete_acls.txt by tools/generate_messages.py: change that, not this.
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
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_hB: Final = struct.Struct(">hB").unpack_from
unpack_hh: Final = struct.Struct(">hh").unpack_from
pack_hh: Final = struct.Struct(">hh").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack


@final
class DeleteAclsRequestFilter(Struct):
    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")
    FIELDS = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")

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


@final
class DeleteAclsRequest(Message):
    __slots__ = ("filters",)
    FIELDS = ("filters",)
    KEY = 31
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        filters: list[DeleteAclsRequestFilter] = EMPTY,
    ) -> None:
        self.filters: list[DeleteAclsRequestFilter] = [] if filters is EMPTY else filters

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteAclsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteAclsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteAclsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.filters) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for filter in self.filters:
            out += pack_b(filter.resource_type_filter)
            filter_resource_name_filter = filter.resource_name_filter
            if filter_resource_name_filter is None:
                raw = b""
                n = 0
            else:
                raw = filter_resource_name_filter.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_b(filter.pattern_type_filter)
            filter_principal_filter = filter.principal_filter
            if filter_principal_filter is None:
                raw = b""
                n = 0
            else:
                raw = filter_principal_filter.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            filter_host_filter = filter.host_filter
            if filter_host_filter is None:
                raw = b""
                n = 0
            else:
                raw = filter_host_filter.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_bbx(filter.operation, filter.permission_type)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.filters)
        out += pack_i(n)
        for filter in self.filters:
            filter_resource_name_filter = filter.resource_name_filter
            if filter_resource_name_filter is None:
                raw = b""
                n = -1
            else:
                raw = filter_resource_name_filter.encode()
                n = len(raw)
            out += pack_bh(filter.resource_type_filter, n)
            out += raw
            filter_principal_filter = filter.principal_filter
            if filter_principal_filter is None:
                raw = b""
                n = -1
            else:
                raw = filter_principal_filter.encode()
                n = len(raw)
            out += pack_bh(filter.pattern_type_filter, n)
            out += raw
            filter_host_filter = filter.host_filter
            if filter_host_filter is None:
                raw = b""
                n = -1
            else:
                raw = filter_host_filter.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw
            out += pack_bb(filter.operation, filter.permission_type)


def _read_flexible_request(reader: Reader, version: int) -> DeleteAclsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("filters", n, size - pos)
    budget -= n
    filters: list[DeleteAclsRequestFilter] = []
    filters_count = n
    for _ in range(filters_count):
        filters_resource_type_filter, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            filters_resource_name_filter = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("resource_name_filter", n - 1, size - pos)
            filters_resource_name_filter = data[pos:stop].tobytes().decode()
            pos = stop
        filters_pattern_type_filter, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            filters_principal_filter = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("principal_filter", n - 1, size - pos)
            filters_principal_filter = data[pos:stop].tobytes().decode()
            pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            filters_host_filter = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("host_filter", n - 1, size - pos)
            filters_host_filter = data[pos:stop].tobytes().decode()
            pos = stop
        filters_operation, filters_permission_type, tags = unpack_bbB(data, pos)
        pos += 3
        if tags:
            pos = skip_tags(data, pos, tags)
        filters.append(DeleteAclsRequestFilter(filters_resource_type_filter, filters_resource_name_filter, filters_pattern_type_filter, filters_principal_filter, filters_host_filter, filters_operation, filters_permission_type))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteAclsRequest(filters)


def _read_older_request(reader: Reader, version: int) -> DeleteAclsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 10 or n > budget:
        raise too_many("filters", n, size - pos)
    budget -= n
    filters: list[DeleteAclsRequestFilter] = []
    filters_count = n
    for _ in range(filters_count):
        filters_resource_type_filter, n = unpack_bh(data, pos)
        pos += 3
        if n == -1:
            filters_resource_name_filter = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("resource_name_filter", n, size - pos)
            filters_resource_name_filter = data[pos:stop].tobytes().decode()
            pos = stop
        filters_pattern_type_filter, n = unpack_bh(data, pos)
        pos += 3
        if n == -1:
            filters_principal_filter = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("principal_filter", n, size - pos)
            filters_principal_filter = data[pos:stop].tobytes().decode()
            pos = stop
        (n,) = unpack_h(data, pos)
        pos += 2
        if n == -1:
            filters_host_filter = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("host_filter", n, size - pos)
            filters_host_filter = data[pos:stop].tobytes().decode()
            pos = stop
        filters_operation, filters_permission_type = unpack_bb(data, pos)
        pos += 2
        filters.append(DeleteAclsRequestFilter(filters_resource_type_filter, filters_resource_name_filter, filters_pattern_type_filter, filters_principal_filter, filters_host_filter, filters_operation, filters_permission_type))
    reader.position = pos
    return DeleteAclsRequest(filters)


@final
class DeleteAclsResponseAcl(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    FIELDS = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


@final
class DeleteAclsResponseResult(Struct):
    __slots__ = ("error_code", "error_message", "matching_acls")
    FIELDS = ("error_code", "error_message", "matching_acls")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsResponseAcl] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls: list[DeleteAclsResponseAcl] = [] if matching_acls is EMPTY else matching_acls


@final
class DeleteAclsResponse(Message):
    __slots__ = ("throttle_time_ms", "filter_results")
    FIELDS = ("throttle_time_ms", "filter_results")
    KEY = 31
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsResponseResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results: list[DeleteAclsResponseResult] = [] if filter_results is EMPTY else filter_results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteAclsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteAclsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteAclsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.filter_results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for result in self.filter_results:
            out += pack_h(result.error_code)
            result_error_message = result.error_message
            if result_error_message is None:
                raw = b""
                n = 0
            else:
                raw = result_error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            n = len(result.matching_acls) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for acl in result.matching_acls:
                out += pack_h(acl.error_code)
                acl_error_message = acl.error_message
                if acl_error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = acl_error_message.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_b(acl.resource_type)
                raw = acl.resource_name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_b(acl.pattern_type)
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
        n = len(self.filter_results)
        out += pack_ii(self.throttle_time_ms, n)
        for result in self.filter_results:
            result_error_message = result.error_message
            if result_error_message is None:
                raw = b""
                n = -1
            else:
                raw = result_error_message.encode()
                n = len(raw)
            out += pack_hh(result.error_code, n)
            out += raw
            n = len(result.matching_acls)
            out += pack_i(n)
            for acl in result.matching_acls:
                acl_error_message = acl.error_message
                if acl_error_message is None:
                    raw = b""
                    n = -1
                else:
                    raw = acl_error_message.encode()
                    n = len(raw)
                out += pack_hh(acl.error_code, n)
                out += raw
                raw = acl.resource_name.encode()
                n = len(raw)
                out += pack_bh(acl.resource_type, n)
                out += raw
                raw = acl.principal.encode()
                n = len(raw)
                out += pack_bh(acl.pattern_type, n)
                out += raw
                raw = acl.host.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                out += pack_bb(acl.operation, acl.permission_type)


def _read_flexible_response(reader: Reader, version: int) -> DeleteAclsResponse:
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
        raise too_many("filter_results", n, size - pos)
    budget -= n
    filter_results: list[DeleteAclsResponseResult] = []
    filter_results_count = n
    for _ in range(filter_results_count):
        filter_results_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            filter_results_error_message = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("error_message", n - 1, size - pos)
            filter_results_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 11 or n > budget:
            raise too_many("matching_acls", n, size - pos)
        budget -= n
        filter_results_matching_acls: list[DeleteAclsResponseAcl] = []
        filter_results_matching_acls_count = n
        for _ in range(filter_results_matching_acls_count):
            matching_acls_error_code, n = unpack_hB(data, pos)
            pos += 3
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                matching_acls_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                matching_acls_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            matching_acls_resource_type, n = unpack_bB(data, pos)
            pos += 2
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("resource_name", n - 1, size - pos)
            matching_acls_resource_name = data[pos:stop].tobytes().decode()
            pos = stop
            matching_acls_pattern_type, n = unpack_bB(data, pos)
            pos += 2
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("principal", n - 1, size - pos)
            matching_acls_principal = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("host", n - 1, size - pos)
            matching_acls_host = data[pos:stop].tobytes().decode()
            pos = stop
            matching_acls_operation, matching_acls_permission_type, tags = unpack_bbB(data, pos)
            pos += 3
            if tags:
                pos = skip_tags(data, pos, tags)
            filter_results_matching_acls.append(DeleteAclsResponseAcl(matching_acls_error_code, matching_acls_error_message, matching_acls_resource_type, matching_acls_resource_name, matching_acls_pattern_type, matching_acls_principal, matching_acls_host, matching_acls_operation, matching_acls_permission_type))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        filter_results.append(DeleteAclsResponseResult(filter_results_error_code, filter_results_error_message, filter_results_matching_acls))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteAclsResponse(throttle_time_ms, filter_results)


def _read_older_response(reader: Reader, version: int) -> DeleteAclsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("filter_results", n, size - pos)
    budget -= n
    filter_results: list[DeleteAclsResponseResult] = []
    filter_results_count = n
    for _ in range(filter_results_count):
        filter_results_error_code, n = unpack_hh(data, pos)
        pos += 4
        if n == -1:
            filter_results_error_message = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("error_message", n, size - pos)
            filter_results_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 14 or n > budget:
            raise too_many("matching_acls", n, size - pos)
        budget -= n
        filter_results_matching_acls: list[DeleteAclsResponseAcl] = []
        filter_results_matching_acls_count = n
        for _ in range(filter_results_matching_acls_count):
            matching_acls_error_code, n = unpack_hh(data, pos)
            pos += 4
            if n == -1:
                matching_acls_error_message = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("error_message", n, size - pos)
                matching_acls_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            matching_acls_resource_type, n = unpack_bh(data, pos)
            pos += 3
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("resource_name", n, size - pos)
            matching_acls_resource_name = data[pos:stop].tobytes().decode()
            pos = stop
            matching_acls_pattern_type, n = unpack_bh(data, pos)
            pos += 3
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("principal", n, size - pos)
            matching_acls_principal = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("host", n, size - pos)
            matching_acls_host = data[pos:stop].tobytes().decode()
            pos = stop
            matching_acls_operation, matching_acls_permission_type = unpack_bb(data, pos)
            pos += 2
            filter_results_matching_acls.append(DeleteAclsResponseAcl(matching_acls_error_code, matching_acls_error_message, matching_acls_resource_type, matching_acls_resource_name, matching_acls_pattern_type, matching_acls_principal, matching_acls_host, matching_acls_operation, matching_acls_permission_type))
        filter_results.append(DeleteAclsResponseResult(filter_results_error_code, filter_results_error_message, filter_results_matching_acls))
    reader.position = pos
    return DeleteAclsResponse(throttle_time_ms, filter_results)
