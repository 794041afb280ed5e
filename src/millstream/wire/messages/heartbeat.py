"""Heartbeat (key 12). A member is alive.

Generated from wire/schema/heartbeat.txt by tools/generate_messages.py: change that, not this.
"""

import struct
from typing import Final, final

from millstream.wire.message import Message
from millstream.wire.primitives import (
    Reader,
    bad_length,
    long_uvarint,
    malformed,
    skip_tags,
    write_uvarint,
)

unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
pack_ihx: Final = struct.Struct(">ihx").pack


@final
class HeartbeatRequest(Message):
    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")
    FIELDS = ("group_id", "generation_id", "member_id", "group_instance_id")
    KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id

    @classmethod
    def read(cls, reader: Reader, version: int) -> "HeartbeatRequest":
        try:
            if version >= 4:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("HeartbeatRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"HeartbeatRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_i(self.generation_id)
        raw = self.member_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        group_instance_id = self.group_instance_id
        if group_instance_id is None:
            raw = b""
            n = 0
        else:
            raw = group_instance_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        raw = self.member_id.encode()
        n = len(raw)
        out += pack_ih(self.generation_id, n)
        out += raw
        if version >= 3:
            group_instance_id = self.group_instance_id
            if group_instance_id is None:
                raw = b""
                n = -1
            else:
                raw = group_instance_id.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw


def _read_flexible_request(reader: Reader, version: int) -> HeartbeatRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("group_id", n - 1, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    generation_id, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("member_id", n - 1, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        group_instance_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("group_instance_id", n - 1, size - pos)
        group_instance_id = data[pos:stop].tobytes().decode()
        pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)


def _read_older_request(reader: Reader, version: int) -> HeartbeatRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("group_id", n, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    generation_id, n = unpack_ih(data, pos)
    pos += 6
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("member_id", n, size - pos)
    member_id = data[pos:stop].tobytes().decode()
    pos = stop
    group_instance_id = None
    if version >= 3:
        (n,) = unpack_h(data, pos)
        pos += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("group_instance_id", n, size - pos)
            group_instance_id = data[pos:stop].tobytes().decode()
            pos = stop
    reader.position = pos
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)


@final
class HeartbeatResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code")
    FIELDS = ("throttle_time_ms", "error_code")
    KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def read(cls, reader: Reader, version: int) -> "HeartbeatResponse":
        try:
            if version >= 4:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("HeartbeatResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 4:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"HeartbeatResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ihx(self.throttle_time_ms, self.error_code)

    def _write_older(self, out: bytearray, version: int) -> None:
        if version >= 1:
            out += pack_ih(self.throttle_time_ms, self.error_code)
        else:
            out += pack_h(self.error_code)


def _read_flexible_response(reader: Reader, version: int) -> HeartbeatResponse:
    data = reader.data
    pos = reader.position
    throttle_time_ms, error_code, tags = unpack_ihB(data, pos)
    pos += 7
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return HeartbeatResponse(throttle_time_ms, error_code)


def _read_older_response(reader: Reader, version: int) -> HeartbeatResponse:
    data = reader.data
    pos = reader.position
    if version >= 1:
        throttle_time_ms, error_code = unpack_ih(data, pos)
        pos += 6
    else:
        (error_code,) = unpack_h(data, pos)
        pos += 2
        throttle_time_ms = 0
    reader.position = pos
    return HeartbeatResponse(throttle_time_ms, error_code)
