"""FindCoordinator (key 10). Which broker looks after a group or a transactional id.

Generated from wire/schema/find_coordinator.txt by tools/generate_messages.py: change that, not this.
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

unpack_b: Final = struct.Struct(">b").unpack_from
pack_b: Final = struct.Struct(">b").pack
unpack_h: Final = struct.Struct(">h").unpack_from
pack_h: Final = struct.Struct(">h").pack
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from


@final
class FindCoordinatorRequest(Message):
    __slots__ = ("key", "key_type", "coordinator_keys")
    FIELDS = ("key", "key_type", "coordinator_keys")
    KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = EMPTY,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys: list[str] = [] if coordinator_keys is EMPTY else coordinator_keys

    @classmethod
    def read(cls, reader: Reader, version: int) -> "FindCoordinatorRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("FindCoordinatorRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"FindCoordinatorRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version <= 3:
            raw = self.key.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        out += pack_b(self.key_type)
        if version >= 4:
            n = len(self.coordinator_keys) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for text in self.coordinator_keys:
                raw = text.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.key.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        if version >= 1:
            out += pack_b(self.key_type)


def _read_flexible_request(reader: Reader, version: int) -> FindCoordinatorRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    key = ""
    if version <= 3:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("key", n - 1, size - pos)
        key = data[pos:stop].tobytes().decode()
        pos = stop
    (key_type,) = unpack_b(data, pos)
    pos += 1
    coordinator_keys: list[str] = EMPTY
    if version >= 4:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > size - pos or n > budget:
            raise too_many("coordinator_keys", n, size - pos)
        budget -= n
        coordinator_keys = []
        coordinator_keys_count = n
        for _ in range(coordinator_keys_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("coordinator_keys", n - 1, size - pos)
            coordinator_keys.append(data[pos:stop].tobytes().decode())
            pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return FindCoordinatorRequest(key, key_type, coordinator_keys)


def _read_older_request(reader: Reader, version: int) -> FindCoordinatorRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("key", n, size - pos)
    key = data[pos:stop].tobytes().decode()
    pos = stop
    if version >= 1:
        (key_type,) = unpack_b(data, pos)
        pos += 1
    else:
        key_type = 0
    reader.position = pos
    return FindCoordinatorRequest(key, key_type, EMPTY)


@final
class FindCoordinatorResponseCoordinator(Struct):
    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")
    FIELDS = ("key", "node_id", "host", "port", "error_code", "error_message")

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


@final
class FindCoordinatorResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[FindCoordinatorResponseCoordinator] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators: list[FindCoordinatorResponseCoordinator] = [] if coordinators is EMPTY else coordinators

    @classmethod
    def read(cls, reader: Reader, version: int) -> "FindCoordinatorResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("FindCoordinatorResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"FindCoordinatorResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 4:
            out += pack_i(self.throttle_time_ms)
        else:
            out += pack_ih(self.throttle_time_ms, self.error_code)
        if version <= 3:
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
        if version >= 4:
            pass
        else:
            out += pack_i(self.node_id)
        if version <= 3:
            raw = self.host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
        if version >= 4:
            pass
        else:
            out += pack_i(self.port)
        if version >= 4:
            n = len(self.coordinators) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            for coordinator in self.coordinators:
                raw = coordinator.key.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_i(coordinator.node_id)
                raw = coordinator.host.encode()
                n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out += pack_ih(coordinator.port, coordinator.error_code)
                coordinator_error_message = coordinator.error_message
                if coordinator_error_message is None:
                    raw = b""
                    n = 0
                else:
                    raw = coordinator_error_message.encode()
                    n = len(raw) + 1
                if n < 128:
                    out.append(n)
                else:
                    write_uvarint(out, n)
                out += raw
                out.append(0)
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        if version >= 1:
            out += pack_ih(self.throttle_time_ms, self.error_code)
        else:
            out += pack_h(self.error_code)
        if version >= 1:
            error_message = self.error_message
            if error_message is None:
                raw = b""
                n = -1
            else:
                raw = error_message.encode()
                n = len(raw)
            out += pack_h(n)
            out += raw
        raw = self.host.encode()
        n = len(raw)
        out += pack_ih(self.node_id, n)
        out += raw
        out += pack_i(self.port)


def _read_flexible_response(reader: Reader, version: int) -> FindCoordinatorResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    budget = MAX_OBJECTS
    if version >= 4:
        (throttle_time_ms,) = unpack_i(data, pos)
        pos += 4
        error_code = 0
    else:
        throttle_time_ms, error_code = unpack_ih(data, pos)
        pos += 6
    error_message: str | None = ""
    if version <= 3:
        n = data[pos]
        pos += 1
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
    if version >= 4:
        node_id = 0
    else:
        (node_id,) = unpack_i(data, pos)
        pos += 4
    host = ""
    if version <= 3:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("host", n - 1, size - pos)
        host = data[pos:stop].tobytes().decode()
        pos = stop
    if version >= 4:
        port = 0
    else:
        (port,) = unpack_i(data, pos)
        pos += 4
    coordinators: list[FindCoordinatorResponseCoordinator] = EMPTY
    if version >= 4:
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        n -= 1
        if n < 0 or n > (size - pos) // 14 or n > budget:
            raise too_many("coordinators", n, size - pos)
        budget -= n
        coordinators = []
        coordinators_count = n
        for _ in range(coordinators_count):
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("key", n - 1, size - pos)
            coordinators_key = data[pos:stop].tobytes().decode()
            pos = stop
            coordinators_node_id, n = unpack_iB(data, pos)
            pos += 5
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            stop = pos + n - 1
            if n == 0 or stop > size:
                raise bad_length("host", n - 1, size - pos)
            coordinators_host = data[pos:stop].tobytes().decode()
            pos = stop
            coordinators_port, coordinators_error_code, n = unpack_ihB(data, pos)
            pos += 7
            if n > 127:
                n, pos = long_uvarint(data, pos, n)
            if n == 0:
                coordinators_error_message = None
            else:
                stop = pos + n - 1
                if stop > size:
                    raise bad_length("error_message", n - 1, size - pos)
                coordinators_error_message = data[pos:stop].tobytes().decode()
                pos = stop
            tags = data[pos]
            pos += 1
            if tags:
                pos = skip_tags(data, pos, tags)
            coordinators.append(FindCoordinatorResponseCoordinator(coordinators_key, coordinators_node_id, coordinators_host, coordinators_port, coordinators_error_code, coordinators_error_message))
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, coordinators)


def _read_older_response(reader: Reader, version: int) -> FindCoordinatorResponse:
    data = reader.data
    size = reader.size
    pos = reader.position
    if version >= 1:
        throttle_time_ms, error_code = unpack_ih(data, pos)
        pos += 6
    else:
        (error_code,) = unpack_h(data, pos)
        pos += 2
        throttle_time_ms = 0
    error_message: str | None = ""
    if version >= 1:
        (n,) = unpack_h(data, pos)
        pos += 2
        if n == -1:
            error_message = None
        else:
            stop = pos + n
            if n < 0 or stop > size:
                raise bad_length("error_message", n, size - pos)
            error_message = data[pos:stop].tobytes().decode()
            pos = stop
    node_id, n = unpack_ih(data, pos)
    pos += 6
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("host", n, size - pos)
    host = data[pos:stop].tobytes().decode()
    pos = stop
    (port,) = unpack_i(data, pos)
    pos += 4
    reader.position = pos
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, EMPTY)
