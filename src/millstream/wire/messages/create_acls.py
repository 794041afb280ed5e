"""CreateAcls (key 30). Allow somebody something, or deny it.

Generated from wire/schema/create_acls.txt by tools/generate_messages.py: change that, not this.
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
class CreateAclsRequestCreation(Struct):
    __slots__ = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")
    FIELDS = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


@final
class CreateAclsRequest(Message):
    __slots__ = ("creations",)
    FIELDS = ("creations",)
    KEY = 30
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        creations: list[CreateAclsRequestCreation] = EMPTY,
    ) -> None:
        self.creations: list[CreateAclsRequestCreation] = [] if creations is EMPTY else creations

    @classmethod
    def read(cls, reader: Reader, version: int) -> "CreateAclsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("CreateAclsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"CreateAclsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.creations) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for creation in self.creations:
            out += pack_b(creation.resource_type)
            raw = creation.resource_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_b(creation.resource_pattern_type)
            raw = creation.principal.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            raw = creation.host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_bbx(creation.operation, creation.permission_type)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.creations)
        out += pack_i(n)
        for creation in self.creations:
            raw = creation.resource_name.encode()
            n = len(raw)
            out += pack_bh(creation.resource_type, n)
            out += raw
            raw = creation.principal.encode()
            n = len(raw)
            out += pack_bh(creation.resource_pattern_type, n)
            out += raw
            raw = creation.host.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            out += pack_bb(creation.operation, creation.permission_type)


def _read_flexible_request(reader: Reader, version: int) -> CreateAclsRequest:
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
        raise too_many("creations", n, size - pos)
    budget -= n
    creations: list[CreateAclsRequestCreation] = []
    creations_count = n
    for _ in range(creations_count):
        creations_resource_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("resource_name", n - 1, size - pos)
        creations_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        creations_resource_pattern_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("principal", n - 1, size - pos)
        creations_principal = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("host", n - 1, size - pos)
        creations_host = data[pos:stop].tobytes().decode()
        pos = stop
        creations_operation, creations_permission_type, tags = unpack_bbB(data, pos)
        pos += 3
        if tags:
            pos = skip_tags(data, pos, tags)
        creations.append(CreateAclsRequestCreation(creations_resource_type, creations_resource_name, creations_resource_pattern_type, creations_principal, creations_host, creations_operation, creations_permission_type))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return CreateAclsRequest(creations)


def _read_older_request(reader: Reader, version: int) -> CreateAclsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 10 or n > budget:
        raise too_many("creations", n, size - pos)
    budget -= n
    creations: list[CreateAclsRequestCreation] = []
    creations_count = n
    for _ in range(creations_count):
        creations_resource_type, n = unpack_bh(data, pos)
        pos += 3
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("resource_name", n, size - pos)
        creations_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        creations_resource_pattern_type, n = unpack_bh(data, pos)
        pos += 3
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("principal", n, size - pos)
        creations_principal = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("host", n, size - pos)
        creations_host = data[pos:stop].tobytes().decode()
        pos = stop
        creations_operation, creations_permission_type = unpack_bb(data, pos)
        pos += 2
        creations.append(CreateAclsRequestCreation(creations_resource_type, creations_resource_name, creations_resource_pattern_type, creations_principal, creations_host, creations_operation, creations_permission_type))
    reader.position = pos
    return CreateAclsRequest(creations)


@final
class CreateAclsResponseResult(Struct):
    __slots__ = ("error_code", "error_message")
    FIELDS = ("error_code", "error_message")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message


@final
class CreateAclsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = ("throttle_time_ms", "results")
    KEY = 30
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreateAclsResponseResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[CreateAclsResponseResult] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "CreateAclsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("CreateAclsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"CreateAclsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for result in self.results:
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
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results)
        out += pack_ii(self.throttle_time_ms, n)
        for result in self.results:
            result_error_message = result.error_message
            if result_error_message is None:
                raw = b""
                n = -1
            else:
                raw = result_error_message.encode()
                n = len(raw)
            out += pack_hh(result.error_code, n)
            out += raw


def _read_flexible_response(reader: Reader, version: int) -> CreateAclsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[CreateAclsResponseResult] = []
    results_count = n
    for _ in range(results_count):
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
        results.append(CreateAclsResponseResult(results_error_code, results_error_message))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return CreateAclsResponse(throttle_time_ms, results)


def _read_older_response(reader: Reader, version: int) -> CreateAclsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[CreateAclsResponseResult] = []
    results_count = n
    for _ in range(results_count):
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
        results.append(CreateAclsResponseResult(results_error_code, results_error_message))
    reader.position = pos
    return CreateAclsResponse(throttle_time_ms, results)
