"""Kafka's primitive types: ints, varints, strings, byte runs, arrays and tagged fields.

What a client says about a length is checked against the bytes that are there
before anything is made of it. Malformed input raises `Refused` with
INVALID_REQUEST and nothing else; a value of ours that does not fit its type
is our own bug and raises `ValueError`.

Two families of encodings, chosen by an API's version:

    older      string  i16 length       bytes, array  i32 length      null is -1
    flexible   string, bytes, array     uvarint of length + 1         null is 0
               each struct ends with tagged fields: uvarint count, then tag, size, bytes

Integers are big-endian. A uuid is 16 bytes, kept as `bytes`.
"""

import struct
from typing import Any, Final, Protocol, TypeAlias, final

from millstream.errors import ErrorCode, Refused

Buffer: TypeAlias = bytes | bytearray | memoryview
Bytes: TypeAlias = bytes  # where a method of that name hides the type

MAX_OBJECTS: Final = 1_000_000  # in one message; more is an attack on our memory, not a request
MAX_TAGS: Final = 1_000  # in one struct; Kafka itself has defined at most four so far
ZERO_UUID: Final = bytes(16)
EMPTY: Final[list[Any]] = []  # stands for "a new list" as an argument's default; never written to

_IN_MEMORY: Final = (bytes, bytearray, memoryview)
_SMALL: Final = 4096  # bytes; below this a copy costs less than one more piece to send
_INT16: Final = struct.Struct(">h")
_UINT16: Final = struct.Struct(">H")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")


class Payload(Protocol):
    """Record bytes that stay where they are until they are sent, such as a range of a file."""

    @property
    def size(self) -> int:
        """How many bytes it will turn into."""
        ...


Records: TypeAlias = bytes | bytearray | memoryview | Payload
Piece: TypeAlias = bytes | bytearray | memoryview | Payload


@final
class Reader:
    """A place in a run of bytes that somebody else sent."""

    __slots__ = ("data", "position", "size")

    def __init__(self, data: Buffer, position: int = 0, end: int | None = None) -> None:
        view = data if isinstance(data, memoryview) else memoryview(data)
        if end is not None:
            view = view[:end]
        self.data = view
        self.size = len(view)
        self.position = position

    def remaining(self) -> int:
        """Bytes not yet read."""
        return self.size - self.position

    def finish(self) -> None:
        """Refuse if anything is left over: it would be a field that one of us does not know of."""
        if self.position != self.size:
            raise refusal(f"{self.size - self.position} bytes follow the end of the message")

    def raw(self, length: int) -> memoryview:
        """The next *length* bytes, not copied."""
        start = self.position
        stop = start + length
        if length < 0 or stop > self.size:
            raise refusal(f"a length of {length} where {self.size - start} bytes remain")
        self.position = stop
        return self.data[start:stop]

    def boolean(self) -> bool:
        return self.raw(1)[0] != 0

    def int8(self) -> int:
        byte = self.raw(1)[0]
        return byte - 256 if byte > 127 else byte

    def int16(self) -> int:
        return self._number(_INT16)

    def uint16(self) -> int:
        return self._number(_UINT16)

    def int32(self) -> int:
        return self._number(_INT32)

    def uint32(self) -> int:
        return self._number(_UINT32)

    def int64(self) -> int:
        return self._number(_INT64)

    def float64(self) -> float:
        value: float = _FLOAT64.unpack(self.raw(8))[0]
        return value

    def uuid(self) -> bytes:
        return self.raw(16).tobytes()

    def uvarint(self) -> int:
        """An unsigned varint of at most 32 bits."""
        return self._varint(5)

    def varint(self) -> int:
        """A zigzag varint of at most 32 bits."""
        value = self._varint(5)
        return (value >> 1) ^ -(value & 1)

    def varlong(self) -> int:
        """A zigzag varint of at most 64 bits."""
        value = self._varint(10)
        return (value >> 1) ^ -(value & 1)

    def string(self) -> str:
        return _text(self.raw(self.int16()))

    def nullable_string(self) -> str | None:
        length = self.int16()
        return None if length == -1 else _text(self.raw(length))

    def compact_string(self) -> str:
        return _text(self.raw(self.uvarint() - 1))

    def compact_nullable_string(self) -> str | None:
        length = self.uvarint() - 1
        return None if length == -1 else _text(self.raw(length))

    def bytes(self) -> Bytes:
        return self.raw(self.int32()).tobytes()

    def nullable_bytes(self) -> Bytes | None:
        length = self.int32()
        return None if length == -1 else self.raw(length).tobytes()

    def compact_bytes(self) -> Bytes:
        return self.raw(self.uvarint() - 1).tobytes()

    def array(self, min_size: int) -> int:
        """The count of an array whose elements take at least *min_size* bytes each; -1 for null."""
        return self._count(self.int32(), min_size)

    def compact_array(self, min_size: int) -> int:
        """As `array`, of a flexible version."""
        return self._count(self.uvarint() - 1, min_size)

    def skip_tags(self) -> None:
        """Pass over a struct's tagged fields."""
        first = self.raw(1)[0]
        if first:
            try:
                self.position = skip_tags(self.data, self.position, first)
            except IndexError:
                raise refusal("a tag section ends too soon") from None

    def _number(self, format: struct.Struct) -> int:
        value: int = format.unpack(self.raw(format.size))[0]
        return value

    def _varint(self, max_bytes: int) -> int:
        value = 0
        for shift in range(0, 7 * max_bytes, 7):
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 128:
                if value >> (32 if max_bytes == 5 else 64):
                    raise refusal("a varint too large for its type")
                return value
        raise refusal(f"a varint of more than {max_bytes} bytes")

    def _count(self, count: int, min_size: int) -> int:
        if count < -1 or count > MAX_OBJECTS or count > self.remaining() // min_size:
            raise too_many("an array", count, self.remaining())
        return count


def refusal(detail: str) -> Refused:
    """What is raised for input that is not well formed."""
    return Refused(ErrorCode.INVALID_REQUEST, detail)


def bad_length(field: str, length: int, remaining: int) -> Refused:
    """*field* claims *length* bytes (-1: null) and cannot have them."""
    return refusal(f"{field} has length {length} where {remaining} bytes remain")


def too_many(field: str, count: int, remaining: int) -> Refused:
    """*field* claims *count* elements (-1: null), more than the bytes or our limits allow."""
    return refusal(f"{field} has {count} elements where {remaining} bytes remain")


def malformed(message: str, version: int, error: Exception) -> Refused:
    """*message* ended too soon or holds text that is none, as *error* tells."""
    if isinstance(error, UnicodeDecodeError):
        return refusal(f"{message} v{version} has a string that is not UTF-8")
    return refusal(f"{message} v{version} ends too soon")


def long_uvarint(data: memoryview, position: int, first: int) -> tuple[int, int]:
    """Value and new position of a uvarint whose *first* byte, above 127, lies before *position*."""
    byte = data[position]  # unrolled: nearly every length of records comes through here
    if byte < 128:
        return first & 0x7F | byte << 7, position + 1
    value = first & 0x7F | (byte & 0x7F) << 7
    byte = data[position + 1]
    if byte < 128:
        return value | byte << 14, position + 2
    value |= (byte & 0x7F) << 14
    byte = data[position + 2]
    if byte < 128:
        return value | byte << 21, position + 3
    value |= (byte & 0x7F) << 21
    byte = data[position + 3]
    if byte > 15:
        raise refusal("a uvarint of more than 32 bits")
    return value | byte << 28, position + 4


def read_tags(data: memoryview, position: int, first: int) -> tuple[dict[int, tuple[int, int]], int]:
    """Where each tagged field of a struct lies, and the position after all.

    *first* is the byte before *position*, the one their count begins with.
    """
    count = first
    if first > 127:
        count, position = long_uvarint(data, position, first)
    size = len(data)
    if count > (size - position) // 2 or count > MAX_TAGS:
        raise too_many("a tag section", count, size - position)
    spans: dict[int, tuple[int, int]] = {}
    for _ in range(count):
        tag = data[position]
        position += 1
        if tag > 127:
            tag, position = long_uvarint(data, position, tag)
        length = data[position]
        position += 1
        if length > 127:
            length, position = long_uvarint(data, position, length)
        stop = position + length
        if stop > size:
            raise bad_length(f"tag {tag}", length, size - position)
        if tag in spans:
            raise refusal(f"tag {tag} appears twice")
        spans[tag] = (position, stop)
        position = stop
    return spans, position


def skip_tags(data: memoryview, position: int, first: int) -> int:
    """The position after tagged fields none of which we know; *first* as in `read_tags`."""
    return read_tags(data, position, first)[1]


def write_uvarint(out: bytearray, value: int) -> None:
    if not 0 <= value <= 0xFFFFFFFF:
        raise ValueError(f"{value} is not a uint32")
    if value < 1 << 14:
        if value > 127:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        return
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_varint(out: bytearray, value: int) -> None:
    """Zigzag, for values of up to 64 bits."""
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} is not an int64")
    value = (value << 1) ^ (value >> 63)
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_string(out: bytearray, value: str | None) -> None:
    raw = b"" if value is None else value.encode()
    if len(raw) > 0x7FFF:
        raise ValueError(f"a string of {len(raw)} bytes")
    out += _INT16.pack(-1 if value is None else len(raw))
    out += raw


def write_compact_string(out: bytearray, value: str | None) -> None:
    raw = b"" if value is None else value.encode()
    write_uvarint(out, 0 if value is None else len(raw) + 1)
    out += raw


def write_bytes(out: bytearray, value: Buffer | None) -> None:
    out += _INT32.pack(-1 if value is None else len(value))
    if value is not None:
        out += value


def write_tags(out: bytearray, fields: list[tuple[int, bytearray]]) -> None:
    """A struct's tagged fields, given in the order of their tags."""
    write_uvarint(out, len(fields))
    for tag, value in fields:
        write_uvarint(out, tag)
        write_uvarint(out, len(value))
        out += value


def size_of(records: Records) -> int:
    """How many bytes *records* takes on the wire."""
    return len(records) if isinstance(records, _IN_MEMORY) else records.size


def write_records(out: bytearray, records: Records, pieces: list[Piece] | None) -> bytearray:
    """Put *records* after *out*; return where to write on.

    Without *pieces* all goes into *out*. With them, *out* and *records* are
    laid side by side as two pieces, unless copying a few bytes is cheaper.
    """
    if isinstance(records, _IN_MEMORY) and (pieces is None or len(records) < _SMALL):
        out += records
        return out
    if pieces is None:
        raise ValueError("records that are not in memory can only be written in pieces")
    pieces.append(out)
    pieces.append(records)
    return bytearray()


def _text(raw: memoryview) -> str:
    try:
        return raw.tobytes().decode()
    except UnicodeDecodeError:
        raise refusal("a string that is not UTF-8") from None
