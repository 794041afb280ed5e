"""Compaction against a list of all records, and against the power going at any moment."""

import contextlib
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.helpers import NOW, make_batch, open_log, open_store, sim_disk, sync

from millstream.env.disk import DiskFailed
from millstream.records.batch import Batch, split
from millstream.records.read import Record, read
from millstream.sim.disk import PowerCut, SimDisk
from millstream.storage import compaction as module
from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.producers import REMEMBERED, SNAPSHOT
from millstream.storage.segment import LOG, TIME_INDEX, file_name

DAY = 86_400_000
CONFIG = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=1024,
    index_interval_bytes=200,
    min_cleanable_dirty_ratio=0.0,
    file_delete_delay_ms=0,
)
Change = tuple[bytes, bytes | None]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c", b"d", b"e"]),
        st.none() | st.binary(min_size=0, max_size=120),
    ),
    min_size=1,
    max_size=4,
)


def write(log: Log, changes: list[Change], producer: int = -1, sequence: int = -1) -> list[Record]:
    """Append one batch of *changes*; return its records."""
    batch = make_batch(
        log.end_offset,
        [value for _, value in changes],
        keys=[key for key, _ in changes],
        producer=(producer, 0 if producer >= 0 else -1, sequence),
    )
    log.append(batch, NOW)
    return read(batch, max_bytes=1 << 20)


def compact(log: Log, now_ms: int = NOW, budget: int = 1 << 20) -> module.Compaction | None:
    sync(log)
    pass_ = log.compaction(now_ms, log.end_offset, budget)
    if pass_ is not None:
        pass_.run()
        log.compacted(pass_)
    return pass_


def batches(log: Log) -> list[Batch]:
    found: list[Batch] = []
    offset = log.start_offset
    while (piece := log.read(offset, 700, log.end_offset)) is not None:
        found += split(piece.read())
        offset = found[-1].last_offset + 1
    return found


def records(log: Log) -> list[Record]:
    found = []
    for batch in batches(log):
        batch.check(allow_empty=True)
        found += read(batch, max_bytes=1 << 20)
    return found


def check(log: Log, written: list[Record]) -> None:
    """*log* tells of every key what *written* tells, and keeps nothing that is not needed for it."""
    left = records(log)
    assert [each.offset for each in left] == sorted({each.offset for each in left})
    by_offset = {each.offset: each for each in written}
    assert all(by_offset[each.offset] == each for each in left)
    offsets = {each.offset for each in left}
    last_value = {each.key: each for each in written}
    for each in last_value.values():
        assert each.offset in offsets or each.value is None, each
    assert [each for each in left if each.offset >= log.cleaned_offset] == [
        each for each in written if each.offset >= log.cleaned_offset
    ]
    keys = [each.key for each in left if each.offset < log.cleaned_offset]
    assert len(keys) == len(set(keys))


@settings(deadline=None, max_examples=60)
@given(
    rounds=st.lists(st.lists(CHANGES, min_size=1, max_size=20), min_size=1, max_size=3),
    budget=st.sampled_from([1, 500, 1 << 20]),
    wait_ms=st.sampled_from([0, DAY // 2, 2 * DAY]),
    life=st.sampled_from(["on", "clean", "killed"]),
)
def test_of_each_key_the_last_record_is_left(
    rounds: list[list[list[Change]]], budget: int, wait_ms: int, life: str
) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    written: list[Record] = []
    now_ms = NOW
    for changes in rounds:
        for each in changes:
            written += write(log, each)
        compact(log, now_ms, budget)
        check(log, written)
        assert log.size_bytes == sum(segment.size_bytes for segment in log.segments)
        now_ms += wait_ms
        if life != "on":
            cleaned_offset = log.cleaned_offset
            if life == "clean":
                store.close()
            disk.kill()
            store = open_store(disk)
            log = open_log(store, CONFIG)
            assert not log.offline
            assert log.cleaned_offset == cleaned_offset
            check(log, written)
        for target in (NOW, NOW + len(written) // 2):
            found = [each for each in records(log) if each.timestamp_ms >= target]
            expected = (found[0].offset, found[0].timestamp_ms) if found else None
            assert log.find_time(target, log.end_offset) == expected


@settings(deadline=None, max_examples=60)
@given(
    changes=st.lists(CHANGES, min_size=10, max_size=30),
    cut_after=st.integers(0, 60),
    seed=st.integers(0, 1 << 32),
    again=st.none() | st.integers(0, 30),
)
def test_the_power_may_go_at_any_moment(
    changes: list[list[Change]], cut_after: int, seed: int, again: int | None
) -> None:
    disk = SimDisk(Random(seed))
    store = open_store(disk)
    log = open_log(store, CONFIG)
    written: list[Record] = []
    for each in changes:
        written += write(log, each)
    sync(log)
    if seed % 2:
        store.checkpoint()
    disk.cut_after = cut_after
    with contextlib.suppress(PowerCut):
        compact(log)
        sweep = store.sweep(NOW)
        if sweep is not None:
            sweep.run()
        compact(log, NOW + 2 * DAY)
    disk.crash()
    if again is not None:  # and once more while that is being mended
        disk.cut_after = again
        with contextlib.suppress(PowerCut):
            open_log(open_store(disk), CONFIG)
        disk.crash()

    log = open_log(open_store(disk), CONFIG)
    assert not log.offline
    assert log.end_offset == len(written)
    last_value = {each.key: each for each in written}
    left = records(log)
    by_offset = {each.offset: each for each in written}
    assert all(by_offset[each.offset] == each for each in left)
    kept = {each.offset for each in left}
    assert all(each.offset in kept or each.value is None for each in last_value.values())
    assert not [name for name in disk.list("orders-0") if name.endswith((".swap", ".cleaned"))]
    compact(log)
    check(log, written)


@pytest.mark.parametrize("seed", range(4))
def test_a_pass_cut_off_anywhere_is_made_up_for(seed: int) -> None:
    """At each change to the disk in turn, until it comes through."""
    for cut_after in range(200):
        disk = SimDisk(Random(seed))
        log = open_log(open_store(disk), CONFIG)
        written: list[Record] = []
        for number in range(40):
            written += write(log, [(str(number % 3).encode(), b"v" * 100)])
        sync(log)
        disk.cut_after = cut_after
        with contextlib.suppress(PowerCut):
            compact(log)
        through = log.cleaned_offset > 0
        disk.crash()
        for again in range(cut_after % 3):  # and once or twice more, while that is being mended
            disk.cut_after = (cut_after * 7 + again + seed) % 40
            with contextlib.suppress(PowerCut):
                open_log(open_store(disk), CONFIG)
            disk.crash()

        log = open_log(open_store(disk), CONFIG)
        assert not log.offline
        check(log, written)
        compact(log)
        check(log, written)
        if through:
            return
    raise AssertionError("200 changes are not enough for one pass")


def test_a_deleted_key_is_gone_after_its_time() -> None:
    log = open_log(open_store(sim_disk()), CONFIG)
    for _ in range(12):
        write(log, [(b"a", b"v" * 90), (b"b", b"w")])
    write(log, [(b"a", None)])
    write(log, [(b"b", b"x" * 900)])
    compact(log)
    assert [each.value for each in records(log) if each.key == b"a"] == [None]
    for _ in range(3):
        write(log, [(b"b", b"y" * 900)])
    compact(log, NOW + DAY - 1)
    assert any(each.key == b"a" for each in records(log))
    for _ in range(3):
        write(log, [(b"b", b"z" * 900)])
    compact(log, NOW + DAY)
    assert not any(each.key == b"a" for each in records(log))


def test_small_segments_become_one() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for number in range(60):
        write(log, [(b"abcde"[number % 5 :][:1], b"v" * 100)])
    before = len(log.segments)
    pass_ = compact(log)

    assert before > 8
    assert len(log.segments) == 2
    assert pass_ is not None
    assert pass_.written_bytes < pass_.read_bytes / 5
    names = [name for name in disk.list("orders-0") if name.endswith(LOG)]
    assert names == [file_name(segment.base_offset, LOG) for segment in log.segments]


def test_offsets_in_a_gap_lead_to_the_next_record() -> None:
    log = open_log(open_store(sim_disk()), CONFIG)
    for _ in range(30):
        write(log, [(b"a", b"v" * 100)])
    compact(log)
    left = [each.base_offset for each in batches(log)]

    assert left[0] > 10
    for offset in range(log.start_offset, left[0] + 1):
        piece = log.read(offset, 1, 30)
        assert piece is not None
        assert Batch(piece.read()[: piece.size]).base_offset == left[0]
    assert log.start_offset == 0


def test_a_log_that_is_cut_behind_a_gap_still_ends_there() -> None:
    """What was compacted ends with a deleted key that is gone: no batch tells where the next offset is."""
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    write(log, [(b"a", b"v")])
    write(log, [(b"b", None)])
    assert log.roll_if_due(NOW + CONFIG.segment_ms)
    compact(log)
    compact(log, NOW + DAY + module.OVERDUE_MS)
    assert [each.key for each in records(log)] == [b"a"]

    write(log, [(b"c", b"w")])
    store.truncate(log, 2)
    assert log.end_offset == 2
    disk.kill()
    log = open_log(open_store(disk), CONFIG)
    assert not log.offline
    assert log.end_offset == 2


@pytest.mark.parametrize("has_snapshots", [True, False])
def test_what_must_stay_of_a_producer_is_told_by_a_snapshot_or_by_its_batches(has_snapshots: bool) -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for number in range(30):
        write(log, [(b"a", b"v" * 90)], producer=1, sequence=number)
    sync(log)
    border = log.segments[-1].base_offset
    if not has_snapshots:
        for offset in log.snapshots:
            disk.remove(f"orders-0/{file_name(offset, SNAPSHOT)}")
    compact(log)

    assert [each.base_offset for each in batches(log)] == list(range(border - REMEMBERED, 30))


def test_sequences_are_known_even_if_nothing_is_left_to_tell_but_headers() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    for number in range(12):
        write(log, [(b"a", b"v" * 90)], producer=number % 3, sequence=number // 3)
    for _ in range(20):
        write(log, [(b"a", b"w" * 90)])
    compact(log)
    known = {id: (epoch, written[-1]) for id, (epoch, written) in log.producers.known().items()}
    store.checkpoint()
    disk.kill()
    for name in disk.list("orders-0"):
        if name.endswith(".snapshot"):
            disk.remove(f"orders-0/{name}")

    log = open_log(open_store(disk), CONFIG)
    again = {id: (epoch, written[-1]) for id, (epoch, written) in log.producers.known().items()}
    assert again == known
    assert len(records(log)) < 15


def test_waits_until_there_is_enough_to_do() -> None:
    config = replace(CONFIG, min_cleanable_dirty_ratio=0.5)
    log = open_log(open_store(sim_disk()), config)
    for number in range(40):
        write(log, [(str(number).encode(), b"v" * 100)])
    assert compact(log) is not None
    for number in range(15):
        write(log, [(str(number).encode(), b"v" * 100)])
    assert compact(log) is None
    for number in range(30):
        write(log, [(str(number).encode(), b"v" * 100)])
    assert compact(log) is not None


def test_what_is_young_or_not_committed_or_open_is_left_alone() -> None:
    lag = replace(CONFIG, min_compaction_lag_ms=1000)
    log = open_log(open_store(sim_disk()), lag)
    for _ in range(40):
        write(log, [(b"a", b"v" * 100)])
    sync(log)
    newest = log.segments[0].newest[0]
    assert log.compaction(newest + 999, 40) is None
    pass_ = log.compaction(newest + 1000, 40)
    assert pass_ is not None
    log.compacted(pass_)  # it was never run
    pass_ = log.compaction(NOW + DAY, log.segments[1].base_offset)
    assert pass_ is not None
    pass_.run()
    assert pass_.cleaned_offset == log.segments[1].base_offset
    log.compacted(pass_)
    log.config = CONFIG
    assert log.compaction(NOW, 40) is not None
    assert log.compaction(NOW, 40) is None  # one at a time
    log.config = LogConfig(segment_bytes=1024)
    assert log.compaction(NOW, 40) is None


def test_a_record_that_waited_too_long_is_reason_enough() -> None:
    config = replace(CONFIG, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=DAY)
    log = open_log(open_store(sim_disk()), config)
    for _ in range(40):
        write(log, [(b"a", b"v" * 100)])
    assert compact(log) is not None
    for _ in range(15):
        write(log, [(b"a", b"v" * 100)])
    first = log.segments[1].oldest_ms
    assert first > NOW
    assert compact(log, first + DAY) is None
    assert compact(log, first + DAY + 1) is not None
    assert not log.roll_if_due(NOW + DAY - 1)
    assert log.roll_if_due(NOW + DAY)  # what is open cannot be compacted


def test_the_log_goes_on_meanwhile() -> None:
    log = open_log(open_store(sim_disk()), CONFIG)
    written: list[Record] = []
    for _ in range(40):
        written += write(log, [(b"a", b"v" * 100), (b"b", b"w")])
    sync(log)
    piece = log.read(0, 5000, 80)
    pass_ = log.compaction(NOW, log.end_offset)
    assert pass_ is not None
    assert piece is not None
    expected = piece.read()
    for _ in range(20):
        written += write(log, [(b"a", b"x" * 100), (b"c", b"w")])
    pass_.run()
    written += write(log, [(b"a", b"y" * 100)])
    log.compacted(pass_)

    check(log, written)
    assert piece.read() == expected  # whoever began to read may go on
    sync(log)
    compact(log)
    check(log, written)


def test_what_was_deleted_meanwhile_stays_deleted() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for number in range(60):
        write(log, [(str(number % 7).encode(), b"v" * 100)])
    sync(log)
    pass_ = log.compaction(NOW, log.end_offset)
    assert pass_ is not None
    pass_.run()
    log.delete_before(log.segments[2].base_offset)
    start = log.start_offset
    log.compacted(pass_)

    assert log.segments[0].base_offset == start
    assert records(log)[0].offset >= start
    assert not [name for name in disk.list("orders-0") if name.endswith((".swap", ".cleaned"))]
    sync(log)
    disk.crash()
    log = open_log(open_store(disk), CONFIG)
    assert not log.offline
    assert {each.key for each in records(log)} == {str(n).encode() for n in range(7)}


def test_one_that_nobody_waits_for_ends_and_leaves_nothing() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    written: list[Record] = []
    for number in range(60):
        written += write(log, [(str(number % 7).encode(), b"v" * 100)])
    sync(log)
    pass_ = log.compaction(NOW, log.end_offset)
    assert pass_ is not None
    log.compacted(pass_)  # before it has run
    pass_.run()
    assert not pass_.done
    assert not [name for name in disk.list("orders-0") if name.endswith((".swap", ".cleaned"))]
    assert len(records(log)) == 60

    pass_ = log.compaction(NOW, log.end_offset)
    assert pass_ is not None
    pass_.run()
    store.close()  # without having heard of it
    disk.kill()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    assert len(records(log)) == 60
    assert log.cleaned_offset == 0
    compact(log)
    check(log, written)
    disk.kill()
    check(open_log(open_store(disk), CONFIG), written)


def test_what_an_abandoned_pass_leaves_is_never_swapped_in() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for _ in range(30):
        write(log, [(b"a", b"old" * 30)])
    sync(log)
    late = log.compaction(NOW, log.end_offset)
    assert late is not None
    late.run()
    late.done = False  # it went through after it was given up
    log.compacted(late)
    assert [name for name in disk.list("orders-0") if name.endswith(".swap")]
    for _ in range(30):
        write(log, [(b"a", None), (b"b", b"new" * 30)])
    compact(log)
    for _ in range(30):
        write(log, [(b"b", b"new" * 30)])
    compact(log, NOW + 2 * DAY)
    disk.crash()

    log = open_log(open_store(disk), CONFIG)
    assert not [each for each in records(log) if each.key == b"a" and each.value is not None]


def test_a_full_disk_leaves_everything_as_it_was() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    written: list[Record] = []
    for number in range(60):
        written += write(log, [(str(number % 7).encode(), b"v" * 100)])
    sync(log)
    store.checkpoint()
    used = sum(disk.size(f"orders-0/{name}") for name in disk.list("orders-0"))
    used += sum(disk.size(name) for name in disk.list("") if name != "orders-0")
    for room in range(0, 1100, 100):
        disk.capacity = used + room
        pass_ = log.compaction(NOW, log.end_offset)
        assert pass_ is not None
        with pytest.raises(OSError, match="no space") as caught:
            pass_.run()
        assert not isinstance(caught.value, DiskFailed)
        log.compacted(pass_)
        assert len(records(log)) == 60
        assert not [name for name in disk.list("orders-0") if name.endswith((".swap", ".cleaned"))]
    disk.capacity = None
    compact(log)
    check(log, written)


def test_bit_rot_is_not_copied() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), CONFIG)
    for number in range(60):
        write(log, [(str(number).encode(), b"v" * 100)])
    sync(log)
    disk.flip("orders-0/" + file_name(0, LOG), 100, 1)
    pass_ = log.compaction(NOW, log.end_offset)
    assert pass_ is not None
    pass_.run()
    log.compacted(pass_)

    assert log.offline
    assert not [name for name in disk.list("orders-0") if name.endswith((".swap", ".cleaned"))]


def test_the_newest_time_is_known_after_compaction() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, CONFIG)
    for number in range(60):
        batch = make_batch(
            log.end_offset, [b"v" * 100], keys=[str(number % 9).encode()], times=[NOW + 1000 - number]
        )
        log.append(batch, NOW)
    compact(log)
    newest = max(each.timestamp_ms for each in records(log))
    expected = next((each.offset, newest) for each in records(log) if each.timestamp_ms == newest)
    assert log.find_max_time(log.end_offset) == expected
    assert disk.exists(log.segments[0].path(TIME_INDEX))
    store.close()
    disk.kill()
    log = open_log(open_store(disk), CONFIG)
    assert log.find_max_time(log.end_offset) == expected
