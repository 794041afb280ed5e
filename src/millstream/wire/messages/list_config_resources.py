"""ListConfigResources (key 74). Which resources have configs.

Generated from wire/schema/list_config_resources.txt by tools/generate_messages.py: change that, not this.
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

unpack_bB: Final = struct.Struct(">bB").unpack_from
pack_bx: Final = struct.Struct(">bx").pack
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class ListConfigResourcesRequest(Message):
    __slots__ = ("resource_types",)
    FIELDS = ("resource_types",)
    KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        resource_types: list[int] = EMPTY,
    ) -> None:
        self.resource_types: list[int] = [] if resource_types is EMPTY else resource_types

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListConfigResourcesRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListConfigResourcesRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ListConfigResourcesRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 1:
            n = len(self.resource_types) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += struct.pack(f">{len(self.resource_types)}b", *self.resource_types)
        out.append(0)


def _read_flexible_request(reader: Reader, version: int) -> ListConfigResourcesRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    resource_types: list[int] = EMPTY
    if version >= 1:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > size - pos or n > budget:
            raise too_many("resource_types", n, size - pos)
        budget -= n
        resource_types = list(struct.unpack_from(f">{n}b", data, pos))
        pos += 1 * n
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListConfigResourcesRequest(resource_types)


@final
class ListConfigResourcesResponseResource(Struct):
    __slots__ = ("resource_name", "resource_type")
    FIELDS = ("resource_name", "resource_type")

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


@final
class ListConfigResourcesResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "config_resources")
    FIELDS = ("throttle_time_ms", "error_code", "config_resources")
    KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ListConfigResourcesResponseResource] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources: list[ListConfigResourcesResponseResource] = [] if config_resources is EMPTY else config_resources

    @classmethod
    def read(cls, reader: Reader, version: int) -> "ListConfigResourcesResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("ListConfigResourcesResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"ListConfigResourcesResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)
        n = len(self.config_resources) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for resource in self.config_resources:
            raw = resource.resource_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            if version >= 1:
                out += pack_bx(resource.resource_type)
            else:
                out.append(0)
        out.append(0)


def _read_flexible_response(reader: Reader, version: int) -> ListConfigResourcesResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, error_code, n = unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("config_resources", n, size - pos)
    budget -= n
    config_resources: list[ListConfigResourcesResponseResource] = []
    config_resources_count = n
    for _ in range(config_resources_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("resource_name", n - 1, size - pos)
        config_resources_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        if version >= 1:
            config_resources_resource_type, tags = unpack_bB(data, pos)
            pos += 2
        else:
            tags = data[pos]
            pos += 1
            config_resources_resource_type = 16
        if tags:
            pos = skip_tags(data, pos, tags)
        config_resources.append(ListConfigResourcesResponseResource(config_resources_resource_name, config_resources_resource_type))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources)
