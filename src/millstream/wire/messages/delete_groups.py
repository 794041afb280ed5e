"""DeleteGroups (key 42). Delete groups without members.

Generated from wire/schema/delete_groups.txt by tools/generate_messages.py: change that, not this.
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
unpack_hB: Final = struct.Struct(">hB").unpack_from
pack_hx: Final = struct.Struct(">hx").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ii: Final = struct.Struct(">ii").unpack_from
pack_ii: Final = struct.Struct(">ii").pack


@final
class DeleteGroupsRequest(Message):
    __slots__ = ("groups_names",)
    FIELDS = ("groups_names",)
    KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        groups_names: list[str] = EMPTY,
    ) -> None:
        self.groups_names: list[str] = [] if groups_names is EMPTY else groups_names

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteGroupsRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteGroupsRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteGroupsRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        n = len(self.groups_names) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for text in self.groups_names:
            raw = text.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.groups_names)
        out += pack_i(n)
        for text in self.groups_names:
            raw = text.encode()
            out += pack_h(len(raw))
            out += raw


def _read_flexible_request(reader: Reader, version: int) -> DeleteGroupsRequest:
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
        raise too_many("groups_names", n, size - pos)
    budget -= n
    groups_names: list[str] = []
    groups_names_count = n
    for _ in range(groups_names_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("groups_names", n - 1, size - pos)
        groups_names.append(data[pos:stop].tobytes().decode())
        pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteGroupsRequest(groups_names)


def _read_older_request(reader: Reader, version: int) -> DeleteGroupsRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    (n,) = unpack_i(data, pos)
    pos += 4
    if n < 0 or n > (size - pos) // 2 or n > budget:
        raise too_many("groups_names", n, size - pos)
    budget -= n
    groups_names: list[str] = []
    groups_names_count = n
    for _ in range(groups_names_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("groups_names", n, size - pos)
        groups_names.append(data[pos:stop].tobytes().decode())
        pos = stop
    reader.position = pos
    return DeleteGroupsRequest(groups_names)


@final
class DeleteGroupsResponseGroup(Struct):
    __slots__ = ("group_id", "error_code")
    FIELDS = ("group_id", "error_code")

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code


@final
class DeleteGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = ("throttle_time_ms", "results")
    KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeleteGroupsResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DeleteGroupsResponseGroup] = [] if results is EMPTY else results

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DeleteGroupsResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DeleteGroupsResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"DeleteGroupsResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_i(self.throttle_time_ms)
        n = len(self.results) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for group in self.results:
            raw = group.group_id.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_hx(group.error_code)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        n = len(self.results)
        out += pack_ii(self.throttle_time_ms, n)
        for group in self.results:
            raw = group.group_id.encode()
            n = len(raw)
            out += pack_h(n)
            out += raw
            out += pack_h(group.error_code)


def _read_flexible_response(reader: Reader, version: int) -> DeleteGroupsResponse:
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
    results: list[DeleteGroupsResponseGroup] = []
    results_count = n
    for _ in range(results_count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("group_id", n - 1, size - pos)
        results_group_id = data[pos:stop].tobytes().decode()
        pos = stop
        results_error_code, tags = unpack_hB(data, pos)
        pos += 3
        if tags:
            pos = skip_tags(data, pos, tags)
        results.append(DeleteGroupsResponseGroup(results_group_id, results_error_code))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DeleteGroupsResponse(throttle_time_ms, results)


def _read_older_response(reader: Reader, version: int) -> DeleteGroupsResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    throttle_time_ms, n = unpack_ii(data, pos)
    pos += 8
    if n < 0 or n > (size - pos) // 4 or n > budget:
        raise too_many("results", n, size - pos)
    budget -= n
    results: list[DeleteGroupsResponseGroup] = []
    results_count = n
    for _ in range(results_count):
        (n,) = unpack_h(data, pos)
        pos += 2
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("group_id", n, size - pos)
        results_group_id = data[pos:stop].tobytes().decode()
        pos = stop
        (results_error_code,) = unpack_h(data, pos)
        pos += 2
        results.append(DeleteGroupsResponseGroup(results_group_id, results_error_code))
    reader.position = pos
    return DeleteGroupsResponse(throttle_time_ms, results)
