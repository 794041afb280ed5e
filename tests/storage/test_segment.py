"""One file of batches, against a list of the same batches."""

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.helpers import NOW, make_batch, sim_disk

from millstream.records.batch import Batch
from millstream.records.compression import Codec
from millstream.sim.disk import SimDisk
from millstream.storage import checkpoint
from millstream.storage.cursor import Corrupt
from millstream.storage.segment import INDEX, LOG, TIME_INDEX, Segment

BASE = 1000


@dataclass
class Drawn:
    """Batches to put in a segment: timestamps of the records, size of each, gap before it."""

    times: list[int]
    size: int
    gap: int
    codec: Codec


BATCHES = st.lists(
    st.builds(
        Drawn,
        times=st.lists(st.integers(0, 30), min_size=1, max_size=4),
        size=st.integers(0, 300),
        gap=st.sampled_from([0, 0, 0, 2]),
        codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
    ),
    max_size=25,
)
INTERVALS = st.sampled_from([0, 100, 400, 4096])


def filled(disk: SimDisk, drawn: list[Drawn], interval: int) -> tuple[Segment, list[Batch]]:
    disk.make_dir("t-0")
    segment = Segment(disk, "t-0", BASE, interval, NOW)
    segment.create()
    batches = []
    for each in drawn:
        values = [b"v" * each.size] * len(each.times)
        offset = segment.next_offset + each.gap
        batch = make_batch(offset, values, times=each.times, codec=each.codec)
        segment.append(batch)
        batches.append(batch)
    return segment, batches


def reopened(disk: SimDisk, segment: Segment, *, beside: bool) -> Segment:
    """*segment* as a later life sees it, with or without index files."""
    if beside:
        offsets, times = segment.index_bytes(closing=True)
        checkpoint.write_loosely(disk, segment.path(INDEX), offsets)
        checkpoint.write_loosely(disk, segment.path(TIME_INDEX), times)
    again = Segment(disk, "t-0", BASE, 100, NOW)
    again.trust(segment.next_offset, segment.size_bytes, None, None)
    return again


@settings(deadline=None)
@given(drawn=BATCHES, interval=INTERVALS, life=st.integers(0, 2), data=st.data())
def test_reads_as_a_search_through_all_would(
    drawn: list[Drawn], interval: int, life: int, data: st.DataObject
) -> None:
    disk = sim_disk()
    segment, batches = filled(disk, drawn, interval)
    if life:
        segment = reopened(disk, segment, beside=life == 1)
    for _ in range(6):
        offset = data.draw(st.integers(BASE - 2, segment.next_offset + 2))
        end_offset = data.draw(st.integers(BASE - 2, segment.next_offset + 2))
        max_bytes = data.draw(st.integers(0, 2000))
        found = segment.read(offset, max_bytes, end_offset)

        expected: list[Batch] = []
        for batch in batches:
            if batch.last_offset >= offset and batch.last_offset < end_offset:
                if expected and sum(each.size for each in expected) + batch.size > max_bytes:
                    break
                expected.append(batch)
        assert (found.read() if found else b"") == b"".join(bytes(each.data) for each in expected)


@settings(deadline=None)
@given(drawn=BATCHES, interval=INTERVALS, life=st.integers(0, 2), data=st.data())
def test_finds_times_as_a_search_through_all_would(
    drawn: list[Drawn], interval: int, life: int, data: st.DataObject
) -> None:
    disk = sim_disk()
    segment, batches = filled(disk, drawn, interval)
    if life:
        segment = reopened(disk, segment, beside=life == 1)
    records = [
        (batch.base_offset + delta, timestamp)
        for batch, each in zip(batches, drawn, strict=True)
        for delta, timestamp in enumerate(each.times)
    ]
    for _ in range(6):
        start = data.draw(st.integers(BASE, segment.next_offset + 1))
        end_offset = data.draw(st.integers(BASE, segment.next_offset + 1))
        timestamp = data.draw(st.integers(0, 32))
        there = [(offset, time) for offset, time in records if start <= offset < end_offset]

        found = segment.find_time(timestamp, start, end_offset)
        expected = [each for each in there if each[1] >= timestamp]
        assert (found and (found.offset, found.timestamp_ms)) == (expected[0] if expected else None)

        found = segment.find_max_time(start, end_offset)
        highest = max([time for _, time in there], default=-1)
        expected = [each for each in there if each[1] == highest]
        assert (found and (found.offset, found.timestamp_ms)) == (expected[0] if expected else None)


@given(drawn=BATCHES, garbage=st.binary(max_size=40), which=st.sampled_from([INDEX, TIME_INDEX]))
def test_garbage_for_an_index_is_never_believed(drawn: list[Drawn], garbage: bytes, which: str) -> None:
    disk = sim_disk()
    segment, batches = filled(disk, drawn, 100)
    again = reopened(disk, segment, beside=True)
    if which == TIME_INDEX and len(garbage) % 12 == 0:
        garbage += b"!"  # what has the right shape passes, as in Kafka: it was synced before it was relied on
    checkpoint.write_loosely(disk, segment.path(which), garbage)

    for batch in batches:
        found = again.read(batch.last_offset, 0, again.next_offset)
        assert found is not None
        assert found.read() == bytes(batch.data)
    if batches:
        assert again.newest[0] == max(batch.max_timestamp_ms for batch in batches)


@pytest.mark.parametrize(("offset", "position"), [(9, 4), (2, 8)])
def test_an_entry_that_points_at_another_batch_is_noticed(offset: int, position: int) -> None:
    disk = sim_disk()
    segment, batches = filled(disk, [Drawn([1], 100, 0, Codec.NONE)] * 12, 100)
    again = reopened(disk, segment, beside=True)
    wrong = offset.to_bytes(4, "big") + (batches[0].size * position).to_bytes(4, "big")
    checkpoint.write_loosely(disk, segment.path(INDEX), wrong)

    for number in (3, 10):
        found = again.read(BASE + number, 0, again.next_offset)
        assert found is not None
        assert found.read() == bytes(batches[number].data)


def test_a_flipped_bit_is_found_when_it_is_read_and_not_before() -> None:
    disk = sim_disk()
    segment, batches = filled(disk, [Drawn([1], 100, 0, Codec.NONE)] * 10, 100)
    again = reopened(disk, segment, beside=True)
    disk.flip(segment.path(LOG), batches[0].size * 7 + 80, 4)

    first = again.read(BASE, batches[0].size * 7, again.next_offset)
    assert first is not None
    assert first.size == batches[0].size * 7
    with pytest.raises(Corrupt, match="checksum"):
        again.read(BASE + 5, 10_000, again.next_offset)


def test_what_this_process_wrote_is_not_checked_again() -> None:
    disk = sim_disk()
    segment, batches = filled(disk, [Drawn([1], 100, 0, Codec.NONE)] * 4, 100)
    disk.flip(segment.path(LOG), 80, 4)

    assert segment.read(BASE, 10_000, segment.next_offset) is not None
    assert len(batches) == 4


def test_what_was_checked_once_is_not_checked_again() -> None:
    disk = sim_disk()
    segment, _ = filled(disk, [Drawn([1], 100, 0, Codec.NONE)] * 4, 100)
    again = reopened(disk, segment, beside=True)
    again.read(BASE, 10_000, again.next_offset)
    disk.flip(segment.path(LOG), 80, 4)

    assert again.read(BASE, 10_000, again.next_offset) is not None


@pytest.mark.parametrize("size", [0, 50, 2000])
def test_a_file_of_another_size_is_corrupt(size: int) -> None:
    disk = sim_disk()
    segment, _ = filled(disk, [Drawn([1], 100, 0, Codec.NONE)] * 4, 100)
    again = reopened(disk, segment, beside=True)
    disk.open(segment.path(LOG)).truncate(size)

    with pytest.raises(Corrupt, match="should be"):
        again.read(BASE, 10_000, again.next_offset)


def test_a_missing_file_is_corrupt() -> None:
    disk = sim_disk()
    segment, _ = filled(disk, [Drawn([1], 100, 0, Codec.NONE)] * 4, 100)
    again = reopened(disk, segment, beside=True)
    disk.remove(segment.path(LOG))

    with pytest.raises(Corrupt, match="no file"):
        again.read(BASE, 10_000, again.next_offset)


def test_a_batch_whose_records_cannot_be_read_has_no_time_to_find() -> None:
    disk = sim_disk()
    disk.make_dir("t-0")
    segment = Segment(disk, "t-0", 0, 100, NOW)
    segment.create()
    bad = make_batch(0, [b"v" * 50], times=[900])
    bad.data[61:65] = bytes(4)  # the header is fine, what it holds is not; some client sent it so
    segment.append(bad)
    segment.append(make_batch(1, times=[800]))

    found = segment.find_time(700, 0, 2)
    assert found is not None
    assert found.offset == 1
    newest = segment.find_max_time(0, 2)
    assert newest is not None
    assert newest.offset == 1


@given(drawn=BATCHES, seed=st.integers(0, 1000))
def test_truncates_to_the_start_of_a_batch(drawn: list[Drawn], seed: int) -> None:
    disk = sim_disk()
    segment, batches = filled(disk, drawn, 100)
    if not batches:
        return
    cut = Random(seed).randrange(len(batches))
    segment.truncate(batches[cut].last_offset)

    left = batches[:cut]
    assert segment.next_offset == (left[-1].last_offset + 1 if left else BASE)
    assert segment.size_bytes == sum(batch.size for batch in left)
    found = segment.read(BASE, 1 << 20, segment.next_offset)
    assert (found.read() if found else b"") == b"".join(bytes(each.data) for each in left)
    assert segment.newest[0] == max([batch.max_timestamp_ms for batch in left], default=-1)
