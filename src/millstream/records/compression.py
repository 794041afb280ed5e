"""The five codecs of record batches, and a decompressor that cannot be made to eat the memory.

What a stream says of its own size is never believed. gzip, LZ4 and zstd are
fed a little at a time, so little that even input made for it could not become
more than a few megabytes before we look. Snappy has no stream; its claim is
compared with the limit, and with what its input could possibly hold.

The libraries are imported when first needed: a broker mostly passes batches
on as they came, and many need none of them.
"""

import io
import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any, Final

from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused


class Codec(IntEnum):
    """How a batch's records are compressed, by the number in its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


MAX_UNPACKED: Final = 64 << 20  # what a batch may unpack to, however much its topic allows

# How much to feed at once. A byte of deflated data can become 1032, of LZ4 255, of zstd 32768
# (a run-length block makes 128 KiB of four bytes), so no feed makes more than 1, 1 and 4 MiB.
_FEED: Final = {Codec.GZIP: 1 << 10, Codec.LZ4: 4 << 10, Codec.ZSTD: 128}
_LZ4_PART: Final = 256 << 10
_MAX_ZSTD_WINDOW: Final = 8 << 20
_MAX_FRAMES: Final = 1024  # clients write one; each costs the same to open however little is in it

_GZIP: Final = 16 + zlib.MAX_WBITS  # gzip's header and trailer around the deflated data

# snappy-java's framing, which Java's clients write and read: 8 bytes of magic, two version
# numbers, then chunks with their length before them.
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL + struct.pack(">ii", 1, 1)
_XERIAL_CHUNK: Final = 32 << 10
_SNAPPY_MAX_RATIO: Final = 22  # a copy of 64 bytes takes three
_LENGTH: Final = struct.Struct(">i")


def unpack_limit(max_message_bytes: int) -> int:
    """What a batch of a topic that takes *max_message_bytes* may unpack to."""
    return min(max_message_bytes * 20, MAX_UNPACKED)


def compress(codec: Codec, data: Buffer) -> bytes:
    """*data* in the form that Java's clients write and every client reads."""
    if codec is Codec.GZIP:
        stream = zlib.compressobj(wbits=_GZIP)
        return stream.compress(data) + stream.flush()
    if codec is Codec.SNAPPY:
        return _snappy(data)
    if codec is Codec.LZ4:
        import lz4.frame

        # Java's reader takes independent blocks only.
        packed: bytes = lz4.frame.compress(data, block_linked=False, store_size=False)
        return packed
    if codec is Codec.ZSTD:
        import zstandard

        return zstandard.ZstdCompressor().compress(data)
    return bytes(data)


def bounded_decompress(codec: Codec, data: Buffer, limit: int) -> bytes:
    """What *data* unpacks to, if that is at most *limit* bytes.

    Refused with MESSAGE_TOO_LARGE if it is more, having made not much more
    than *limit*; with CORRUPT_MESSAGE if it is not whole streams of *codec*.
    """
    if codec is Codec.NONE:
        if len(data) > limit:
            raise _too_large(codec, limit)
        return bytes(data)
    if codec is Codec.SNAPPY:
        return _unsnappy(memoryview(data), limit)
    return _unpack(codec, memoryview(data), limit)


def _unpack(codec: Codec, data: memoryview, limit: int) -> bytes:
    new_stream, library_error = _library(codec)
    feed = _FEED[codec]
    out = io.BytesIO()
    position = 0
    frames = 0
    while frames == 0 or position < len(data):
        frames += 1
        if frames > _MAX_FRAMES:
            raise _corrupt(codec, f"more than {_MAX_FRAMES} streams in one batch")
        stream = new_stream()
        while not stream.eof:
            piece = data[position : position + feed]
            if not piece:
                raise _corrupt(codec, "cut short")
            position += len(piece)
            try:
                _feed(codec, stream, piece, out)
            except library_error as error:
                raise _corrupt(codec, str(error)) from None
            if out.tell() > limit:
                raise _too_large(codec, limit)
        position -= len(stream.unused_data or b"")
    return out.getvalue()


def _feed(codec: Codec, stream: Any, piece: memoryview, out: io.BytesIO) -> None:
    if codec is not Codec.LZ4:
        out.write(stream.decompress(piece))
        return
    # A block comes out whole, up to 4 MiB, through buffers as large again unless taken in parts.
    out.write(stream.decompress(piece, _LZ4_PART))
    while not (stream.needs_input or stream.eof):
        out.write(stream.decompress(b"", _LZ4_PART))


def _library(codec: Codec) -> tuple[Callable[[], Any], type[Exception]]:
    """How to open a stream of *codec*, and what it raises when fed garbage."""
    if codec is Codec.GZIP:
        return partial(zlib.decompressobj, _GZIP), zlib.error
    if codec is Codec.LZ4:
        import lz4.frame

        return lz4.frame.LZ4FrameDecompressor, RuntimeError

    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW).decompressobj, zstandard.ZstdError


def _snappy(data: Buffer) -> bytes:
    import cramjam

    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_CHUNK):
        chunk = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_CHUNK]))
        parts.append(_LENGTH.pack(len(chunk)))
        parts.append(chunk)
    return b"".join(parts)


def _unsnappy(data: memoryview, limit: int) -> bytes:
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return _unsnappy_chunk(data, limit, limit)
    if len(data) < len(_XERIAL_HEADER):
        raise _corrupt(Codec.SNAPPY, "cut short")

    out = io.BytesIO()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + _LENGTH.size > len(data):
            raise _corrupt(Codec.SNAPPY, "cut short")
        (size,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if not 0 < size <= len(data) - position:
            raise _corrupt(Codec.SNAPPY, f"a chunk of {size} bytes in {len(data) - position}")
        out.write(_unsnappy_chunk(data[position : position + size], limit - out.tell(), limit))
        position += size
    return out.getvalue()


def _unsnappy_chunk(chunk: memoryview, room: int, limit: int) -> bytes:
    import cramjam

    try:
        claimed = cramjam.snappy.decompress_raw_len(chunk)
        if claimed > room:
            raise _too_large(Codec.SNAPPY, limit)
        if claimed > len(chunk) * _SNAPPY_MAX_RATIO:
            raise _corrupt(Codec.SNAPPY, f"{claimed} bytes claimed in {len(chunk)}")
        return bytes(cramjam.snappy.decompress_raw(chunk))
    except cramjam.DecompressionError as error:
        raise _corrupt(Codec.SNAPPY, str(error)) from None


def _too_large(codec: Codec, limit: int) -> Refused:
    return Refused(
        ErrorCode.MESSAGE_TOO_LARGE, f"{codec.name.lower()} data unpacks to more than {limit} bytes"
    )


def _corrupt(codec: Codec, detail: str) -> Refused:
    return Refused(ErrorCode.CORRUPT_MESSAGE, f"{codec.name.lower()} data: {detail}")
