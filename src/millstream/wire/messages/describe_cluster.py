"""DescribeCluster (key 60). The cluster's brokers and its controller.

Generated from wire/schema/describe_cluster.txt by tools/generate_messages.py: change that, not this.
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

unpack_oB: Final = struct.Struct(">?B").unpack_from
unpack_oboB: Final = struct.Struct(">?b?B").unpack_from
pack_obox: Final = struct.Struct(">?b?x").pack
unpack_obB: Final = struct.Struct(">?bB").unpack_from
pack_obx: Final = struct.Struct(">?bx").pack
pack_ox: Final = struct.Struct(">?x").pack
pack_b: Final = struct.Struct(">b").pack
unpack_bB: Final = struct.Struct(">bB").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
pack_ix: Final = struct.Struct(">ix").pack


@final
class DescribeClusterRequest(Message):
    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    FIELDS = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeClusterRequest":
        try:
            return _read_flexible_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeClusterRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeClusterRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 2:
            out += pack_obox(self.include_cluster_authorized_operations, self.endpoint_type, self.include_fenced_brokers)
        elif version >= 1:
            out += pack_obx(self.include_cluster_authorized_operations, self.endpoint_type)
        else:
            out += pack_ox(self.include_cluster_authorized_operations)


def _read_flexible_request(reader: Reader, version: int) -> DescribeClusterRequest:
    data = reader.data
    pos = reader.position
    if version >= 2:
        include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, tags = unpack_oboB(data, pos)
        pos += 4
    elif version >= 1:
        include_cluster_authorized_operations, endpoint_type, tags = unpack_obB(data, pos)
        pos += 3
        include_fenced_brokers = False
    else:
        include_cluster_authorized_operations, tags = unpack_oB(data, pos)
        pos += 2
        endpoint_type = 1
        include_fenced_brokers = False
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers)


@final
class DescribeClusterResponseBroker(Struct):
    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")
    FIELDS = ("broker_id", "host", "port", "rack", "is_fenced")

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


@final
class DescribeClusterResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")
    KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterResponseBroker] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers: list[DescribeClusterResponseBroker] = [] if brokers is EMPTY else brokers
        self.cluster_authorized_operations = cluster_authorized_operations

    @classmethod
    def read(cls, reader: Reader, version: int) -> "DescribeClusterResponse":
        try:
            return _read_flexible_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("DescribeClusterResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            self._write_flexible(out, version)
        except struct.error as error:
            raise ValueError(f"DescribeClusterResponse v{version}: {error}") from error

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
        if version >= 1:
            out += pack_b(self.endpoint_type)
        raw = self.cluster_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_i(self.controller_id)
        n = len(self.brokers) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        for broker in self.brokers:
            out += pack_i(broker.broker_id)
            raw = broker.host.encode()
            n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            out += pack_i(broker.port)
            broker_rack = broker.rack
            if broker_rack is None:
                raw = b""
                n = 0
            else:
                raw = broker_rack.encode()
                n = len(raw) + 1
            if n < 128:
                out.append(n)
            else:
                write_uvarint(out, n)
            out += raw
            if version >= 2:
                out += pack_ox(broker.is_fenced)
            else:
                out.append(0)
        out += pack_ix(self.cluster_authorized_operations)


def _read_flexible_response(reader: Reader, version: int) -> DescribeClusterResponse:
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
    if version >= 1:
        endpoint_type, n = unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    else:
        n = data[pos]
        pos += 1
        endpoint_type = 1
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("cluster_id", n - 1, size - pos)
    cluster_id = data[pos:stop].tobytes().decode()
    pos = stop
    controller_id, n = unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    n -= 1
    if n < 0 or n > (size - pos) // 11 or n > budget:
        raise too_many("brokers", n, size - pos)
    budget -= n
    brokers: list[DescribeClusterResponseBroker] = []
    brokers_count = n
    for _ in range(brokers_count):
        brokers_broker_id, n = unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        stop = pos + n - 1
        if n == 0 or stop > size:
            raise bad_length("host", n - 1, size - pos)
        brokers_host = data[pos:stop].tobytes().decode()
        pos = stop
        brokers_port, n = unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = long_uvarint(data, pos, n)
        if n == 0:
            brokers_rack = None
        else:
            stop = pos + n - 1
            if stop > size:
                raise bad_length("rack", n - 1, size - pos)
            brokers_rack = data[pos:stop].tobytes().decode()
            pos = stop
        if version >= 2:
            brokers_is_fenced, tags = unpack_oB(data, pos)
            pos += 2
        else:
            tags = data[pos]
            pos += 1
            brokers_is_fenced = False
        if tags:
            pos = skip_tags(data, pos, tags)
        brokers.append(DescribeClusterResponseBroker(brokers_broker_id, brokers_host, brokers_port, brokers_rack, brokers_is_fenced))
    cluster_authorized_operations, tags = unpack_iB(data, pos)
    pos += 5
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
