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
from millstream.records.runs import NATIVE, NOBODY, Alike, Joiner, Limits, Place, Run, Sender

needs_native = pytest.mark.skipif(NATIVE is None, reason="the native part was not built: no C compiler?")
WAYS = [pytest.param(True, id="plain"), pytest.param(False, id="native", marks=needs_native)]
NOW_MS = 1_700_000_000_000
CALL = b"\0\0\0\x09"
BEFORE = b"client and topic"
INDEX = 5
START = 40
REPLY = struct.pack(">ii", 44, 0) + bytes(4) + b"before" + bytes(8) + b"behind" + bytes(8)


def alike(compact: bool) -> Alike:
    return Alike(CALL, BEFORE, compact, 3 if compact else 0, REPLY, 8, 18, 32)


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


def reply(number: int, offset: int) -> bytes:
    told = struct.pack(">iii", 44, number, INDEX) + b"before" + struct.pack(">q", offset) + b"behind"
    return told + struct.pack(">q", START)


def frame(
    batch: bytes, number: int, compact: bool = False, before: bytes = BEFORE, index: int = INDEX
) -> bytes:
    if compact:
        size, length = len(batch) + 1, b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        inside = length + bytes([size]) + batch + bytes(3)
    else:
        inside = struct.pack(">i", len(batch)) + batch
    body = CALL + struct.pack(">i", number) + before + struct.pack(">i", index) + inside
    return struct.pack(">i", len(body)) + body


def a_batch(
    count: int = 1,
    *,
    now_ms: int = NOW_MS,
    codec: Codec = Codec.NONE,
    sender: Sender = NOBODY,
    size: int = 40,
) -> bytes:
    return bytes(
        build(
            [NewRecord(b"key", bytes([each]) * size) for each in range(count)],
            now_ms=now_ms,
            codec=codec,
            producer_id=sender.producer_id,
            producer_epoch=sender.epoch,
            base_sequence=sender.sequence,
        )
    )


def joined(
    data: bytes | bytearray,
    plain: bool,
    *,
    compact: bool = False,
    at: Place | None = None,
    most: int = 1000,
    sender: Sender = NOBODY,
) -> tuple[int, Run | None]:
    frames = (alike(compact), memoryview(data), 0, len(data), most)
    run = Joiner(1 << 16, plain=plain).join(frames, INDEX, START, at or place(), sender)
    return (0, None) if run is None else (run.stop, run)


def written(run: Run | None) -> bytes:
    assert run is not None
    data = b"".join(run.parts)
    assert len(data) == run.size
    return data


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("compact", [False, True])
def test_batches_come_stamped_one_behind_the_other(plain: bool, compact: bool) -> None:
    sent = [a_batch(1), a_batch(30), a_batch(2, codec=Codec.LZ4)]
    data = b"".join(frame(batch, 100 + number, compact) for number, batch in enumerate(sent))

    stop, run = joined(data, plain, compact=compact)

    assert run is not None
    assert stop == len(data)
    batches = list(split(bytearray(written(run))))
    assert [(each.base_offset, each.leader_epoch) for each in batches] == [(70, 3), (71, 3), (101, 3)]
    for each in batches:
        each.check()
    assert (run.batches, run.base_offset, run.end_offset) == (3, 70, 103)


@pytest.mark.parametrize("plain", WAYS)
def test_each_gets_the_reply_to_its_own_request(plain: bool) -> None:
    _, run = joined(frame(a_batch(5), 1001) + frame(a_batch(), 1002), plain)

    assert run is not None
    assert run.replies == reply(1001, 70) + reply(1002, 75)


@pytest.mark.parametrize("plain", WAYS)
def test_the_index_is_told_of_a_batch_every_interval(plain: bool) -> None:
    old, new = a_batch(now_ms=NOW_MS - 9), a_batch()
    size = len(old)

    _, run = joined(b"".join(frame(each, 0) for each in (old, old, new, new)), plain, at=place(interval=size))

    assert run is not None
    assert run.notes == [(70, 5000, NOW_MS - 5, -1), (72, 5000 + 2 * size, NOW_MS, 72)]
    assert run.newest == (NOW_MS, 72)


PRODUCER = Sender(7, 2, 100)


@pytest.mark.parametrize("plain", WAYS)
def test_a_producer_that_counts_is_followed(plain: bool) -> None:
    counts = [3, 1, 2, 5, 1, 4, 1]
    frames, sequence = b"", PRODUCER.sequence
    for count in counts:
        frames += frame(a_batch(count, sender=PRODUCER._replace(sequence=sequence)), 1)
        sequence += count

    _, run = joined(frames, plain, sender=PRODUCER)

    assert run is not None
    assert (run.batches, run.end_offset, run.sender) == (7, 70 + sum(counts), PRODUCER)
    assert list(run.lasts) == [74, 76, 81, 82, 86]


@pytest.mark.parametrize("plain", WAYS)
def test_after_the_last_sequence_comes_the_first(plain: bool) -> None:
    near = PRODUCER._replace(sequence=(1 << 31) - 2)
    frames = b"".join(
        frame(a_batch(count, sender=near._replace(sequence=sequence)), 1)
        for count, sequence in ((1, near.sequence), (3, (1 << 31) - 1), (2, 2), (1, 5))
    )

    _, run = joined(frames, plain, sender=near)

    assert run is not None
    assert run.batches == 3
    assert list(run.lasts) == [70, 71, 74]


OUT_OF_ORDER = {
    "nobody": NOBODY,
    "another producer": PRODUCER._replace(producer_id=8, sequence=101),
    "another epoch": PRODUCER._replace(epoch=3, sequence=101),
    "sent before": PRODUCER,
    "one left out": PRODUCER._replace(sequence=102),
}


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("what", OUT_OF_ORDER)
def test_a_producer_out_of_order_ends_the_run(plain: bool, what: str) -> None:
    first = frame(a_batch(sender=PRODUCER), 1)

    stop, run = joined(first + frame(a_batch(sender=OUT_OF_ORDER[what]), 1), plain, sender=PRODUCER)

    assert run is not None
    assert (stop, run.batches, list(run.lasts)) == (len(first), 1, [70])


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("size", [40_000, 100_000])
def test_what_was_received_stays_as_it_was_and_large_batches_where_they_are(plain: bool, size: int) -> None:
    data = bytearray(frame(a_batch(size=size), 1) + frame(a_batch(size=size), 2))
    before = bytes(data)

    stop, run = joined(data, plain)

    assert data == before
    assert run is not None
    first = next(split(bytearray(written(run))))
    first.check()
    assert (first.base_offset, first.leader_epoch) == (70, 3)
    if size > 50_000 and not plain:
        assert (stop, run.batches) == (len(data) // 2, 1)
        rest = run.parts[1]
        assert isinstance(rest, memoryview)
        assert rest.obj is data


OTHER: dict[str, Callable[[], bytes]] = {
    "another call": lambda: frame(a_batch(), 1).replace(CALL, b"\0\1\0\x09"),
    "another topic": lambda: frame(a_batch(), 1, before=b"client and t0pic"),
    "another partition": lambda: frame(a_batch(), 1, index=INDEX + 1),
    "a wrong checksum": lambda: frame(a_batch()[:-1] + b"!", 1),
    "a producer that counts": lambda: frame(a_batch(sender=PRODUCER), 1),
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
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("size", [-(1 << 31), -1, 0, 8, 60])
def test_a_frame_that_no_batch_has_room_in_ends_the_run(plain: bool, compact: bool, size: int) -> None:
    first = frame(a_batch(), 1, compact)

    stop, _ = joined(first + struct.pack(">i", size) + bytes(200), plain, compact=compact)

    assert stop == len(first)


@pytest.mark.parametrize("plain", WAYS)
@pytest.mark.parametrize("compact", [False, True])
def test_batches_of_all_lengths_are_known_by_that_of_their_frame(plain: bool, compact: bool) -> None:
    sizes = [*range(1, 120), *range(16_250, 16_400)]  # the length of these takes one byte, two, three
    data = b"".join(frame(a_batch(size=size), number, compact) for number, size in enumerate(sizes))

    while data:
        stop, _ = joined(data, plain, compact=compact, at=place(end_position=1 << 30))
        assert stop > 0
        data = data[stop:]


@needs_native
def test_checksums_of_every_length_are_right() -> None:
    """Up to where all of it is folded, and what is left behind that: a wrong byte anywhere is noticed."""
    for size in [*range(1200), *range(4000, 4600, 7)]:
        good = frame(a_batch(size=size), 1)
        assert joined(good, plain=False)[0] == len(good), size
        bad = bytearray(good)
        bad[-1 - size // 2] ^= 1
        assert joined(bad, plain=False)[0] == 0, size


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
    st.sampled_from([NOBODY, PRODUCER, Sender(7, 2, (1 << 31) - 3)]),
)
def test_both_ways_make_the_same_of_damaged_frames(
    counts: list[int], compact: bool, position: int, byte: int, mend: bool, sender: Sender
) -> None:
    """One byte is changed anywhere; with *mend*, checksums are made right again, so that all else counts."""
    sent, sequence = [], sender.sequence
    for count in counts:
        sent.append(a_batch(count, sender=sender._replace(sequence=sequence)))
        sequence = sequence if sender is NOBODY else (sequence + count) & 0x7FFFFFFF
    data = bytearray(b"".join(frame(batch, number, compact) for number, batch in enumerate(sent)))
    position %= len(data)
    data[position] = byte
    if mend:
        _mend(data, sent, compact)

    plain, native = (joined(bytes(data), way, compact=compact, sender=sender) for way in (True, False))

    assert plain[0] == native[0]
    assert (plain[1] is None) == (native[1] is None)
    if plain[1] is not None and native[1] is not None:
        assert written(plain[1]) == written(native[1])
        assert list(plain[1].lasts) == list(native[1].lasts)
        for name in set(Run.__slots__) - {"parts", "lasts"}:
            assert getattr(plain[1], name) == getattr(native[1], name), name


def _mend(data: bytearray, sent: list[bytes], compact: bool) -> None:
    start = 0
    for batch in sent:
        size = len(batch)
        whole = len(frame(batch, 0, compact))
        at = start + whole - size - (3 if compact else 0)
        struct.pack_into(">I", data, at + 17, crc32c(bytes(data[at + 21 : at + size])))
        start += whole
