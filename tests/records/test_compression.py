import contextlib
import gzip
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ErrorCode, Refused
from millstream.records.compression import Codec, bounded_decompress, compress, unpack_limit

MIB = 1 << 20
PACKED = [codec for codec in Codec if codec]

payloads = st.binary(max_size=2000) | st.builds(
    lambda pattern, times: pattern * times, st.binary(min_size=1, max_size=40), st.integers(0, 5000)
)


def refused(codec: Codec, data: bytes, limit: int) -> ErrorCode:
    with pytest.raises(Refused) as refusal:
        bounded_decompress(codec, data, limit)
    return refusal.value.code


@pytest.mark.parametrize("codec", Codec)
@given(payload=payloads, spare=st.integers(0, 10))
def test_unpacks_up_to_the_limit_and_not_a_byte_more(codec: Codec, payload: bytes, spare: int) -> None:
    packed = compress(codec, payload)

    assert bounded_decompress(codec, packed, len(payload) + spare) == payload
    if payload:
        assert refused(codec, packed, len(payload) - 1) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", Codec)
def test_takes_views_of_a_larger_buffer(codec: Codec) -> None:
    packed = memoryview(bytearray(b"<<" + compress(codec, b"abc" * 1000) + b">>"))[2:-2]

    assert bounded_decompress(codec, packed, 3000) == b"abc" * 1000
    assert bounded_decompress(codec, compress(codec, packed), MIB) == packed


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.data())
def test_nothing_but_a_refusal_comes_of_damage(codec: Codec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, data.draw(payloads)))
    at = data.draw(st.integers(0, len(packed) - 1))
    new = data.draw(st.binary(min_size=1, max_size=4))
    packed[at : at + len(new)] = new

    with contextlib.suppress(Refused):
        assert len(bounded_decompress(codec, packed, 1000)) <= 1000


@pytest.mark.parametrize("codec", PACKED)
def test_a_stream_cut_short_is_corrupt_wherever_the_cut(codec: Codec) -> None:
    packed = compress(codec, b"some words, " * 20)
    # snappy-java's framing has no end mark: with no chunk or only whole ones it looks complete.
    whole = {16} if codec is Codec.SNAPPY else set()

    for size in set(range(len(packed))) - whole:
        assert refused(codec, packed[:size], MIB) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_streams_one_after_another_are_one(codec: Codec) -> None:
    parts = [b"one" * 100, b"", b"two", bytes(100_000)]
    run = b"".join(compress(codec, part) for part in parts)

    assert bounded_decompress(codec, run, MIB) == b"".join(parts)
    assert refused(codec, run, len(b"".join(parts)) - 1) is ErrorCode.MESSAGE_TOO_LARGE
    assert refused(codec, run + b"junk", MIB) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_flood_of_empty_streams_is_corrupt(codec: Codec) -> None:
    assert refused(codec, compress(codec, b"") * 20_000, MIB) is ErrorCode.CORRUPT_MESSAGE


def _lz4(data: bytes, **options: object) -> bytes:
    return bytes(lz4.frame.compress(data, **options))


def _zstd(data: bytes, **options: Any) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(data)


FORMS: dict[str, tuple[Codec, Callable[[bytes], bytes]]] = {
    "gzip": (Codec.GZIP, gzip.compress),
    "gzip fast": (Codec.GZIP, partial(gzip.compress, compresslevel=1)),
    "snappy raw": (Codec.SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "lz4 checked": (Codec.LZ4, partial(_lz4, content_checksum=True, block_checksum=True)),
    "lz4 large blocks": (Codec.LZ4, partial(_lz4, block_size=lz4.frame.BLOCKSIZE_MAX4MB, store_size=False)),
    "zstd unsized": (Codec.ZSTD, partial(_zstd, write_content_size=False)),
    "zstd checked": (Codec.ZSTD, partial(_zstd, write_checksum=True)),
    "zstd hard": (Codec.ZSTD, partial(_zstd, level=19)),
}


@pytest.mark.parametrize("form", FORMS)
def test_reads_what_clients_make_of_each_format(form: str) -> None:
    codec, pack = FORMS[form]
    for payload in (b"", b"x", b"some words, " * 1000, bytes(300_000)):
        assert bounded_decompress(codec, pack(payload), len(payload)) == payload


def test_writes_what_java_can_read() -> None:
    """Its LZ4 reader takes independent blocks only; its snappy reader wants its own framing."""
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, bytes(300_000)))
    assert not info["block_linked"]

    snappy = compress(Codec.SNAPPY, bytes(40_000))
    assert snappy[:16] == b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
    (first,) = struct.unpack_from(">i", snappy, 16)
    assert cramjam.snappy.decompress_raw_len(snappy[20 : 20 + first]) == 32 * 1024


def test_a_snappy_length_is_not_believed() -> None:
    four_gigabytes = b"\xff\xff\xff\xff\x0f" + b"\0a" * 10
    assert refused(Codec.SNAPPY, four_gigabytes, 64 * MIB) is ErrorCode.MESSAGE_TOO_LARGE

    allowed_but_impossible = b"\x80\x80\x80\x10" + b"\0a" * 10
    with pytest.raises(Refused, match="33554432 bytes claimed in 24"):
        bounded_decompress(Codec.SNAPPY, allowed_but_impossible, 64 * MIB)

    for size in (-1, 0, 2**31 - 1, 30):
        chunk = compress(Codec.SNAPPY, b"")[:16] + struct.pack(">i", size) + b"\0" * 20
        assert refused(Codec.SNAPPY, chunk, 64 * MIB) is ErrorCode.CORRUPT_MESSAGE


def test_a_zstd_window_may_not_take_the_memory_instead() -> None:
    packer = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    ).compressobj()
    packed = packer.compress(bytes(1000)) + packer.flush()

    assert refused(Codec.ZSTD, packed, 64 * MIB) is ErrorCode.CORRUPT_MESSAGE


def test_a_topic_may_unpack_twenty_times_its_message_size_up_to_a_bound() -> None:
    assert unpack_limit(MIB) == 20 * MIB
    assert unpack_limit(100 * MIB) == 64 * MIB


def _gzip_bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + again * (size // MIB - 1)


def _lz4_bomb(size: int) -> bytes:
    frame: bytes = lz4.frame.compress(
        bytes(4 * MIB), block_size=lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False, store_size=False
    )
    return frame[:7] + frame[7:-4] * (size // (4 * MIB)) + frame[-4:]


def _zstd_bomb(size: int) -> bytes:
    """A frame that says its size, then run-length blocks of 128 KiB in four bytes each."""
    blocks = size // (128 << 10)
    block = ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = ((128 << 10) << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    header = b"\x28\xb5\x2f\xfd" + b"\x80\x58" + size.to_bytes(4, "little")
    return header + block * (blocks - 1) + last


def _snappy_bomb(size: int) -> bytes:
    chunk = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
    return compress(Codec.SNAPPY, b"")[:16] + (struct.pack(">i", len(chunk)) + chunk) * (size // MIB)


BOMBS = {Codec.GZIP: _gzip_bomb, Codec.SNAPPY: _snappy_bomb, Codec.LZ4: _lz4_bomb, Codec.ZSTD: _zstd_bomb}

DEFUSE = """
import sys
from millstream.errors import Refused
from millstream.records.compression import Codec, bounded_decompress

def peak_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

codec, limit = Codec(int(sys.argv[1])), int(sys.argv[2])
bounded_decompress(codec, bytes.fromhex(sys.argv[3]), 1)  # the library itself is no part of what is measured
with open(sys.argv[4], "rb") as file:
    bomb = file.read()
before = peak_kib()
try:
    bounded_decompress(codec, bomb, limit)
except Refused as refusal:
    print(refusal.code.name, peak_kib() - before)
"""


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_of_half_a_gigabyte_takes_little_more_than_the_limit(codec: Codec, tmp_path: Path) -> None:
    small = BOMBS[codec](8 * MIB)
    if codec is not Codec.GZIP:  # whose trailer is left out: no bomb gets that far
        assert bounded_decompress(codec, small, 8 * MIB) == bytes(8 * MIB)
    (tmp_path / "bomb").write_bytes(BOMBS[codec](512 * MIB))
    arguments = [str(int(codec)), str(32 * MIB), compress(codec, b"x").hex(), str(tmp_path / "bomb")]

    done = subprocess.run(
        [sys.executable, "-c", DEFUSE, *arguments], check=True, capture_output=True, text=True, timeout=60
    )

    code, grown_kib = done.stdout.split()
    assert code == "MESSAGE_TOO_LARGE"
    assert int(grown_kib) << 10 < (32 + 16) * MIB
