"""Records to batch.

A record in a batch, every number but the attributes a zigzag varint, and a
length of -1 standing for null:

    length  attributes (i8, 0)  timestamp_delta  offset_delta
    key_length key  value_length value
    header_count  { key_length key  value_length value } ...
"""

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from millstream.records.batch import CHECKED_FROM, CONTROL, HEADER_SIZE, LENGTH_END, MAGIC, TRANSACTIONAL
from millstream.records.compression import Codec, compress
from millstream.records.crc import crc32c

if TYPE_CHECKING:
    from millstream.records import _native
else:
    try:
        from millstream.records import _native
    except ImportError:
        _native = None

Headers = tuple[tuple[str, bytes | None], ...]

_BEFORE_CRC: Final = struct.Struct(">qiibI")
_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
assert _BEFORE_CRC.size == CHECKED_FROM
assert _BEFORE_CRC.size + _AFTER_CRC.size == HEADER_SIZE

_NATIVE: Final = getattr(_native, "encode", None)  # None where it was not built
_NO_EPOCH: Final = -1  # the leader that appends the batch stamps its own
_NULL: Final = b"\x01"  # the varint -1
_NONE: Final = b"\x00"  # the varint 0
# Varints of one byte, 0 to 63 and then -64 to -1, so that a negative index finds its own.
_SHORT: Final = [bytes((n << 1,)) for n in range(64)] + [bytes(((-n << 1) - 1,)) for n in range(-64, 0)]


@final
class NewRecord:
    """A record to be written; without *timestamp_ms* it gets the time of building."""

    __slots__ = ("headers", "key", "timestamp_ms", "value")

    def __init__(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> None:
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp_ms = timestamp_ms

    def __repr__(self) -> str:
        return f"NewRecord({self.key!r}, {self.value!r}, {self.headers!r}, {self.timestamp_ms!r})"


def build(
    records: Sequence[NewRecord],
    *,
    codec: Codec = Codec.NONE,
    now_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    base_offset: int = 0,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """One batch of all *records*, which are at least one."""
    assert records, "a batch holds at least one record"

    out, base_timestamp_ms, max_timestamp_ms = encode(records, now_ms)
    if codec is not Codec.NONE:
        out[HEADER_SIZE:] = compress(codec, out[HEADER_SIZE:])

    attributes = codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    _AFTER_CRC.pack_into(
        out,
        CHECKED_FROM,
        attributes,
        len(records) - 1,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    seal(out, base_offset, _NO_EPOCH)
    return out


Encoded = tuple[bytearray, int, int]
"""Room for a header and then records; the time of the first of them, and the latest."""


def encode(records: Sequence[NewRecord], now_ms: int) -> Encoded:
    """*records* one after another, by `_native.c` where it was built and they are ordinary."""
    if _NATIVE is not None:
        encoded: Encoded | None = _NATIVE(records, now_ms)
        if encoded is not None:
            return encoded
    return plain_encode(records, now_ms)


def plain_encode(records: Sequence[NewRecord], now_ms: int) -> Encoded:
    """The same, in Python alone."""
    base_timestamp_ms = _timestamp_ms(records[0], now_ms)
    max_timestamp_ms = base_timestamp_ms
    out = bytearray(HEADER_SIZE)
    for offset_delta, record in enumerate(records):
        timestamp_ms = _timestamp_ms(record, now_ms)
        if timestamp_ms > max_timestamp_ms:
            max_timestamp_ms = timestamp_ms
        _append_record(out, record, timestamp_ms - base_timestamp_ms, offset_delta)
    return out, base_timestamp_ms, max_timestamp_ms


def seal(out: bytearray, base_offset: int, leader_epoch: int) -> None:
    """Fill in what depends on the rest of the bytes: the length and the checksum."""
    with memoryview(out) as view:
        crc = crc32c(view[CHECKED_FROM:])
    _BEFORE_CRC.pack_into(out, 0, base_offset, len(out) - LENGTH_END, leader_epoch, MAGIC, crc)


def varint(number: int) -> bytes:
    """*number*, of up to 64 bits, as a zigzag varint."""
    if -64 <= number < 64:
        return _SHORT[number]
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _timestamp_ms(record: NewRecord, now_ms: int) -> int:
    return now_ms if record.timestamp_ms is None else record.timestamp_ms


def _append_record(out: bytearray, record: NewRecord, timestamp_delta: int, offset_delta: int) -> None:
    key = record.key
    value = record.value
    body = b"".join(
        (
            b"\x00",
            varint(timestamp_delta),
            varint(offset_delta),
            _NULL if key is None else varint(len(key)),
            key or b"",
            _NULL if value is None else varint(len(value)),
            value or b"",
            _headers(record.headers) if record.headers else _NONE,
        )
    )
    out += varint(len(body))
    out += body


def _headers(headers: Headers) -> bytes:
    out = bytearray(varint(len(headers)))
    for name, value in headers:
        encoded = name.encode()
        out += varint(len(encoded))
        out += encoded
        out += _NULL if value is None else varint(len(value))
        out += value or b""
    return bytes(out)
