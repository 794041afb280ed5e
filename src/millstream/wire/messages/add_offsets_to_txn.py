"""AddOffsetsToTxn (key 25). A group's offsets join a transaction.

Generated from wire/schema/add_offsets_to_txn.txt by tools/generate_messages.py: change that, not this.
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
unpack_ih: Final = struct.Struct(">ih").unpack_from
pack_ih: Final = struct.Struct(">ih").pack
unpack_ihB: Final = struct.Struct(">ihB").unpack_from
pack_ihx: Final = struct.Struct(">ihx").pack
pack_qh: Final = struct.Struct(">qh").pack
unpack_qhB: Final = struct.Struct(">qhB").unpack_from
unpack_qhh: Final = struct.Struct(">qhh").unpack_from
pack_qhh: Final = struct.Struct(">qhh").pack


@final
class AddOffsetsToTxnRequest(Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")
    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "group_id")
    KEY = 25
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AddOffsetsToTxnRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AddOffsetsToTxnRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AddOffsetsToTxnRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_qh(self.producer_id, self.producer_epoch)
        raw = self.group_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out.append(0)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.transactional_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        raw = self.group_id.encode()
        n = len(raw)
        out += pack_qhh(self.producer_id, self.producer_epoch, n)
        out += raw


def _read_flexible_request(reader: Reader, version: int) -> AddOffsetsToTxnRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("transactional_id", n - 1, size - pos)
    transactional_id = data[pos:stop].tobytes().decode()
    pos = stop
    producer_id, producer_epoch, n = unpack_qhB(data, pos)
    pos += 11
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    stop = pos + n - 1
    if n == 0 or stop > size:
        raise bad_length("group_id", n - 1, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    tags = data[pos]
    pos += 1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id)


def _read_older_request(reader: Reader, version: int) -> AddOffsetsToTxnRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    (n,) = unpack_h(data, pos)
    pos += 2
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("transactional_id", n, size - pos)
    transactional_id = data[pos:stop].tobytes().decode()
    pos = stop
    producer_id, producer_epoch, n = unpack_qhh(data, pos)
    pos += 12
    stop = pos + n
    if n < 0 or stop > size:
        raise bad_length("group_id", n, size - pos)
    group_id = data[pos:stop].tobytes().decode()
    pos = stop
    reader.position = pos
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id)


@final
class AddOffsetsToTxnResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code")
    FIELDS = ("throttle_time_ms", "error_code")
    KEY = 25
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def read(cls, reader: Reader, version: int) -> "AddOffsetsToTxnResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("AddOffsetsToTxnResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"AddOffsetsToTxnResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ihx(self.throttle_time_ms, self.error_code)

    def _write_older(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)


def _read_flexible_response(reader: Reader, version: int) -> AddOffsetsToTxnResponse:
    data = reader.data
    pos = reader.position
    throttle_time_ms, error_code, tags = unpack_ihB(data, pos)
    pos += 7
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return AddOffsetsToTxnResponse(throttle_time_ms, error_code)


def _read_older_response(reader: Reader, version: int) -> AddOffsetsToTxnResponse:
    data = reader.data
    pos = reader.position
    throttle_time_ms, error_code = unpack_ih(data, pos)
    pos += 6
    reader.position = pos
    return AddOffsetsToTxnResponse(throttle_time_ms, error_code)
