"""AlterClientQuotas (key 49). Set or remove quotas.

Generated from wire/schema/alter_client_quotas.txt by tools/generate_messages.py: change that, not this.
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
unpack_do: Final = struct.Struct(">d?").unpack_from
pack_do: Final = struct.Struct(">d?").pack
unpack_doB: Final = struct.Struct(">d?B").unpack_from
pack_dox: Final = struct.Struct(">d?x").pack
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
class AlterClientQuotasRequestEntity(Struct):
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
class AlterClientQuotasRequestOp(Struct):
    __slots__ = ("key", "value", "remove")
    FIELDS = ("key", "value", "remove")

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


@final
class AlterClientQuotasRequestEntry(Struct):
    __slots__ = ("entity", "ops")
    FIELDS = ("entity", "ops")

    def __init__(
        self,
        entity: list[AlterClientQuotasRequestEntity] = EMPTY,
        ops: list[AlterClientQuotasRequestOp] = EMPTY,
    ) -> None:
        self.entity: list[AlterClientQuotasRequestEntity] = [] if entity is EMPTY else entity
        self.ops: list[AlterClientQuotasRequestOp] = [] if ops is EMPTY else ops


@final
class AlterClientQuotasRequest(Message):
    __slots__ = ("entries", "validate_only")
    FIELDS = ("entries", "validate_only")
    KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        entries: list[AlterClientQuotasRequestEntry] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.entries: list[AlterClientQuotasRequestEntry] = [] if entries is EMPTY else entries
        self.validate_only = validate_only

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterClientQuotasRequest":
        try:
            if version >= 1:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterClientQuotasRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 1:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AlterClientQuotasRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.entries) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for entry in self.entries:
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
            n = len(entry.ops) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for op in entry.ops:
                raw = op.key.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_dox(op.value, op.remove)
            out.append(0)
        out += pack_ox(self.validate_only)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.entries)
        out += pack_i(n)
        for entry in self.entries:
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
            n = len(entry.ops)
            out += pack_i(n)
            for op in entry.ops:
                raw = op.key.encode()
                n = len(raw)
                out += pack_h(n)
                out += raw
                out += pack_do(op.value, op.remove)
        out += pack_o(self.validate_only)


def _read_flexible_request(reader: Reader, version: int) -> AlterClientQuotasRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 3 or n > budget:
        raise too_many("entries", n, size - pos)
    budget -= n
    entries: list[AlterClientQuotasRequestEntry] = []
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
        entries_entity: list[AlterClientQuotasRequestEntity] = []
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
            entries_entity.append(AlterClientQuotasRequestEntity(entity_entity_type, entity_entity_name))
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 11 or n > budget:
            raise too_many("ops", n, size - pos)
        budget -= n
        entries_ops: list[AlterClientQuotasRequestOp] = []
        entries_ops_count = n
        for _ in range(entries_ops_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("key", n - 1, size - pos)
            ops_key = data[pos:stop].tobytes().decode()
            pos = stop
            ops_value, ops_remove, tags = unpack_doB(data, pos)
            pos += 10
            if tags:
                pos = skip_tags(data, pos, tags)
            entries_ops.append(AlterClientQuotasRequestOp(ops_key, ops_value, ops_remove))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        entries.append(AlterClientQuotasRequestEntry(entries_entity, entries_ops))
    validate_only, tags = unpack_oB(data, pos)
    pos += 2
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterClientQuotasRequest(entries, validate_only)


def _read_older_request(reader: Reader, version: int) -> AlterClientQuotasRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("entries", n, size - pos)
    budget -= n
    entries: list[AlterClientQuotasRequestEntry] = []
    entries_count = n
    for _ in range(entries_count):
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("entity", n, size - pos)
        budget -= n
        entries_entity: list[AlterClientQuotasRequestEntity] = []
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
            entries_entity.append(AlterClientQuotasRequestEntity(entity_entity_type, entity_entity_name))
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 11 or n > budget:
            raise too_many("ops", n, size - pos)
        budget -= n
        entries_ops: list[AlterClientQuotasRequestOp] = []
        entries_ops_count = n
        for _ in range(entries_ops_count):
            (n,) = unpack_h(data, pos)
            pos += 2
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("key", n, size - pos)
            ops_key = data[pos:stop].tobytes().decode()
            pos = stop
            ops_value, ops_remove = unpack_do(data, pos)
            pos += 9
            entries_ops.append(AlterClientQuotasRequestOp(ops_key, ops_value, ops_remove))
        entries.append(AlterClientQuotasRequestEntry(entries_entity, entries_ops))
    (validate_only,) = unpack_o(data, pos)
    pos += 1
    reader.position = pos
    return AlterClientQuotasRequest(entries, validate_only)


@final
class AlterClientQuotasResponseEntity(Struct):
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
class AlterClientQuotasResponseEntry(Struct):
    __slots__ = ("error_code", "error_message", "entity")
    FIELDS = ("error_code", "error_message", "entity")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[AlterClientQuotasResponseEntity] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity: list[AlterClientQuotasResponseEntity] = [] if entity is EMPTY else entity


@final
class AlterClientQuotasResponse(Message):
    __slots__ = ("throttle_time_ms", "entries")
    FIELDS = ("throttle_time_ms", "entries")
    KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponseEntry] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries: list[AlterClientQuotasResponseEntry] = [] if entries is EMPTY else entries

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AlterClientQuotasResponse":
        try:
            if version >= 1:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AlterClientQuotasResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 1:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AlterClientQuotasResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.entries) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for entry in self.entries:
            out += pack_h(entry.error_code)
            entry_error_message = entry.error_message
            if entry_error_message is None:
                raw = b""
                n = 0
            else:
                raw = entry_error_message.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
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
            out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.entries)
        out += pack_ii(self.throttle_time_ms, n)
        for entry in self.entries:
            entry_error_message = entry.error_message
            if entry_error_message is None:
                raw = b""
                n = -1
            else:
                raw = entry_error_message.encode()
                n = len(raw)
            out += pack_hh(entry.error_code, n)
            out += raw
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


def _read_flexible_response(reader: Reader, version: int) -> AlterClientQuotasResponse:
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
        raise too_many("entries", n, size - pos)
    budget -= n
    entries: list[AlterClientQuotasResponseEntry] = []
    entries_count = n
    for _ in range(entries_count):
        entries_error_code, n = unpack_hB(data, pos)
        pos += 3
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            entries_error_message = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("error_message", n - 1, size - pos)
            entries_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 3 or n > budget:
            raise too_many("entity", n, size - pos)
        budget -= n
        entries_entity: list[AlterClientQuotasResponseEntity] = []
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
            entries_entity.append(AlterClientQuotasResponseEntity(entity_entity_type, entity_entity_name))
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, tags)
        entries.append(AlterClientQuotasResponseEntry(entries_error_code, entries_error_message, entries_entity))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AlterClientQuotasResponse(throttle_time_ms, entries)


def _read_older_response(reader: Reader, version: int) -> AlterClientQuotasResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 8 or n > budget:
        raise too_many("entries", n, size - pos)
    budget -= n
    entries: list[AlterClientQuotasResponseEntry] = []
    entries_count = n
    for _ in range(entries_count):
        entries_error_code, n = unpack_hh(data, pos)
        pos += 4
        if n == -1:
            entries_error_message = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("error_message", n, size - pos)
            entries_error_message = data[pos:stop].tobytes().decode()
            pos = stop
        (n,) = unpack_i(data, pos)
        pos += 4
        if n < 0 or n > (size - pos) // 4 or n > budget:
            raise too_many("entity", n, size - pos)
        budget -= n
        entries_entity: list[AlterClientQuotasResponseEntity] = []
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
            entries_entity.append(AlterClientQuotasResponseEntity(entity_entity_type, entity_entity_name))
        entries.append(AlterClientQuotasResponseEntry(entries_error_code, entries_error_message, entries_entity))
    reader.position = pos
    return AlterClientQuotasResponse(throttle_time_ms, entries)
