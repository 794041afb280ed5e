"""DescribeConfigs (key 32). Configs of topics and brokers, with their sources.

Generated from wire/schema/describe_configs.txt by tools/generate_messages.py: change that, not this.
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
unpack_oo: Final = struct.Struct(">??").unpack_from
pack_oo: Final = struct.Struct(">??").pack
unpack_ooB: Final = struct.Struct(">??B").unpack_from
pack_oox: Final = struct.Struct(">??x").pack
pack_obo: Final = struct.Struct(">?b?").pack
unpack_oboB: Final = struct.Struct(">?b?B").unpack_from
unpack_oboi: Final = struct.Struct(">?b?i").unpack_from
pack_oboi: Final = struct.Struct(">?b?i").pack
unpack_b: Final = struct.Struct(">b").unpack_from
pack_b: Final = struct.Struct(">b").pack
unpack_bB: Final = struct.Struct(">bB").unpack_from
unpack_bh: Final = struct.Struct(">bh").unpack_from
pack_bh: Final = struct.Struct(">bh").pack
pack_bx: Final = struct.Struct(">bx").pack
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
class DescribeConfigsRequestResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configuration_keys")
    FIELDS = ("resource_type", "resource_name", "configuration_keys")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys: list[str] | None = [] if configuration_keys is EMPTY else configuration_keys


@final
class DescribeConfigsRequest(Message):
    __slots__ = ("resources", "include_synonyms", "include_documentation")
    FIELDS = ("resources", "include_synonyms", "include_documentation")
    KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        resources: list[DescribeConfigsRequestResource] = EMPTY,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources: list[DescribeConfigsRequestResource] = [] if resources is EMPTY else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeConfigsRequest":
        try:
            if version >= 4:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeConfigsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeConfigsRequest v{version}: {error}") from error

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
            resource_configuration_keys = resource.configuration_keys
            if resource_configuration_keys is None:
                n = 0
            else:
                n = len(resource_configuration_keys) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            if resource_configuration_keys is not None:
                for text in resource_configuration_keys:
                    raw = text.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
            out.append(0)
        out += pack_oox(self.include_synonyms, self.include_documentation)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.resources)
        out += pack_i(n)
        for resource in self.resources:
            raw = resource.resource_name.encode()
            n = len(raw)
            out += pack_bh(resource.resource_type, n)
            out += raw
            resource_configuration_keys = resource.configuration_keys
            if resource_configuration_keys is None:
                n = -1
            else:
                n = len(resource_configuration_keys)
            out += pack_i(n)
            if resource_configuration_keys is not None:
                for text in resource_configuration_keys:
                    raw = text.encode()
                    out += pack_h(len(raw))
                    out += raw
        if version >= 3:
            out += pack_oo(self.include_synonyms, self.include_documentation)
        else:
            out += pack_o(self.include_synonyms)


def _read_flexible_request(reader: Reader, version: int) -> DescribeConfigsRequest:
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
    resources: list[DescribeConfigsRequestResource] = []
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
        resources_configuration_keys: list[str] | None
        if n == -1:
            resources_configuration_keys = None
        else:
            if n < 0 or n > size - pos or n > budget:
                raise too_many("configuration_keys", n, size - pos)
            budget -= n
            resources_configuration_keys = []
            resources_configuration_keys_count = n
            for _ in range(resources_configuration_keys_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("configuration_keys", n - 1, size - pos)
                resources_configuration_keys.append(data[pos:stop].tobytes().decode())
                pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        resources.append(DescribeConfigsRequestResource(resources_resource_type, resources_resource_name, resources_configuration_keys))
    include_synonyms, include_documentation, tags = unpack_ooB(data, pos)
    pos += 3
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation)


def _read_older_request(reader: Reader, version: int) -> DescribeConfigsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 7 or n > budget:
        raise too_many("resources", n, size - pos)
    budget -= n
    resources: list[DescribeConfigsRequestResource] = []
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
        resources_configuration_keys: list[str] | None
        if n == -1:
            resources_configuration_keys = None
        else:
            if n < 0 or n > (size - pos) // 2 or n > budget:
                raise too_many("configuration_keys", n, size - pos)
            budget -= n
            resources_configuration_keys = []
            resources_configuration_keys_count = n
            for _ in range(resources_configuration_keys_count):
                (n,) = unpack_h(data, pos)
                pos += 2
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("configuration_keys", n, size - pos)
                resources_configuration_keys.append(data[pos:stop].tobytes().decode())
                pos = stop
        resources.append(DescribeConfigsRequestResource(resources_resource_type, resources_resource_name, resources_configuration_keys))
    if version >= 3:
        include_synonyms, include_documentation = unpack_oo(data, pos)
        pos += 2
    else:
        (include_synonyms,) = unpack_o(data, pos)
        pos += 1
        include_documentation = False
    reader.position = pos
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation)


@final
class DescribeConfigsResponseSynonym(Struct):
    __slots__ = ("name", "value", "source")
    FIELDS = ("name", "value", "source")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


@final
class DescribeConfigsResponseConfig(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")
    FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsResponseSynonym] = EMPTY,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms: list[DescribeConfigsResponseSynonym] = [] if synonyms is EMPTY else synonyms
        self.config_type = config_type
        self.documentation = documentation


@final
class DescribeConfigsResponseResource(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")
    FIELDS = ("error_code", "error_message", "resource_type", "resource_name", "configs")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResponseConfig] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs: list[DescribeConfigsResponseConfig] = [] if configs is EMPTY else configs


@final
class DescribeConfigsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = ("throttle_time_ms", "results")
    KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResponseResource] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DescribeConfigsResponseResource] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeConfigsResponse":
        try:
            if version >= 4:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeConfigsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeConfigsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for resource in self.results:
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
                out += pack_obo(config.read_only, config.config_source, config.is_sensitive)
                n = len(config.synonyms) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for synonym in config.synonyms:
                    raw = synonym.name.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    synonym_value = synonym.value
                    if synonym_value is None:
                        raw = b""
                        n = 0
                    else:
                        raw = synonym_value.encode()
                        n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out += pack_bx(synonym.source)
                out += pack_b(config.config_type)
                config_documentation = config.documentation
                if config_documentation is None:
                    raw = b""
                    n = 0
                else:
                    raw = config_documentation.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results)
        out += pack_ii(self.throttle_time_ms, n)
        for resource in self.results:
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
                n = len(config.synonyms)
                out += pack_oboi(config.read_only, config.config_source, config.is_sensitive, n)
                for synonym in config.synonyms:
                    raw = synonym.name.encode()
                    n = len(raw)
                    out += pack_h(n)
                    out += raw
                    synonym_value = synonym.value
                    if synonym_value is None:
                        raw = b""
                        n = -1
                    else:
                        raw = synonym_value.encode()
                        n = len(raw)
                    out += pack_h(n)
                    out += raw
                    out += pack_b(synonym.source)
                if version >= 3:
                    out += pack_b(config.config_type)
                if version >= 3:
                    config_documentation = config.documentation
                    if config_documentation is None:
                        raw = b""
                        n = -1
                    else:
                        raw = config_documentation.encode()
                        n = len(raw)
                    out += pack_h(n)
                    out += raw


def _read_flexible_response(reader: Reader, version: int) -> DescribeConfigsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 7 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[DescribeConfigsResponseResource] = []
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
        results_resource_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("resource_name", n - 1, size - pos)
        results_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 9 or n > budget:
            raise too_many("configs", n, size - pos)
        budget -= n
        results_configs: list[DescribeConfigsResponseConfig] = []
        results_configs_count = n
        for _ in range(results_configs_count):
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
            configs_read_only, configs_config_source, configs_is_sensitive, n = unpack_oboB(data, pos)
            pos += 4
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("synonyms", n, size - pos)
            budget -= n
            configs_synonyms: list[DescribeConfigsResponseSynonym] = []
            configs_synonyms_count = n
            for _ in range(configs_synonyms_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("name", n - 1, size - pos)
                synonyms_name = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    synonyms_value = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("value", n - 1, size - pos)
                    synonyms_value = data[pos:stop].tobytes().decode()
                    pos = stop
                synonyms_source, tags = unpack_bB(data, pos)
                pos += 2
                if tags:
                    pos = skip_tags(data, pos, tags)
                configs_synonyms.append(DescribeConfigsResponseSynonym(synonyms_name, synonyms_value, synonyms_source))
            configs_config_type, n = unpack_bB(data, pos)
            pos += 2
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                configs_documentation = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("documentation", n - 1, size - pos)
                configs_documentation = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            results_configs.append(DescribeConfigsResponseConfig(configs_name, configs_value, configs_read_only, configs_config_source, configs_is_sensitive, configs_synonyms, configs_config_type, configs_documentation))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        results.append(DescribeConfigsResponseResource(results_error_code, results_error_message, results_resource_type, results_resource_name, results_configs))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeConfigsResponse(throttle_time_ms, results)


def _read_older_response(reader: Reader, version: int) -> DescribeConfigsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 11 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[DescribeConfigsResponseResource] = []
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
        results_resource_type, n = unpack_bh(data, pos)
        pos += 3
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("resource_name", n, size - pos)
        results_resource_name = data[pos:stop].tobytes().decode()
        pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 11 or n > budget:
            raise too_many("configs", n, size - pos)
        budget -= n
        results_configs: list[DescribeConfigsResponseConfig] = []
        results_configs_count = n
        for _ in range(results_configs_count):
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
            configs_read_only, configs_config_source, configs_is_sensitive, n = unpack_oboi(data, pos)
            pos += 7
            if n < 0 or n > (size - pos) // 5 or n > budget:
                raise too_many("synonyms", n, size - pos)
            budget -= n
            configs_synonyms: list[DescribeConfigsResponseSynonym] = []
            configs_synonyms_count = n
            for _ in range(configs_synonyms_count):
                (n,) = unpack_h(data, pos)
                pos += 2
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("name", n, size - pos)
                synonyms_name = data[pos:stop].tobytes().decode()
                pos = stop
                (n,) = unpack_h(data, pos)
                pos += 2
                if n == -1:
                    synonyms_value = None
                else:
                    stop = pos + n
                    if n < 0 or stop > size:
                        raise bad_length("value", n, size - pos)
                    synonyms_value = data[pos:stop].tobytes().decode()
                    pos = stop
                (synonyms_source,) = unpack_b(data, pos)
                pos += 1
                configs_synonyms.append(DescribeConfigsResponseSynonym(synonyms_name, synonyms_value, synonyms_source))
            if version >= 3:
                (configs_config_type,) = unpack_b(data, pos)
                pos += 1
            else:
                configs_config_type = 0
            configs_documentation: str | None = ""
            if version >= 3:
                (n,) = unpack_h(data, pos)
                pos += 2
                if n == -1:
                    configs_documentation = None
                else:
                    stop = pos + n
                    if n < 0 or stop > size:
                        raise bad_length("documentation", n, size - pos)
                    configs_documentation = data[pos:stop].tobytes().decode()
                    pos = stop
            results_configs.append(DescribeConfigsResponseConfig(configs_name, configs_value, configs_read_only, configs_config_source, configs_is_sensitive, configs_synonyms, configs_config_type, configs_documentation))
        results.append(DescribeConfigsResponseResource(results_error_code, results_error_message, results_resource_type, results_resource_name, results_configs))
    reader.position = pos
    return DescribeConfigsResponse(throttle_time_ms, results)
