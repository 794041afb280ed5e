"""InitProducerId (key 22). A producer id for an idempotent or transactional producer.

Generated from wire/schema/init_producer_id.txt by tools/generate_messages.py: change that, not this.
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
unpack_i: Final = struct.Struct(">i").unpack_from
pack_i: Final = struct.Struct(">i").pack
unpack_iB: Final = struct.Struct(">iB").unpack_from
unpack_ihqh: Final = struct.Struct(">ihqh").unpack_from
pack_ihqh: Final = struct.Struct(">ihqh").pack
unpack_ihqhB: Final = struct.Struct(">ihqhB").unpack_from
pack_ihqhx: Final = struct.Struct(">ihqhx").pack
unpack_iqhB: Final = struct.Struct(">iqhB").unpack_from
pack_iqhx: Final = struct.Struct(">iqhx").pack
pack_ix: Final = struct.Struct(">ix").pack


@final
class InitProducerIdRequest(Message):
    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch")
    FIELDS = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch")
    KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    @classmethod
    def read(cls, reader: Reader, version: int) -> "InitProducerIdRequest":
        try:
            if version >= 2:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("InitProducerIdRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"InitProducerIdRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        transactional_id = self.transactional_id
        if transactional_id is None:
            raw = b""
            n = 0
        else:
            raw = transactional_id.encode()
            n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        if version >= 3:
            out += pack_iqhx(self.transaction_timeout_ms, self.producer_id, self.producer_epoch)
        else:
            out += pack_ix(self.transaction_timeout_ms)

    def _write_older(self, out: bytearray, version: int) -> None:
        transactional_id = self.transactional_id
        if transactional_id is None:
            raw = b""
            n = -1
        else:
            raw = transactional_id.encode()
            n = len(raw)
        out += pack_h(n)
        out += raw
        out += pack_i(self.transaction_timeout_ms)


def _read_flexible_request(reader: Reader, version: int) -> InitProducerIdRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = long_uvarint(data, pos, n)
    if n == 0:
        transactional_id = None
    else:
        stop = pos + n - 1
        if stop > size:
            raise bad_length("transactional_id", n - 1, size - pos)
        transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
    if version >= 3:
        transaction_timeout_ms, producer_id, producer_epoch, tags = unpack_iqhB(data, pos)
        pos += 15
    else:
        transaction_timeout_ms, tags = unpack_iB(data, pos)
        pos += 5
        producer_id = -1
        producer_epoch = -1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch)


def _read_older_request(reader: Reader, version: int) -> InitProducerIdRequest:
    data = reader.data
    size = reader.size
    pos = reader.position
    (n,) = unpack_h(data, pos)
    pos += 2
    if n == -1:
        transactional_id = None
    else:
        stop = pos + n
        if n < 0 or stop > size:
            raise bad_length("transactional_id", n, size - pos)
        transactional_id = data[pos:stop].tobytes().decode()
        pos = stop
    (transaction_timeout_ms,) = unpack_i(data, pos)
    pos += 4
    reader.position = pos
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1)


@final
class InitProducerIdResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    FIELDS = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    @classmethod
    def read(cls, reader: Reader, version: int) -> "InitProducerIdResponse":
        try:
            if version >= 2:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("InitProducerIdResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 2:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"InitProducerIdResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        out += pack_ihqhx(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)

    def _write_older(self, out: bytearray, version: int) -> None:
        out += pack_ihqh(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)


def _read_flexible_response(reader: Reader, version: int) -> InitProducerIdResponse:
    data = reader.data
    pos = reader.position
    throttle_time_ms, error_code, producer_id, producer_epoch, tags = unpack_ihqhB(data, pos)
    pos += 17
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch)


def _read_older_response(reader: Reader, version: int) -> InitProducerIdResponse:
    data = reader.data
    pos = reader.position
    throttle_time_ms, error_code, producer_id, producer_epoch = unpack_ihqh(data, pos)
    pos += 16
    reader.position = pos
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch)
