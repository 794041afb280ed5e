"""Record batches that must not be written: refused by name, and nothing appended (list 7 and the bombs)."""

import gzip
import struct
import time
from collections.abc import Callable

import psutil
import pytest
import zstandard
from tests.abuse.raw import Raw, batch, create, produced
from tests.support.server import Server

from millstream.errors import ErrorCode
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec, compress
from millstream.records.crc import crc32c
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestConfig,
    CreateTopicsRequestTopic,
)
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
)

pytestmark = pytest.mark.system


def end_offset(raw: Raw, topic: str) -> int:
    partition = ListOffsetsRequestPartition(0, -1, -1)
    response = raw.ask(ListOffsetsRequest(-1, topics=[ListOffsetsRequestTopic(topic, [partition])]), 5)
    assert isinstance(response, ListOffsetsResponse)
    return response.topics[0].partitions[0].offset


def patched(format: str, at: int, value: int, *, seal: bool = True) -> Callable[[], bytearray]:
    def make() -> bytearray:
        data = batch()
        struct.pack_into(format, data, at, value)
        if seal:
            struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
        return data

    return make


BAD = {
    "crc": (patched(">I", 17, 12345, seal=False), ErrorCode.CORRUPT_MESSAGE),
    "count above last delta": (patched(">i", 57, 2), ErrorCode.INVALID_RECORD),
    "count of zero": (patched(">i", 57, 0), ErrorCode.INVALID_RECORD),
    "negative count": (patched(">i", 57, -1), ErrorCode.INVALID_RECORD),
    "last delta above count": (patched(">i", 23, 5), ErrorCode.INVALID_RECORD),
    "magic 1": (patched(">b", 16, 1), ErrorCode.INVALID_RECORD),
    "magic 3": (patched(">b", 16, 3), ErrorCode.INVALID_RECORD),
    "sequence below -1": (patched(">i", 53, -2), ErrorCode.INVALID_RECORD),
    "producer without sequence": (patched(">q", 43, 5), ErrorCode.INVALID_RECORD),
    "control batch": (patched(">h", 21, 0x20), ErrorCode.INVALID_RECORD),
    "transactional, with no transaction": (patched(">h", 21, 0x10), ErrorCode.INVALID_TXN_STATE),
    "append time set by a client": (patched(">h", 21, 0x08), ErrorCode.INVALID_TIMESTAMP),
    "unknown codec": (patched(">h", 21, 0x07), ErrorCode.INVALID_RECORD),
    "length too small": (patched(">i", 8, 10), ErrorCode.CORRUPT_MESSAGE),
    "length too large": (patched(">i", 8, 1 << 20), ErrorCode.CORRUPT_MESSAGE),
    "negative length": (patched(">i", 8, -1), ErrorCode.CORRUPT_MESSAGE),
    "header only": (lambda: batch()[:61], ErrorCode.CORRUPT_MESSAGE),
    "half a header": (lambda: batch()[:30], ErrorCode.CORRUPT_MESSAGE),
    "nothing": (lambda: bytearray(), ErrorCode.INVALID_RECORD),
    "two batches": (lambda: batch() + batch(), ErrorCode.INVALID_RECORD),
    "far in the future": (
        lambda: build([NewRecord(b"k", b"v")], now_ms=int(time.time() * 1000) + 7_200_000),
        ErrorCode.INVALID_TIMESTAMP,
    ),
    "larger than max.message.bytes": (lambda: batch(b"x" * 1_100_000), ErrorCode.MESSAGE_TOO_LARGE),
}


@pytest.mark.parametrize("name", BAD)
def test_7_a_bad_batch_is_refused_and_nothing_is_appended(server: Server, name: str) -> None:
    make, code = BAD[name]
    topic = "bad-" + "".join(char if char.isalnum() else "-" for char in name)
    with Raw(server.port) as raw:
        create(raw, topic)
        assert produced(raw, topic, batch()) == (ErrorCode.NONE, 0)
        error, offset = produced(raw, topic, make())
        assert (ErrorCode(error), offset) == (code, -1)
        assert end_offset(raw, topic) == 1
        assert produced(raw, topic, batch()) == (ErrorCode.NONE, 1)


def bomb(codec: Codec) -> bytearray:
    """A small batch whose records claim to be half a gigabyte of nothing."""
    if codec is Codec.GZIP:
        packed = gzip.compress(bytes(512 << 20), compresslevel=1)
    elif codec is Codec.ZSTD:
        packed = zstandard.ZstdCompressor(level=1).compress(bytes(512 << 20))
    elif codec is Codec.SNAPPY:
        packed = b"\xff\xff\xff\xff\x0f" + b"\x00" * 100  # says 4 GB
    else:
        packed = compress(codec, bytes(200 << 20))
    data = batch()[:61] + packed
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">h", data, 21, codec)
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_is_refused_where_records_must_be_looked_at(server: Server, codec: Codec) -> None:
    topic = f"compacted-{codec.name}"
    configs = [
        CreateTopicsRequestConfig("cleanup.policy", "compact"),
        CreateTopicsRequestConfig("max.message.bytes", "4000000"),
    ]
    with Raw(server.port) as raw:
        raw.ask(CreateTopicsRequest([CreateTopicsRequestTopic(topic, 1, 1, configs=configs)]), 4)
        data = bomb(codec)
        peak_before = psutil.Process(server.process.pid).memory_info().rss
        error, offset = produced(raw, topic, data)
        assert ErrorCode(error) in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE)
        assert offset == -1
        assert psutil.Process(server.process.pid).memory_info().rss - peak_before < 150 << 20
        assert produced(raw, topic, batch()) == (ErrorCode.NONE, 0)
