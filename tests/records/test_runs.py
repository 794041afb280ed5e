"""Runs of batches out of frames: plain and native make the same of whatever comes."""

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.records.batch import split
from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.records.crc import crc32c
from millstream.records.runs import NATIVE, Alike, Joiner, Limits, Place, Run

needs_native = pytest.mark.skipif(NATIVE is None, reason="the native part was not built: no C compiler?")
WAYS = [pytest.param(True, id="plain"), pytest.param(False, id="native", marks=needs_native)]
NOW_MS = 1_700_000_000_000
CALL = b"\0\0\0\x09"
BEFORE = b"client and topic"
REPLY = struct.pack(">ii", 30, 0) + b"before" + bytes(8) + b"behind"


def alike(compact: bool) -> Alike:
    return Alike(CALL, BEFORE, compact, 3 if compact else 0, REPLY, 14)


def place(**changes: int) -> Place:
    limits = {
        "leader_epoch": 3,
        "end_offset": 1 << 31,
        "end_position": 1 << 20,
        "max_batch_bytes": 1 << 20,
        "interval": 100,
    }
    return Place(
        Limits(**(limits | changes)),
        base_offset=70,
        position=5000,
        indexed_at=4096,
        newest_ms=NOW_MS - 5,
        now_ms=NOW_MS,
        latest_ms=NOW_MS + 1000,
    )


def frame(batch: bytes, number: int, compact: bool = False, before: bytes = BEFORE) -> bytes:
    if compact:
        size, length = len(batch) + 1, b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        inside = length + bytes([size]) + batch + bytes(3)
    else:
        inside = struct.pack(">i", len(batch)) + batch
    body = CALL + struct.pack(">i", number) + before + inside
    return struct.pack(">i", len(body)) + body


def a_batch(
    count: int = 1, *, now_ms: int = NOW_MS, codec: Codec = Codec.NONE, producer_id: int = -1
) -> bytes:
    counts = producer_id >= 0
    return bytes(
        build(
            [NewRecord(b"key", bytes([each]) * 40) for each in range(count)],
            now_ms=now_ms,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0 if counts else -1,
            base_sequence=0 if counts else -1,
        )
    )


def joined(
    data: bytes, plain: bool, *, compact: bool = False, at: Place | None = None, most: int = 1000
) -> tuple[int, Run | None]:
    joiner = Joiner(1 << 16, plain=plain)
    return joiner.join(memoryview(data), 0, len(data), alike(compact), at or place(), most)


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("compact", [False, True])
def test_batches_come_stamped_one_behind_the_other(plain: bool, compact: bool) -> None:
    sent = [a_batch(1), a_batch(30), a_batch(2, codec=Codec.LZ4)]
    data = b"".join(frame(batch, 100 + number, compact) for number, batch in enumerate(sent))

    stop, run = joined(data, plain, compact=compact)

    assert run is not None
    assert stop == len(data)
    batches = list(split(run.data))
    assert [(each.base_offset, each.leader_epoch) for each in batches] == [(70, 3), (71, 3), (101, 3)]
    for each in batches:
        each.check()
    assert (run.batches, run.base_offset, run.end_offset) == (3, 70, 103)


@pytest.mark.parametrize("plain", WAYS)
def test_each_gets_the_reply_to_its_own_request(plain: bool) -> None:
    _, run = joined(frame(a_batch(5), 1001) + frame(a_batch(), 1002), plain)

    assert run is not None
    one = struct.pack(">ii", 30, 1001) + b"before" + struct.pack(">q", 70) + b"behind"
    other = struct.pack(">ii", 30, 1002) + b"before" + struct.pack(">q", 75) + b"behind"
    assert run.replies == one + other


@pytest.mark.parametrize("plain", WAYS)
def test_the_index_is_told_of_a_batch_every_interval(plain: bool) -> None:
    old, new = a_batch(now_ms=NOW_MS - 9), a_batch()
    size = len(old)

    _, run = joined(b"".join(frame(each, 0) for each in (old, old, new, new)), plain, at=place(interval=size))

    assert run is not None
    assert run.notes == [(70, 5000, NOW_MS - 5, -1), (72, 5000 + 2 * size, NOW_MS, 72)]
    assert run.newest == (NOW_MS, 72)


OTHER: dict[str, Callable[[], bytes]] = {
    "another call": lambda: frame(a_batch(), 1).replace(CALL, b"\0\1\0\x09"),
    "another topic": lambda: frame(a_batch(), 1, before=b"client and t0pic"),
    "a wrong checksum": lambda: frame(a_batch()[:-1] + b"!", 1),
    "a producer that counts": lambda: frame(a_batch(producer_id=7), 1),
    "a time too late": lambda: frame(a_batch(now_ms=NOW_MS + 1001), 1),
    "an old format": lambda: frame(a_batch()[:16] + b"\1" + a_batch()[17:], 1),
    "a batch cut short": lambda: frame(a_batch()[:-1], 1),
    "two batches": lambda: frame(a_batch() + a_batch(), 1),
    "no batch": lambda: frame(b"", 1),
    "half a frame": lambda: frame(a_batch(), 1)[:-1],
    "half a length": lambda: b"\0\0",
    "a length below zero": lambda: b"\xff" * 200,
    "a batch too large": lambda: frame(a_batch(60), 1),
}


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("what", OTHER)
def test_what_is_out_of_the_ordinary_ends_the_run(plain: bool, what: str) -> None:
    good = frame(a_batch(), 1)

    behind = b"" if what.startswith("half") else good
    stop, run = joined(good + good + OTHER[what]() + behind, plain, at=place(max_batch_bytes=2000))

    assert run is not None
    assert (stop, run.batches) == (2 * len(good), 2)


@pytest.mark.parametrize("plain", WAYS)
def test_a_run_ends_where_its_place_does(plain: bool) -> None:
    batch = a_batch(10)
    data = frame(batch, 1) * 5

    by_bytes = joined(data, plain, at=place(end_position=5000 + 3 * len(batch) + 1))[1]
    by_offsets = joined(data, plain, at=place(end_offset=99))[1]
    by_number = joined(data, plain, most=4)[1]
    none = joined(data, plain, most=0)[1]

    assert by_bytes is not None
    assert by_offsets is not None
    assert by_number is not None
    assert (by_bytes.batches, by_offsets.batches, by_number.batches, none) == (3, 2, 4, None)


@needs_native
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.booleans(),
    st.integers(0, 1 << 12),
    st.integers(0, 255),
    st.booleans(),
)
def test_both_ways_make_the_same_of_damaged_frames(
    counts: list[int], compact: bool, position: int, byte: int, mend: bool
) -> None:
    """One byte is changed anywhere; with *mend*, checksums are made right again, so that all else counts."""
    data = bytearray(b"".join(frame(a_batch(count), number, compact) for number, count in enumerate(counts)))
    position %= len(data)
    data[position] = byte
    if mend:
        _mend(data, counts, compact)

    plain, native = joined(bytes(data), True, compact=compact), joined(bytes(data), False, compact=compact)

    assert plain[0] == native[0]
    assert (plain[1] is None) == (native[1] is None)
    if plain[1] is not None and native[1] is not None:
        for name in Run.__slots__:
            assert getattr(plain[1], name) == getattr(native[1], name), name


def _mend(data: bytearray, counts: list[int], compact: bool) -> None:
    start = 0
    for count in counts:
        size = len(a_batch(count))
        whole = len(frame(a_batch(count), 0, compact))
        at = start + whole - size - (3 if compact else 0)
        struct.pack_into(">I", data, at + 17, crc32c(bytes(data[at + 21 : at + size])))
        start += whole
