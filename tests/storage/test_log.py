import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.helpers import (
    NOW,
    SMALL,
    append,
    contents,
    make_batch,
    open_log,
    open_store,
    sim_disk,
    sync,
)

from millstream.errors import ErrorCode, Refused
from millstream.records.batch import Batch
from millstream.sim.disk import PowerCut
from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.segment import INDEX, LOG, TIME_INDEX, Slice, file_name


def data(batches: list[Batch]) -> list[bytes]:
    return [bytes(batch.data) for batch in batches]


def test_gives_back_what_was_appended() -> None:
    log = open_log(open_store(sim_disk()))
    batches = append(log, 50, records=3)

    assert contents(log) == data(batches)
    assert len(log.segments) > 5
    assert log.end_offset == 150


def test_the_files_are_the_batches_byte_for_byte() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk))
    batches = append(log, 20)
    names = [name for name in disk.list("orders-0") if name.endswith(LOG)]

    assert b"".join(disk.open(f"orders-0/{name}").read(0, 1 << 20) for name in names) == b"".join(
        data(batches)
    )
    assert names == [file_name(segment.base_offset, LOG) for segment in log.segments]


def test_a_segment_is_closed_without_being_read() -> None:
    """It may be a gigabyte, and everybody waits meanwhile."""
    disk = sim_disk()
    log = open_log(open_store(disk))
    append(log, 3)
    disk.flip(log.segments[0].path(LOG), 8, 0x7F)  # no walk gets past a length that is wrong

    assert log.roll_if_due(NOW + 10**12)


@settings(deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 400), st.integers(1, 4)), max_size=25),
    life=st.integers(0, 2),
    requests=st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 1500)), min_size=1, max_size=10
    ),
)
def test_reads_whole_batches_from_any_offset(
    sizes: list[tuple[int, int]], life: int, requests: list[tuple[float, float, int]]
) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = []
    for size, records in sizes:
        batches += append(log, records=records, size=size)
    if life == 1:
        store.close()
    if life:
        disk.kill()
        log = open_log(open_store(disk))
    bases = [segment.base_offset for segment in log.segments]
    for from_part, end_part, max_bytes in requests:
        offset = int(from_part * log.end_offset)
        end_offset = int(end_part * log.end_offset)
        piece = log.read(offset, max_bytes, end_offset)

        expected: list[Batch] = []
        for batch in batches:
            if batch.last_offset < offset:
                continue
            beyond = batch.last_offset >= end_offset or (expected and batch.base_offset in bases)
            if beyond or (expected and sum(each.size for each in expected) + batch.size > max_bytes):
                break
            expected.append(batch)
        assert (piece.read() if piece else b"") == b"".join(data(expected))


def test_an_offset_out_of_range_is_refused() -> None:
    log = open_log(open_store(sim_disk()))
    append(log, 10)
    sync(log)
    log.delete_before(4)

    assert log.read(10, 100, 10) is None
    for offset in (3, 11, -1):
        with pytest.raises(Refused) as caught:
            log.read(offset, 100, 10)
        assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


@settings(deadline=None)
@given(
    times=st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=3), max_size=20),
    start=st.floats(0, 1),
    target=st.integers(0, 22),
    end=st.floats(0, 1),
    life=st.integers(0, 2),
)
def test_finds_the_first_record_that_is_not_older(
    times: list[list[int]], start: float, target: int, end: float, life: int
) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    records: list[tuple[int, int]] = []
    for each in times:
        batch = make_batch(log.end_offset, [b"v" * 90] * len(each), times=each)
        log.append(batch, NOW)
        records += [(batch.base_offset + delta, time) for delta, time in enumerate(each)]
    sync(log)
    if life == 1:
        store.close()
    if life:
        disk.kill()
        log = open_log(open_store(disk))
    log.delete_before(int(start * log.end_offset))
    end_offset = int(end * log.end_offset)
    there = [(offset, time) for offset, time in records if log.start_offset <= offset < end_offset]

    found = [each for each in there if each[1] >= target]
    assert log.find_time(target, end_offset) == (found[0] if found else None)
    newest = max([time for _, time in there], default=-1)
    assert log.find_max_time(end_offset) == next((each for each in there if each[1] == newest), None)


def test_rolls_at_its_size() -> None:
    log = open_log(open_store(sim_disk()), LogConfig(segment_bytes=2000))
    append(log, 100)

    assert all(segment.size_bytes <= 2000 for segment in log.segments)
    assert all(segment.size_bytes > 1800 for segment in log.segments[:-1])


def test_rolls_at_its_age() -> None:
    log = open_log(open_store(sim_disk()), LogConfig(segment_ms=1000))
    assert not log.roll_if_due(NOW + 5000)  # there is nothing to roll
    append(log, now_ms=NOW)
    assert not log.roll_if_due(NOW + 999)
    append(log, now_ms=NOW + 999)
    assert len(log.segments) == 1
    append(log, now_ms=NOW + 1000)
    assert len(log.segments) == 2
    assert log.roll_if_due(NOW + 2000)
    assert not log.roll_if_due(NOW + 9000)
    assert len(log.segments) == 3


def test_jitter_makes_logs_roll_apart() -> None:
    store = open_store(sim_disk())
    config = LogConfig(segment_ms=1000, segment_jitter_ms=500)
    ages = set()
    for topic in ("a", "b", "c", "d"):
        log = open_log(store, config, topic=topic)
        append(log)
        ages.add(next(age for age in range(2000) if log.roll_if_due(NOW + age)))

    assert len(ages) > 1
    assert all(500 <= age <= 1000 for age in ages)


def test_rolls_when_its_index_is_full() -> None:
    log = open_log(open_store(sim_disk()), LogConfig(index_interval_bytes=0, segment_index_bytes=64))
    append(log, 30)

    assert [segment.base_offset for segment in log.segments] == [0, 9, 18, 27]


def test_rolls_before_an_offset_gets_too_large_for_an_index() -> None:
    log = open_log(open_store(sim_disk()), LogConfig())
    append(log)
    huge = make_batch(1)
    huge.last_offset_delta = (1 << 31) - 1
    huge.data[23:27] = (huge.last_offset_delta).to_bytes(4, "big")
    log.append(huge, NOW)

    assert [segment.base_offset for segment in log.segments] == [0, 1]


def test_a_closed_segment_has_its_indexes_beside_it_once_synced() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk))
    append(log, 30)
    sync(log)

    for segment in log.segments[:-1]:
        assert disk.size(segment.path(INDEX)) % 8 == 0
        assert disk.size(segment.path(TIME_INDEX)) % 12 == 0
        assert disk.size(segment.path(TIME_INDEX)) > 0
    assert not disk.exists(log.segments[-1].path(INDEX))


def test_of_many_snapshots_only_the_latest_are_kept() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk))
    for number in range(200):
        log.append(make_batch(number, [b"v" * 60], producer=(3, 0, number)), NOW)
        sync(log)
    left = [int(name[:20]) for name in disk.list("orders-0") if name.endswith(".snapshot")]

    assert len(log.segments) > 20
    assert tuple(left) == log.snapshots
    assert len(left) == 8


def test_a_sync_covers_what_was_there_when_it_was_asked_for() -> None:
    log = open_log(open_store(sim_disk()))
    append(log, 3)
    pending = log.unsynced()
    assert pending is not None
    append(log, 2)
    pending.run()
    log.synced(pending)

    assert (log.synced_offset, log.end_offset) == (3, 5)
    assert log.safe_offset == 3
    sync(log)
    assert log.synced_offset == 5
    assert log.unsynced() is None


def test_a_sync_from_before_a_truncation_proves_nothing() -> None:
    store = open_store(sim_disk())
    log = open_log(store)
    append(log, 2)
    sync(log)
    append(log, 3)
    pending = log.unsynced()
    assert pending is not None
    store.truncate(log, 3)
    append(log, 2)
    pending.run()
    log.synced(pending)

    assert log.synced_offset == 2
    sync(log)
    assert log.synced_offset == 5


def test_a_sync_puts_the_older_segment_on_the_disk_first() -> None:
    """So that no crash can leave the newer one without it."""
    for cut_after in range(40):
        disk = sim_disk(cut_after)
        log = open_log(open_store(disk))
        append(log, 25)
        pending = log.unsynced()
        assert pending is not None
        disk.cut_after = cut_after
        with contextlib.suppress(PowerCut):
            pending.run()
        disk.crash()
        log = open_log(open_store(disk))
        assert not log.offline
        ends = [segment.next_offset for segment in log.segments]
        assert [segment.base_offset for segment in log.segments][1:] == ends[:-1]


def test_bit_rot_takes_the_log_offline_when_it_is_read() -> None:
    disk = sim_disk()
    store = open_store(disk)
    append(open_log(store), 30)
    store.close()
    disk.kill()
    disk.flip("orders-0/" + file_name(0, LOG), 100, 2)
    log: Log = open_log(open_store(disk))
    size = disk.size("orders-0/" + file_name(0, LOG))

    assert log.read(log.segments[1].base_offset, 100, 30) is not None
    with pytest.raises(Refused) as caught:
        log.read(0, 1000, 30)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.offline
    for use in (
        lambda: log.append(make_batch(30), NOW),
        lambda: log.read(20, 100, 30),
        lambda: log.find_time(0, 30),
        lambda: log.find_max_time(30),
        lambda: log.delete_before(3),
        lambda: log.truncate(3),
    ):
        with pytest.raises(Refused, match="offline"):
            use()
    assert log.unsynced() is None
    assert disk.size("orders-0/" + file_name(0, LOG)) == size


def test_truncates_in_the_middle_of_everything() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = []
    for number in range(40):
        batch = make_batch(number, [b"v" * 60], epoch=number // 10, producer=(3, 0, number))
        log.append(batch, NOW)
        batches.append(batch)
    sync(log)
    store.truncate(log, 17)

    assert (log.end_offset, log.synced_offset) == (17, 17)
    assert contents(log) == data(batches[:17])
    assert log.epochs.end_of(1, 17) == (1, 17)
    assert log.epochs.end_of(2, 17) == (-1, -1)
    assert log.producers.known()[3][1][-1] == (16, 16, 16, -1)
    assert log.size_bytes == sum(batch.size for batch in batches[:17])
    again = make_batch(17, [b"other"], epoch=5, producer=(3, 0, 17))
    assert log.producers.check(again) is None
    log.append(again, NOW)
    sync(log)
    disk.crash()
    log = open_log(open_store(disk))
    assert contents(log) == [*data(batches[:17]), bytes(again.data)]
    assert log.epochs.epoch_of(17) == 5


def test_a_place_for_runs_is_not_kept_through_a_truncation() -> None:
    """Not even if the log ends at the same offset again: what is there now has another size."""
    store = open_store(sim_disk())
    log = open_log(store, LogConfig())
    append(log, 10)
    before = log.place(0, NOW, NOW)
    assert before is not None
    assert log.place(0, NOW, NOW) is before
    store.truncate(log, 9)
    log.append(make_batch(9, [b"longer than the one before" * 5]), NOW)

    after = log.place(0, NOW, NOW)
    assert after is not None
    assert (after.base_offset, after.position) == (10, log.size_bytes)
    assert after.position != before.position


def test_after_a_truncation_nothing_is_found_where_it_was() -> None:
    store = open_store(sim_disk())
    log = open_log(store, LogConfig())
    batches = append(log, 10)
    sync(log)
    for offset in range(10):
        log.read(offset, 1, 10)
    store.truncate(log, 3)
    batches = batches[:3] + append(log, 4, size=7) + append(log, 6, size=90)

    assert contents(log) == data(batches)
    for offset in reversed(range(13)):
        piece = log.read(offset, 1, 13)
        assert piece is not None
        assert piece.read() == bytes(batches[offset].data)


def test_a_truncation_takes_the_snapshots_above_it_along() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    for number in range(40):
        log.append(make_batch(number, [b"v" * 60], producer=(3, 0, number)), NOW)
    sync(log)
    assert max(log.snapshots) > 20
    store.truncate(log, 17)
    left = [int(name[:20]) for name in disk.list("orders-0") if name.endswith(".snapshot")]
    assert all(offset <= 17 for offset in left)
    for number in range(23):
        log.append(make_batch(17 + number, [b"v" * 60], producer=(5, 0, number)), NOW)
    known = log.producers.known()
    sync(log)
    store.checkpoint()
    disk.kill()

    assert open_log(open_store(disk)).producers.known() == known


def test_a_batch_appended_unasked_is_remembered_once() -> None:
    disk = sim_disk()
    store = open_store(disk)
    open_log(store).append(make_batch(0, producer=(3, 0, 0)), NOW)
    store.close()
    disk.kill()
    log = open_log(open_store(disk))
    log.append(make_batch(1, producer=(3, 0, 1)), NOW)

    assert log.producers.known() == {3: (0, [(0, 0, 0, -1), (1, 1, 1, -1)])}


def test_a_truncation_at_the_border_of_two_segments_stays() -> None:
    for seed in range(10):
        disk = sim_disk(seed)
        store = open_store(disk)
        log = open_log(store)
        append(log, 30)
        sync(log)
        border = log.segments[-1].base_offset
        store.truncate(log, border)
        disk.crash()

        assert open_log(open_store(disk)).end_offset == border


def test_who_wrote_is_known_even_if_all_of_it_is_deleted_at_once() -> None:
    """A closed segment is deleted only when who wrote it is written down elsewhere."""
    for seed in range(10):
        disk = sim_disk(seed)
        log = open_log(open_store(disk))
        log.append(make_batch(0, producer=(4, 0, 17)), NOW)
        sync(log)
        log.roll_if_due(NOW + SMALL.segment_ms)
        log.delete_before(1)
        disk.crash()

        log = open_log(open_store(disk))
        assert log.producers.known() == {4: (0, [(17, 17, 0, -1)])}


def test_a_snapshot_that_was_safe_stays_so_through_a_clean_stop() -> None:
    for seed in range(20):
        disk = sim_disk(seed)
        store = open_store(disk)
        log = open_log(store)
        log.append(make_batch(0, producer=(4, 0, 17)), NOW)
        log.roll_if_due(NOW + SMALL.segment_ms)
        sync(log)
        log.delete_before(1)
        store.close()
        disk.crash()
        open_store(disk)
        disk.kill()  # a life that does nothing, and does not say goodbye

        log = open_log(open_store(disk))
        assert log.producers.known() == {4: (0, [(17, 17, 0, -1)])}


def test_epochs_that_do_not_fit_on_the_disk_hold_the_recovery_point_back() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    for number in range(12):
        log.append(make_batch(number, [b"v" * 150], epoch=number // 4), NOW)
    disk.capacity = 1
    sync(log)
    disk.capacity = None
    assert log.synced_offset == 12
    assert log.recovery_point == 0
    store.checkpoint()
    disk.kill()
    log = open_log(open_store(disk))
    assert list(log.epochs) == [(0, 0), (1, 4), (2, 8)]
    sync(log)


def test_deletes_whole_segments_below_an_offset() -> None:
    log = open_log(open_store(sim_disk()))
    batches = append(log, 40)
    sync(log)
    second = log.segments[1].base_offset
    log.delete_before(second + 1)

    assert log.segments[0].base_offset == second
    assert log.start_offset == second + 1
    assert contents(log) == data(batches[second + 1 :])
    log.delete_before(3)  # lower than it is: nothing to do
    assert log.start_offset == second + 1
    log.delete_before(40)
    assert (log.start_offset, log.end_offset, len(log.segments)) == (40, 40, 1)
    assert contents(log) == []


def test_configs_change_while_it_runs() -> None:
    log = open_log(open_store(sim_disk()), SMALL)
    append(log, 5)
    log.config = LogConfig()
    append(log, 50)

    assert len(log.segments) == 1


@given(data=st.data())
def test_who_comes_back_to_where_he_has_read_up_to_gets_what_any_other_gets(data: st.DataObject) -> None:
    log = open_log(open_store(sim_disk()), LogConfig(index_interval_bytes=200))
    append(log)
    read_up_to = 0
    for _ in range(data.draw(st.integers(1, 12))):
        append(log, data.draw(st.integers(0, 3)), records=data.draw(st.integers(1, 3)))
        offset = data.draw(st.sampled_from([read_up_to, *range(log.end_offset)]))
        end_offset = data.draw(st.sampled_from([log.end_offset, read_up_to, log.end_offset - 1]))
        max_bytes = data.draw(st.sampled_from([0, 100, 250, 1 << 20]))
        found = log.read(offset, max_bytes, end_offset)
        expected = log.segments[-1].read(offset, max_bytes, end_offset)
        assert _range(found) == _range(expected)
        if found is not None:
            read_up_to = found.end_offset


def _range(found: Slice | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.position, found.size, found.end_offset)
