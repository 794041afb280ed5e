"""Frames: an int32 size, then so many bytes.

`FrameBuffer` takes them out of a stream, for clients and tests; the broker's
own connections receive into their buffers and only ask `check_size`.
"""

import struct
from typing import Final, final

from millstream.errors import ErrorCode, Refused
from millstream.wire.apis import RequestHeader, write_response_header
from millstream.wire.message import Message
from millstream.wire.primitives import Buffer

DEFAULT_MAX_SIZE: Final = 104857600  # Kafka's socket.request.max.bytes

_SIZE: Final = struct.Struct(">i")
_HTTP: Final = frozenset(
    (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI ", b"HTTP")
)
_TLS_HANDSHAKE: Final = b"\x16\x03"


@final
class FrameBuffer:
    """Feed it what arrives; take frames until it needs more."""

    __slots__ = ("_buffer", "_max_size", "_start")

    def __init__(self, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self._buffer = bytearray()
        self._start = 0
        self._max_size = max_size

    def feed(self, data: Buffer) -> None:
        """Take *data*, the next bytes of the stream."""
        if self._start:
            # A new buffer rather than a shorter one: frames given out are views of the old.
            self._buffer = self._buffer[self._start :]
            self._start = 0
        self._buffer += data

    def next(self) -> memoryview | None:
        """The next whole frame without its size, or None if more bytes are needed."""
        held = len(self._buffer) - self._start
        if held < _SIZE.size:
            return None
        size = check_size(memoryview(self._buffer)[self._start : self._start + _SIZE.size], self._max_size)
        if held < _SIZE.size + size:
            return None
        start = self._start + _SIZE.size
        self._start = start + size
        return memoryview(self._buffer)[start : self._start]


def check_size(prefix: Buffer, max_size: int) -> int:
    """The size that the four bytes of *prefix* announce; `Refused` names the likely cause of a bad one."""
    size: int = _SIZE.unpack(prefix)[0]
    if 0 <= size <= max_size:
        return size
    raise Refused(ErrorCode.INVALID_REQUEST, f"a frame of {size} bytes: {_cause(bytes(prefix), max_size)}")


def request_frame(header: RequestHeader, request: Message) -> bytearray:
    """A whole frame."""
    out = bytearray(_SIZE.size)
    header.write(out)
    request.write(out, header.api_version)
    _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
    return out


def response_frame(response: Message, version: int, correlation_id: int) -> bytearray:
    """A whole frame."""
    out = bytearray(_SIZE.size)
    write_response_header(out, response.KEY, version, correlation_id)
    response.write(out, version)
    _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
    return out


def _cause(prefix: bytes, max_size: int) -> str:
    if prefix in _HTTP:
        return "this looks like HTTP, on a port that speaks Kafka"
    if prefix.startswith(_TLS_HANDSHAKE):
        return "this looks like TLS, on a port that speaks plaintext"
    if prefix[0] > 127:
        return "sizes are not negative"
    return f"the limit is {max_size}"
