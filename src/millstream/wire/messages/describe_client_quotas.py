"""DescribeClientQuotas (key 48). Quotas set for users, client ids and addresses.

Generated from wire/schema/describe_client_quotas.txt by tools/generate_messages.py: change that, not this.
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
unpack_d: Final = struct.Struct(">d").unpack_from
pack_d: Final = struct.Struct(">d").pack
unpack_dB: Final = struct.Struct(">dB").unpack_from
pack_dx: Final = struct.Struct(">dx").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
unpack_ihh: Final = struct.Struct(">ihh").unpack_from
pack_ihh: Final = struct.Struct(">ihh").pack


@final
class DescribeClientQuotasRequestComponent(Struct):
    __slots__ = ("entity_type", "match_type", "match")
    FIELDS = ("entity_type", "match_type", "match")

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


@final
class DescribeClientQuotasRequest(Message):
    __slots__ = ("components", "strict")
    FIELDS = ("components", "strict")
    KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        components: list[DescribeClientQuotasRequestComponent] = EMPTY,
        strict: bool = False,
    ) -> None:
        self.components: list[DescribeClientQuotasRequestComponent] = [] if components is EMPTY else components
        self.strict = strict

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeClientQuotasRequest":
        try:
            if version >= 1:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeClientQuotasRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 1:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeClientQuotasRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.components) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for component in self.components:
            raw = component.entity_type.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_b(component.match_type)
            component_match = component.match
            if component_match is None:
                raw = b""
                n = 0
            else:
                raw = component_match.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out.append(0)
        out += pack_ox(self.strict)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.components)
        out += pack_i(n)
        for component in self.components:
            raw = component.entity_type.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            component_match = component.match
            if component_match is None:
                raw = b""
                n = -1
            else:
                raw = component_match.encode()
                n = len(raw)
            out += pack_bh(component.match_type, n)
            out += raw
        out += pack_o(self.strict)


def _read_flexible_request(reader: Reader, version: int) -> DescribeClientQuotasRequest:
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
        raise too_many("components", n, size - pos)
    budget -= n
    components: list[DescribeClientQuotasRequestComponent] = []
    components_count = n
    for _ in range(components_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("entity_type", n - 1, size - pos)
        components_entity_type = data[pos:stop].tobytes().decode()
        pos = stop
        components_match_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            components_match = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("match", n - 1, size - pos)
            components_match = data[pos:stop].tobytes().decode()
            pos = stop
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        components.append(DescribeClientQuotasRequestComponent(components_entity_type, components_match_type, components_match))
    strict, tags = unpack_oB(data, pos)
    pos += 2
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeClientQuotasRequest(components, strict)


def _read_older_request(reader: Reader, version: int) -> DescribeClientQuotasRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 5 or n > budget:
        raise too_many("components", n, size - pos)
    budget -= n
    components: list[DescribeClientQuotasRequestComponent] = []
    components_count = n
    for _ in range(components_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("entity_type", n, size - pos)
        components_entity_type = data[pos:stop].tobytes().decode()
        pos = stop
        components_match_type, n = unpack_bh(data, pos)
        pos += 3
        if n == -1:
            components_match = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("match", n, size - pos)
            components_match = data[pos:stop].tobytes().decode()
            pos = stop
        components.append(DescribeClientQuotasRequestComponent(components_entity_type, components_match_type, components_match))
    (strict,) = unpack_o(data, pos)
    pos += 1
    reader.position = pos
    return DescribeClientQuotasRequest(components, strict)


@final
class DescribeClientQuotasResponseEntity(Struct):
    __slots__ = ("entity_type", "entity_name")
    FIELDS = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


@final
class DescribeClientQuotasResponseValue(Struct):
    __slots__ = ("key", "value")
    FIELDS = ("key", "value")

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value


@final
class DescribeClientQuotasResponseEntry(Struct):
    __slots__ = ("entity", "values")
    FIELDS = ("entity", "values")

    def __init__(
        self,
        entity: list[DescribeClientQuotasResponseEntity] = EMPTY,
        values: list[DescribeClientQuotasResponseValue] = EMPTY,
    ) -> None:
        self.entity: list[DescribeClientQuotasResponseEntity] = [] if entity is EMPTY else entity
        self.values: list[DescribeClientQuotasResponseValue] = [] if values is EMPTY else values


@final
class DescribeClientQuotasResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "entries")
    KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[DescribeClientQuotasResponseEntry] | None = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries: list[DescribeClientQuotasResponseEntry] | None = [] if entries is EMPTY else entries

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeClientQuotasResponse":
        try:
            if version >= 1:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeClientQuotasResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 1:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeClientQuotasResponse v{version}: {error}") from error

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
        entries = self.entries
        if entries is None:
            n = 0
        else:
            n = len(entries) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        if entries is not None:
            for entry in entries:
                n = len(entry.entity) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for entity in entry.entity:
                    raw = entity.entity_type.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    entity_entity_name = entity.entity_name
                    if entity_entity_name is None:
                        raw = b""
                        n = 0
                    else:
                        raw = entity_entity_name.encode()
                        n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out.append(0)
                n = len(entry.values) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                for value in entry.values:
                    raw = value.key.encode()
                    n = len(raw) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        write_uvarint(out, n)
                    out += raw
                    out += pack_dx(value.value)
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
        entries = self.entries
        if entries is None:
            n = -1
        else:
            n = len(entries)
        out += pack_i(n)
        if entries is not None:
            for entry in entries:
                n = len(entry.entity)
                out += pack_i(n)
                for entity in entry.entity:
                    raw = entity.entity_type.encode()
                    n = len(raw)
                    out += pack_h(n)
                    out += raw
                    entity_entity_name = entity.entity_name
                    if entity_entity_name is None:
                        raw = b""
                        n = -1
                    else:
                        raw = entity_entity_name.encode()
                        n = len(raw)
                    out += pack_h(n)
                    out += raw
                n = len(entry.values)
                out += pack_i(n)
                for value in entry.values:
                    raw = value.key.encode()
                    n = len(raw)
                    out += pack_h(n)
                    out += raw
                    out += pack_d(value.value)


def _read_flexible_response(reader: Reader, version: int) -> DescribeClientQuotasResponse:
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
    entries: list[DescribeClientQuotasResponseEntry] | None
    if n == -1:
        entries = None
    else:
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("entries", n, size - pos)
        budget -= n
        entries = []
        entries_count = n
        for _ in range(entries_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 3 or n > budget:
                raise too_many("entity", n, size - pos)
            budget -= n
            entries_entity: list[DescribeClientQuotasResponseEntity] = []
            entries_entity_count = n
            for _ in range(entries_entity_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("entity_type", n - 1, size - pos)
                entity_entity_type = data[pos:stop].tobytes().decode()
                pos = stop
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                if n == 0:
                    entity_entity_name = None
                else:
                    stop = pos + n - 1
                    if stop > size:
                        raise bad_length("entity_name", n - 1, size - pos)
                    entity_entity_name = data[pos:stop].tobytes().decode()
                    pos = stop
                tags = data[pos]
                pos += 1
                if tags:
                    pos = skip_tags(data, pos, tags)
                entries_entity.append(DescribeClientQuotasResponseEntity(entity_entity_type, entity_entity_name))
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            n -= 1
            if n < 0 or n > (size - pos) // 10 or n > budget:
                raise too_many("values", n, size - pos)
            budget -= n
            entries_values: list[DescribeClientQuotasResponseValue] = []
            entries_values_count = n
            for _ in range(entries_values_count):
                n = data[pos]
                pos += 1
                if n > 127:
                    n, pos = long_uvarint(data, pos, n)
                stop = pos + n - 1
                if n == 0 or stop > size:
                    raise bad_length("key", n - 1, size - pos)
                values_key = data[pos:stop].tobytes().decode()
                pos = stop
                values_value, tags = unpack_dB(data, pos)
                pos += 9
                if tags:
                    pos = skip_tags(data, pos, tags)
                entries_values.append(DescribeClientQuotasResponseValue(values_key, values_value))
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            entries.append(DescribeClientQuotasResponseEntry(entries_entity, entries_values))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries)


def _read_older_response(reader: Reader, version: int) -> DescribeClientQuotasResponse:
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
    entries: list[DescribeClientQuotasResponseEntry] | None
    if n == -1:
        entries = None
    else:
        if n < 0 or n > (size - pos) // 8 or n > budget:
            raise too_many("entries", n, size - pos)
        budget -= n
        entries = []
        entries_count = n
        for _ in range(entries_count):
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 4 or n > budget:
                raise too_many("entity", n, size - pos)
            budget -= n
            entries_entity: list[DescribeClientQuotasResponseEntity] = []
            entries_entity_count = n
            for _ in range(entries_entity_count):
                (n,) = unpack_h(data, pos)
                pos += 2
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("entity_type", n, size - pos)
                entity_entity_type = data[pos:stop].tobytes().decode()
                pos = stop
                (n,) = unpack_h(data, pos)
                pos += 2
                if n == -1:
                    entity_entity_name = None
                else:
                    stop = pos + n
                    if n < 0 or stop > size:
                        raise bad_length("entity_name", n, size - pos)
                    entity_entity_name = data[pos:stop].tobytes().decode()
                    pos = stop
                entries_entity.append(DescribeClientQuotasResponseEntity(entity_entity_type, entity_entity_name))
            (n,) = unpack_i(data, pos)
            pos += 4
            if n < 0 or n > (size - pos) // 10 or n > budget:
                raise too_many("values", n, size - pos)
            budget -= n
            entries_values: list[DescribeClientQuotasResponseValue] = []
            entries_values_count = n
            for _ in range(entries_values_count):
                (n,) = unpack_h(data, pos)
                pos += 2
                stop = pos + n
                if n < 0 or stop > size:
                    raise bad_length("key", n, size - pos)
                values_key = data[pos:stop].tobytes().decode()
                pos = stop
                (values_value,) = unpack_d(data, pos)
                pos += 8
                entries_values.append(DescribeClientQuotasResponseValue(values_key, values_value))
            entries.append(DescribeClientQuotasResponseEntry(entries_entity, entries_values))
    reader.position = pos
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries)
