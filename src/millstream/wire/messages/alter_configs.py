"""AlterConfigs (key 33). Replace all configs of a resource.

Generated from wire/schema/alter_configs.txt by tools/generate_messages.py: change that, not this.
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
pack_b: Final = struct.Struct(">b").pack
unpack_bB: Final = struct.Struct(">bB").unpack_from
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
class AlterConfigsRequestConfig(Struct):
    __slots__ = ("name", "value")
    FIELDS = ("name", "value")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


@final
class AlterConfigsRequestResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configs")
    FIELDS = ("resource_type", "resource_name", "configs")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterConfigsRequestConfig] = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs: list[AlterConfigsRequestConfig] = [] if configs is EMPTY else configs


@final
class AlterConfigsRequest(Message):
    __slots__ = ("resources", "validate_only")
    FIELDS = ("resources", "validate_only")
    KEY = 33
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        resources: list[AlterConfigsRequestResource] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.resources: list[AlterConfigsRequestResource] = [] if resources is EMPTY else resources
        self.validate_only = validate_only

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterConfigsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterConfigsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AlterConfigsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
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
            n = len(resource.configs) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for config in resource.configs:
                raw = config.name.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                config_value = config.value
                if config_value is None:
                    raw = b""
                    n = 0
                else:
                    raw = config_value.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
            out.append(0)
        out += pack_ox(self.validate_only)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.resources)
        out += pack_i(n)
        for resource in self.resources:
            raw = resource.resource_name.encode()
            n = len(raw)
            out += pack_bh(resource.resource_type, n)
            out += raw
            n = len(resource.configs)
            out += pack_i(n)
            for config in resource.configs:
                raw = config.name.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                config_value = config.value
                if config_value is None:
                    raw = b""
                    n = -1
                else:
                    raw = config_value.encode()
                    n = len(raw)
                out += pack_h(n)
                out += raw
        out += pack_o(self.validate_only)


def _read_flexible_request(reader: Reader, version: int) -> AlterConfigsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("resources", n, size - pos)
    budget -= n
    resources: list[AlterConfigsRequestResource] = []
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
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("configs", n, size - pos)
        budget -= n
        resources_configs: list[AlterConfigsRequestConfig] = []
        resources_configs_count = n
        for _ in range(resources_configs_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("name", n - 1, size - pos)
            configs_name = data[pos:stop].tobytes().decode()
            pos = stop
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                configs_value = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("value", n - 1, size - pos)
                configs_value = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            resources_configs.append(AlterConfigsRequestConfig(configs_name, configs_value))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        resources.append(AlterConfigsRequestResource(resources_resource_type, resources_resource_name, resources_configs))
    validate_only, tags = unpack_oB(data, pos)
    pos += 2
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterConfigsRequest(resources, validate_only)


def _read_older_request(reader: Reader, version: int) -> AlterConfigsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 7 or n > budget:
        raise too_many("resources", n, size - pos)
    budget -= n
    resources: list[AlterConfigsRequestResource] = []
    resources_count = n
    for _ in range(resources_count):
        resources_resource_type, n = unpack_bh(data, pos)
        pos += 3
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("resource_name", n, size - pos)
        resources_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("configs", n, size - pos)
        budget -= n
        resources_configs: list[AlterConfigsRequestConfig] = []
        resources_configs_count = n
        for _ in range(resources_configs_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("name", n, size - pos)
            configs_name = data[pos:stop].tobytes().decode()
            pos = stop
            (n,) = unpack_h(data, pos)
            pos += 2
            if n == -1:
                configs_value = None
            else:
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("value", n, size - pos)
                configs_value = data[pos:stop].tobytes().decode()
                pos = stop
            resources_configs.append(AlterConfigsRequestConfig(configs_name, configs_value))
        resources.append(AlterConfigsRequestResource(resources_resource_type, resources_resource_name, resources_configs))
    (validate_only,) = unpack_o(data, pos)
    pos += 1
    reader.position = pos
    return AlterConfigsRequest(resources, validate_only)


@final
class AlterConfigsResponseResource(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")
    FIELDS = ("error_code", "error_message", "resource_type", "resource_name")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


@final
class AlterConfigsResponse(Message):
    __slots__ = ("throttle_time_ms", "responses")
    FIELDS = ("throttle_time_ms", "responses")
    KEY = 33
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResponseResource] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[AlterConfigsResponseResource] = [] if responses is EMPTY else responses

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterConfigsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterConfigsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AlterConfigsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.responses) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for resource in self.responses:
            out += pack_h(resource.error_code)
            resource_error_message = resource.error_message
            if resource_error_message is None:
                raw = b""
                n = 0
            else:
                raw = resource_error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_b(resource.resource_type)
            raw = resource.resource_name.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.responses)
        out += pack_ii(self.throttle_time_ms, n)
        for resource in self.responses:
            resource_error_message = resource.error_message
            if resource_error_message is None:
                raw = b""
                n = -1
            else:
                raw = resource_error_message.encode()
                n = len(raw)
            out += pack_hh(resource.error_code, n)
            out += raw
            raw = resource.resource_name.encode()
            n = len(raw)
            out += pack_bh(resource.resource_type, n)
            out += raw


def _read_flexible_response(reader: Reader, version: int) -> AlterConfigsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 6 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[AlterConfigsResponseResource] = []
    responses_count = n
    for _ in range(responses_count):
        responses_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            responses_error_message = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("error_message", n - 1, size - pos)
            responses_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        responses_resource_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("resource_name", n - 1, size - pos)
        responses_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        responses.append(AlterConfigsResponseResource(responses_error_code, responses_error_message, responses_resource_type, responses_resource_name))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterConfigsResponse(throttle_time_ms, responses)


def _read_older_response(reader: Reader, version: int) -> AlterConfigsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 7 or n > budget:
        raise too_many("responses", n, size - pos)
    budget -= n
    responses: list[AlterConfigsResponseResource] = []
    responses_count = n
    for _ in range(responses_count):
        responses_error_code, n = unpack_hh(data, pos)
        pos += 4
        if n == -1:
            responses_error_message = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("error_message", n, size - pos)
            responses_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        responses_resource_type, n = unpack_bh(data, pos)
        pos += 3
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("resource_name", n, size - pos)
        responses_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        responses.append(AlterConfigsResponseResource(responses_error_code, responses_error_message, responses_resource_type, responses_resource_name))
    reader.position = pos
    return AlterConfigsResponse(throttle_time_ms, responses)
