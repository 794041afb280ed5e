"""What an unclean stop leaves, and what becomes of it."""

import contextlib

import pytest
from tests.storage.helpers import (
    ID,
    NOW,
    SMALL,
    TOPIC,
    append,
    contents,
    make_batch,
    open_log,
    open_store,
    sim_disk,
    sync,
)

from millstream.errors import ErrorCode, Refused
from millstream.sim.disk import PowerCut, SimDisk
from millstream.storage import checkpoint, known
from millstream.storage.config import LogConfig
from millstream.storage.epochs import FILE as EPOCHS
from millstream.storage.log import Log
from millstream.storage.metadata import METADATA
from millstream.storage.recovery import Recovery
from millstream.storage.segment import INDEX, LOG, TIME_INDEX, file_name
from millstream.storage.store import CLEAN, LIFE
from millstream.storage.trash import Trash

FIRST = "orders-0/" + file_name(0, LOG)


def cut(disk: SimDisk, path: str, size: int) -> None:
    disk.open(path).truncate(size)


def written(disk: SimDisk, count: int, *, noted: int = 0) -> list[bytes]:
    """Append *count* batches, the first *noted* of them below the recovery point, and die."""
    store = open_store(disk)
    log = open_log(store)
    batches = append(log, noted)
    sync(log)
    store.checkpoint()
    batches += append(log, count - noted)
    sync(log)
    disk.kill()
    return [bytes(batch.data) for batch in batches]


def reopened(disk: SimDisk) -> Log:
    return open_log(open_store(disk))


def last_segment(disk: SimDisk) -> str:
    return "orders-0/" + max(name for name in disk.list("orders-0") if name.endswith(LOG))


def test_a_tail_torn_at_any_byte_is_cut_to_the_last_whole_batch() -> None:
    disk = sim_disk()
    batches = written(disk, 3)
    whole = disk.open(FIRST).read(0, 1 << 20)
    for size in range(len(batches[0]) + len(batches[1]), len(whole)):
        cut(disk, FIRST, 0)
        disk.open(FIRST).append(whole[:size])
        log = reopened(disk)

        assert contents(log) == batches[:2]
        assert disk.size(FIRST) == len(batches[0]) + len(batches[1])
        assert log.synced_offset == log.end_offset == 2
        disk.kill()


def test_any_flipped_bit_of_the_tail_cuts_there() -> None:
    disk = sim_disk()
    batches = written(disk, 3)
    whole = disk.open(FIRST).read(0, 1 << 20)
    survived = set()
    for position in range(len(batches[0]), len(batches[0]) + len(batches[1])):
        for bit in range(8):
            cut(disk, FIRST, 0)
            disk.open(FIRST).append(whole)
            disk.flip(FIRST, position, 1 << bit)
            log = reopened(disk)
            if contents(log) != batches[:1]:
                survived.add(position - len(batches[0]))
                assert log.end_offset == 2
            disk.kill()

    # Only the leader epoch may change unseen, and only upwards, since the checksum leaves it out;
    # the batch after it then looks as if it went back, and goes.
    assert survived == set(range(12, 16))


def test_any_flipped_bit_below_the_recovery_point_takes_the_log_offline_and_cuts_nothing() -> None:
    disk = sim_disk()
    batches = written(disk, 4, noted=3)
    whole = disk.open(FIRST).read(0, 1 << 20)
    survived = set()
    for position in range(len(batches[0]), len(batches[0]) + len(batches[1])):
        for bit in range(8):
            disk.flip(FIRST, position, 1 << bit)
            flipped = disk.open(FIRST).read(0, 1 << 20)
            log = reopened(disk)
            if log.offline:
                with pytest.raises(Refused) as caught:
                    log.read(0, 100, 4)
                assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            else:
                survived.add(position - len(batches[0]))
            assert disk.open(FIRST).read(0, 1 << 20) == flipped
            disk.kill()
            disk.flip(FIRST, position, 1 << bit)

    assert survived <= set(range(12, 16))
    assert disk.open(FIRST).read(0, 1 << 20) == whole


def test_an_offline_log_stays_so_through_clean_stops_until_it_is_mended() -> None:
    disk = sim_disk()
    batches = written(disk, 4, noted=3)
    disk.flip(FIRST, 80, 1)
    for _ in range(3):
        store = open_store(disk)
        assert open_log(store).offline
        store.checkpoint()
        store.close()
    disk.flip(FIRST, 80, 1)

    log = reopened(disk)
    assert not log.offline
    assert contents(log) == batches


def test_a_log_that_ends_before_its_recovery_point_is_offline() -> None:
    disk = sim_disk()
    batches = written(disk, 3, noted=3)
    cut(disk, FIRST, len(batches[0]))

    assert reopened(disk).offline


def test_a_log_without_files_that_had_some_is_offline() -> None:
    disk = sim_disk()
    written(disk, 3, noted=3)
    for name in disk.list("orders-0"):
        if name != METADATA:
            disk.remove(f"orders-0/{name}")
    assert reopened(disk).offline
    disk.kill()
    disk.remove_dir("orders-0")
    assert reopened(disk).offline


def test_segments_after_a_torn_one_are_set_aside() -> None:
    disk = sim_disk()
    batches = written(disk, 40)
    names = [name for name in disk.list("orders-0") if name.endswith(LOG)]
    assert len(names) > 3
    cut(disk, f"orders-0/{names[1]}", disk.size(f"orders-0/{names[1]}") - 1)

    store = open_store(disk)
    log = open_log(store)
    kept = contents(log)
    assert kept == batches[: len(kept)]
    assert log.end_offset == len(kept)
    assert [each.base_offset for each in log.segments] == [0, int(names[1][:20])]
    recovery = store.recoveries["orders-0"]
    assert sorted(recovery.set_aside) == [f"orders-0/{name}.corrupt" for name in names[2:]]
    assert all(disk.exists(path) for path in recovery.set_aside)
    batch = append(log)[0]
    assert contents(log) == [*kept, bytes(batch.data)]


def test_a_missing_segment_below_the_recovery_point_is_not_passed_over() -> None:
    disk = sim_disk()
    written(disk, 60, noted=50)
    names = [name for name in disk.list("orders-0") if name.endswith(LOG)]
    disk.remove(f"orders-0/{names[-2]}")

    assert reopened(disk).offline


@pytest.mark.parametrize("garbage", [None, b"", b"garbage", bytes(100)])
@pytest.mark.parametrize("suffix", [INDEX, TIME_INDEX, ".snapshot", EPOCHS])
def test_missing_or_garbage_files_beside_the_log_are_made_again(suffix: str, garbage: bytes | None) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = []
    for number in range(60):
        batch = make_batch(log.end_offset, [b"v" * 30], epoch=number // 25, producer=(1, 0, number))
        log.append(batch, NOW)
        batches.append(bytes(batch.data))
        sync(log)
    epochs, producers = list(log.epochs), log.producers.known()
    store.checkpoint()
    disk.kill()
    names = [name for name in disk.list("orders-0") if name.endswith(suffix)]
    assert names
    for name in names:
        disk.remove(f"orders-0/{name}")
        if garbage is not None:
            disk.open(f"orders-0/{name}", create=True).append(garbage)

    log = reopened(disk)
    assert contents(log) == batches
    assert list(log.epochs) == epochs
    assert log.producers.known() == producers
    assert log.find_time(NOW + 7, 60) == (7, NOW + 7)
    assert log.find_max_time(60) == (59, NOW + 59)


@pytest.mark.parametrize("garbage", [None, b"", b"garbage\n", b"millstream 1 00000000 1\nx\n"])
@pytest.mark.parametrize("file", [*known.FILES, LIFE, CLEAN])
@pytest.mark.parametrize("clean", [False, True])
def test_missing_or_garbage_files_of_the_store_only_cost_time(
    file: str, garbage: bytes | None, clean: bool
) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = [bytes(batch.data) for batch in append(log, 40)]
    sync(log)
    store.checkpoint()
    if clean:
        store.close()
    disk.kill()
    disk.remove(file)
    if garbage is not None:
        disk.open(file, create=True).append(garbage)

    log = reopened(disk)
    assert not log.offline
    assert contents(log) == batches


def test_nobody_knowing_how_much_was_synced_cuts_a_tail_but_nothing_before_it() -> None:
    disk = sim_disk()
    batches = written(disk, 40, noted=30)
    disk.remove(known.RECOVERY_POINTS)
    tail = last_segment(disk)
    cut(disk, tail, disk.size(tail) - 1)
    assert contents(reopened(disk)) == batches[:-1]
    disk.kill()

    disk.remove(known.RECOVERY_POINTS)
    disk.flip(FIRST, 80, 1)
    store = open_store(disk)
    assert open_log(store).offline
    store.checkpoint()
    disk.kill()
    assert reopened(disk).offline  # and it is still not known


def test_a_segment_closed_just_before_the_end_is_looked_at_though_all_of_it_was_synced() -> None:
    """Its indexes may be those of an earlier stop, which do not know its newest records."""
    disk = sim_disk()
    config = LogConfig(index_interval_bytes=100)
    store = open_store(disk)
    log = open_log(store, config)
    append(log, 10)
    store.close()
    disk.kill()
    store = open_store(disk)
    log = open_log(store, config)
    log.append(make_batch(10, times=[NOW + 99_999]), NOW)
    sync(log)
    store.checkpoint()
    log.roll_if_due(NOW + config.segment_ms)
    disk.kill()

    log = open_log(open_store(disk), config)
    assert [segment.base_offset for segment in log.segments] == [0, 11]
    assert log.segments[0].newest == (NOW + 99_999, 10)


def test_a_cut_takes_the_snapshots_above_it_along() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    for number in range(40):
        log.append(make_batch(number, [b"v" * 60], producer=(3, 0, number)), NOW)
    sync(log)
    snapshot = min(log.snapshots)
    disk.kill()
    disk.flip(FIRST, 200, 1)  # synced, but not noted: it looks like a torn tail

    log = reopened(disk)
    assert log.end_offset < snapshot
    assert not log.snapshots
    assert not [name for name in disk.list("orders-0") if name.endswith(".snapshot")]


def test_garbage_metadata_is_made_again_where_the_checkpoint_knows_the_log() -> None:
    disk = sim_disk()
    batches = written(disk, 5, noted=5)
    cut(disk, f"orders-0/{METADATA}", 3)

    assert contents(reopened(disk)) == batches
    disk.kill()
    assert checkpoint.read(disk, f"orders-0/{METADATA}") is not None


def test_leftovers_are_cleared_away() -> None:
    disk = sim_disk()
    batches = written(disk, 5)
    for name in ("00000000000000000009.index", "x.tmp", "00000000000000000003.log.deleted"):
        disk.open(f"orders-0/{name}", create=True).append(b"old")
    disk.open("something.tmp", create=True)

    store = open_store(disk)
    log = open_log(store)
    sweep = store.sweep(NOW)
    assert sweep is not None
    sweep.run()
    assert contents(log) == batches
    assert disk.list("orders-0") == [file_name(0, LOG), METADATA]
    assert "something.tmp" not in disk.list("")


def test_looks_at_no_more_than_from_the_recovery_point_on() -> None:
    disk = sim_disk()
    written(disk, 100, noted=95)
    found = known.Checkpoints.read(disk).of("orders-0", ID)
    recovery = Recovery(disk, Trash(disk), "orders-0", SMALL, NOW, found)
    recovery.run()

    assert recovery.end_offset == 100
    assert len(recovery.segments) > 8
    assert 0 < recovery.scanned_bytes <= 2 * SMALL.segment_bytes


@pytest.mark.parametrize("changes", range(12))
def test_killed_on_the_way_to_its_first_batch_it_keeps_the_next_one_through_a_power_cut(changes: int) -> None:
    """The killed process may have made files whose names never got to the disk."""
    for seed in range(5):
        disk = sim_disk(seed)
        log = open_log(open_store(disk))
        disk.cut_after = changes
        with contextlib.suppress(PowerCut):
            append(log)
            sync(log)
        disk.kill()
        log = open_log(open_store(disk))
        append(log)
        sync(log)
        promised = contents(log)
        disk.crash()

        assert contents(open_log(open_store(disk))) == promised


def test_a_batch_with_an_epoch_of_nobody_does_not_cost_those_after_it() -> None:
    """The checksum does not cover it: were it believed, what is appended next would be cut off later."""
    disk = sim_disk()
    log = open_log(open_store(disk))
    append(log)
    disk.kill()
    disk.flip(f"orders-0/{file_name(0, LOG)}", 12, 0x10)

    log = open_store(disk).open_log(TOPIC, ID, 0, SMALL, NOW, latest_epoch=0)
    assert log.end_offset == 0
    append(log, 2)
    sync(log)
    disk.kill()

    assert open_store(disk).open_log(TOPIC, ID, 0, SMALL, NOW, latest_epoch=0).end_offset == 2
