from uuid import UUID

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

from millstream.env.disk import DirectoryInUse, DiskFailed
from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.store import CLEAN, Store

OTHER_ID = UUID(int=8)


def test_a_second_process_is_refused() -> None:
    disk = sim_disk()
    store = open_store(disk)
    with pytest.raises(DirectoryInUse):
        open_store(disk)
    store.release()
    open_store(disk)


def test_an_unused_log_touches_no_disk() -> None:
    disk = sim_disk()
    store = open_store(disk)
    changes = disk.changes
    logs = [store.open_log(TOPIC, ID, partition, SMALL, NOW) for partition in range(100)]

    assert disk.changes == changes
    assert all(log.unsynced() is None for log in logs)
    store.close()
    assert not [name for name in disk.list("") if name.startswith(TOPIC)]


def test_after_a_clean_stop_nothing_is_looked_at_until_it_is_read() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = append(log, 50)
    log.append(make_batch(50, producer=(9, 0, 0)), NOW)
    store.close()
    disk.kill()
    for name in disk.list("orders-0"):  # nobody notices, so nobody looked
        disk.rename(f"orders-0/{name}", f"orders-0/x{name}")
    store = open_store(disk)
    log = open_log(store)
    assert (store.was_clean, log.start_offset, log.end_offset) == (True, 0, 51)
    for name in disk.list("orders-0"):
        disk.rename(f"orders-0/{name}", f"orders-0/{name[1:]}")

    assert contents(log)[:50] == [bytes(batch.data) for batch in batches]
    assert log.producers.known() == {9: (0, [(0, 0, 50, -1)])}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_a_power_cut_shortened_after_a_clean_stop_is_not_believed(suffix: str) -> None:
    """What is beside the log is not synced by a clean stop; half of it would look like all of it."""
    disk = sim_disk()
    store = open_store(disk)
    config = LogConfig(index_interval_bytes=100)
    log = open_log(store, config)
    for number in range(30):
        time = NOW + 1000 - number * 10 if number else NOW + 5000
        log.append(make_batch(number, [b"v" * 50], times=[time]), NOW)
    log.append(make_batch(30, times=[NOW + 9000]), NOW)
    _, entries = log.segments[0].known
    store.close()
    disk.kill()
    path = "orders-0/00000000000000000000" + suffix
    disk.open(path).truncate(0)

    log = open_log(open_store(disk), config)
    assert log.find_time(NOW + 6000, 31) == (30, NOW + 9000)
    assert log.segments[0].known[1] == entries
    assert len(contents(log)) == 31
    log.roll_if_due(NOW + config.segment_ms)
    sync(log)
    disk.kill()
    assert open_log(open_store(disk), config).segments[0].newest == (NOW + 9000, 30)


def test_a_life_after_a_clean_stop_goes_on_where_it_was() -> None:
    disk = sim_disk()
    expected = []
    for life in range(6):
        store = open_store(disk)
        log = open_log(store)
        for number in range(7):
            offset = log.end_offset
            batch = make_batch(offset, [b"v" * 90], epoch=life // 2, producer=(1, 0, life * 7 + number))
            assert log.producers.check(batch) is None
            log.append(batch, NOW + life)
            expected.append(bytes(batch.data))
        epochs = list(log.epochs)
        store.close()
        disk.kill()
        log = open_log(open_store(disk))

        assert contents(log) == expected
        assert list(log.epochs) == epochs
        assert log.find_max_time(log.end_offset) == (len(expected) - 1, NOW + len(expected) - 1)
        disk.kill()
        checked = open_log(open_store(disk))  # the same again after an unclean stop
        assert contents(checked) == expected
        assert list(checked.epochs) == epochs
        disk.kill()


def test_a_goodbye_is_believed_once_and_only_of_the_last_life() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    append(log, 3)
    store.close()
    goodbye = disk.open(CLEAN).read(0, 1 << 20)
    disk.kill()

    store = open_store(disk)
    assert store.was_clean
    assert not disk.exists(CLEAN)
    log = open_log(store)
    batches = append(log, 2)
    sync(log)
    disk.kill()
    disk.open(CLEAN, create=True).append(goodbye)  # as if its removal had been lost

    store = open_store(disk)
    assert not store.was_clean
    log = open_log(store)
    assert log.end_offset == 5
    assert contents(log)[3:] == [bytes(batch.data) for batch in batches]


def test_a_new_topic_of_an_old_name_does_not_get_its_records() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    append(log, 5)
    sync(log)
    store.checkpoint()
    disk.kill()

    store = open_store(disk)
    log = open_log(store, id=OTHER_ID)
    assert log.end_offset == 0
    assert store.strays == [f"{ID.hex}.0-stray"]
    batch = append(log)[0]
    sync(log)
    disk.crash()
    log = open_log(open_store(disk), id=OTHER_ID)
    assert contents(log) == [bytes(batch.data)]


@pytest.mark.parametrize("clean", [False, True])
def test_a_deleted_log_is_gone_and_its_name_free(clean: bool) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    append(log, 5)
    sync(log)
    store.delete_log(log)
    assert log.offline
    again = open_log(store, id=OTHER_ID)
    batch = append(again)[0]
    sweep = store.sweep(NOW)
    assert sweep is not None
    sweep.run()
    assert [name for name in disk.list("") if name.endswith("-delete")] == []
    sync(again)
    if clean:
        store.close()
        disk.kill()
    else:
        disk.crash()

    assert contents(open_log(open_store(disk), id=OTHER_ID)) == [bytes(batch.data)]


def test_the_longest_name_can_be_deleted() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = store.open_log("t" * 249, ID, 99999, SMALL, NOW)
    append(log)
    store.delete_log(log)

    assert all(len(name) <= 255 for name in disk.list(""))


def test_strangers_are_set_aside_and_kept() -> None:
    disk = sim_disk()
    store = open_store(disk)
    for topic, id in (("known", ID), ("gone", OTHER_ID)):
        log = open_log(store, topic=topic, id=id)
        append(log, 2)
    store.close()
    disk.kill()

    store = open_store(disk)
    open_log(store, topic="known")
    assert store.discard_strangers({"known": ID}) == ["gone-0"]
    assert disk.exists(f"{OTHER_ID.hex}.0-stray")
    sweep = store.sweep(NOW)
    assert sweep is None
    store.close()
    disk.kill()
    store = open_store(disk)
    assert store.strays == [f"{OTHER_ID.hex}.0-stray"]


def test_a_checkpoint_is_written_only_when_there_is_something_new() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    append(log)
    sync(log)
    store.checkpoint()
    assert store.checkpointing() is None
    append(log)
    assert store.checkpointing() is None  # not synced, so not new
    sync(log)
    assert store.checkpointing() is not None


def test_after_a_failed_sync_nothing_is_written_and_the_next_life_finds_what_was_safe() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    batches = append(log, 3)
    sync(log)
    append(log, 2)
    disk.failing_syncs = 1
    pending = log.unsynced()
    assert pending is not None
    with pytest.raises(DiskFailed):
        pending.run()
    assert log.synced_offset == 3
    with pytest.raises(DiskFailed):
        log.append(make_batch(5), NOW)
    with pytest.raises(DiskFailed):
        store.close()
    disk.kill()

    store = open_store(disk)
    assert not store.was_clean
    found = contents(open_log(store))
    assert found[:3] == [bytes(batch.data) for batch in batches]
    disk.crash()
    assert contents(open_log(open_store(disk)))[: len(found)] == found


@pytest.mark.parametrize("which", range(12))
def test_a_failed_sync_of_anything_is_final(which: int) -> None:
    """Of the metadata, a closed segment, its indexes, the epochs, the directory: none is tried again."""
    disk = sim_disk()
    log = open_log(open_store(disk))
    for number in range(30):
        log.append(make_batch(number, [b"v" * 50], epoch=number // 10), NOW)
    pending = log.unsynced()
    assert pending is not None
    disk.failing_syncs, disk.good_syncs = 1, which
    with pytest.raises(DiskFailed):
        pending.run()
    syncs = disk.syncs
    with pytest.raises(DiskFailed):
        pending.run()
    with pytest.raises(DiskFailed):
        log.append(make_batch(30), NOW)
    assert disk.syncs == syncs
    assert log.synced_offset == 0


@pytest.mark.parametrize("which", range(12))
def test_what_is_synced_after_a_life_that_died_of_a_failed_sync_survives_a_power_cut(which: int) -> None:
    """Whatever it was that failed first: what lies in the cache since then is nowhere else."""
    disk = sim_disk()
    log = open_log(open_store(disk))
    for number in range(30):
        log.append(make_batch(number, [b"v" * 50], epoch=number // 10), NOW)
    pending = log.unsynced()
    assert pending is not None
    disk.failing_syncs, disk.good_syncs = 1, which
    with pytest.raises(DiskFailed):
        pending.run()
    disk.kill()

    log = open_log(open_store(disk))
    for _ in range(3):
        log.append(make_batch(log.end_offset, epoch=3), NOW)
    sync(log)
    found = contents(log)
    disk.crash()
    assert contents(open_log(open_store(disk))) == found


def test_where_syncing_is_left_to_the_system_only_closed_segments_are_synced() -> None:
    disk = sim_disk()
    store = open_store(disk)
    config = SMALL.__class__(segment_bytes=1024, flush_policy="os")
    log = open_log(store, config)
    append(log, 3)
    assert log.unsynced() is None
    assert log.safe_offset == 3
    append(log, 20)
    assert len(log.segments) == 3
    sync(log)
    assert log.synced_offset == log.segments[-1].base_offset
    assert log.unsynced() is None
    synced = log.synced_offset
    disk.crash()

    log = open_log(open_store(disk), config)
    assert log.end_offset >= synced


def test_sizes_are_told() -> None:
    store: Store = open_store(sim_disk())
    log = open_log(store)
    batches = append(log, 4)

    assert log.size_bytes == sum(batch.size for batch in batches) == store.size_bytes
    assert log.appended_bytes == log.size_bytes


def test_a_topic_made_again_never_believes_the_old_ones_recovery_point() -> None:
    disk: SimDisk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    append(log, 9)
    sync(log)
    store.checkpoint()
    store.delete_log(log)
    log = open_log(store, id=OTHER_ID)
    append(log, 2)
    sync(log)
    disk.kill()

    log = open_log(open_store(disk), id=OTHER_ID)
    assert not log.offline
    assert log.end_offset == 2
