"""EndTxn (key 26). Commit or abort a transaction.

Generated from wire/schema/end_txn.txt by tools/generate_messages.py: change that, not this.
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
unpack_ihqhB: Final = struct.Struct(">ihqhB").unpack_from
pack_ihqhx: Final = struct.Struct(">ihqhx").pack
pack_ihx: Final = struct.Struct(">ihx").pack
unpack_qho: Final = struct.Struct(">qh?").unpack_from
pack_qho: Final = struct.Struct(">qh?").pack
unpack_qhoB: Final = struct.Struct(">qh?B").unpack_from
pack_qhox: Final = struct.Struct(">qh?x").pack


@final
class EndTxnRequest(Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")
    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "committed")
    KEY = 26
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed

    @classmethod
    def read(cls, reader: Reader, version: int) -> "EndTxnRequest":
        try:
            if version >= 3:
                return _read_flexible_request(reader, version)
            return _read_older_request(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("EndTxnRequest", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"EndTxnRequest v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        raw = self.transactional_id.encode()
        n = len(raw) + 1
        if n < 128:
            out.append(n)
        else:
            write_uvarint(out, n)
        out += raw
        out += pack_qhox(self.producer_id, self.producer_epoch, self.committed)

    def _write_older(self, out: bytearray, version: int) -> None:
        raw = self.transactional_id.encode()
        n = len(raw)
        out += pack_h(n)
        out += raw
        out += pack_qho(self.producer_id, self.producer_epoch, self.committed)


def _read_flexible_request(reader: Reader, version: int) -> EndTxnRequest:
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
    producer_id, producer_epoch, committed, tags = unpack_qhoB(data, pos)
    pos += 12
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)


def _read_older_request(reader: Reader, version: int) -> EndTxnRequest:
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
    producer_id, producer_epoch, committed = unpack_qho(data, pos)
    pos += 11
    reader.position = pos
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)


@final
class EndTxnResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    FIELDS = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    KEY = 26
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    @classmethod
    def read(cls, reader: Reader, version: int) -> "EndTxnResponse":
        try:
            if version >= 3:
                return _read_flexible_response(reader, version)
            return _read_older_response(reader, version)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise malformed("EndTxnResponse", version, error) from None

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version >= 3:
                self._write_flexible(out, version)
            else:
                self._write_older(out, version)
        except struct.error as error:
            raise ValueError(f"EndTxnResponse v{version}: {error}") from error

    def _write_flexible(self, out: bytearray, version: int) -> None:
        if version >= 5:
            out += pack_ihqhx(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)
        else:
            out += pack_ihx(self.throttle_time_ms, self.error_code)

    def _write_older(self, out: bytearray, version: int) -> None:
        out += pack_ih(self.throttle_time_ms, self.error_code)


def _read_flexible_response(reader: Reader, version: int) -> EndTxnResponse:
    data = reader.data
    pos = reader.position
    if version >= 5:
        throttle_time_ms, error_code, producer_id, producer_epoch, tags = unpack_ihqhB(data, pos)
        pos += 17
    else:
        throttle_time_ms, error_code, tags = unpack_ihB(data, pos)
        pos += 7
        producer_id = -1
        producer_epoch = -1
    if tags:
        pos = skip_tags(data, pos, tags)
    reader.position = pos
    return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch)


def _read_older_response(reader: Reader, version: int) -> EndTxnResponse:
    data = reader.data
    pos = reader.position
    throttle_time_ms, error_code = unpack_ih(data, pos)
    pos += 6
    reader.position = pos
    return EndTxnResponse(throttle_time_ms, error_code, -1, -1)
