"""A disk that fills up: nothing is torn, reads go on, and writing resumes when there is room."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.careless import FailingWrites, NoDescriptors
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

from millstream.env.disk import DiskFailed, RealDisk
from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.space import BALLAST, Space
from millstream.storage.store import CLEAN, Store


def fill(log: Log, size: int = 40) -> list[bytes]:
    """Append until the disk is full; return what was taken."""
    taken = []
    with pytest.raises(OSError, match="no space") as caught:
        while True:
            batch = make_batch(log.end_offset, [b"v" * size])
            log.append(batch, NOW)
            taken.append(bytes(batch.data))
    assert caught.value.errno == errno.ENOSPC
    assert not isinstance(caught.value, DiskFailed)
    return taken


@settings(deadline=None)
@given(room=st.integers(1, 4000), size=st.integers(0, 300), seed=st.integers(0, 1 << 32), crash=st.booleans())
def test_what_was_taken_is_there_and_the_rest_is_not(room: int, size: int, seed: int, crash: bool) -> None:
    """Wherever the disk fills up: at birth, in a batch, in a new segment, in an index."""
    disk = sim_disk(seed)
    store = open_store(disk)
    log = open_log(store)
    before = [bytes(batch.data) for batch in append(log, 3)] if room % 2 else []
    sync(log)
    disk.capacity = used(disk) + room
    taken = before + fill(log, size)
    assert contents(log) == taken
    sync(log)
    assert log.synced_offset == log.end_offset == len(taken)
    fill(log, size)
    assert contents(log) == taken

    disk.capacity = None
    batch = append(log)[0]
    sync(log)
    taken.append(bytes(batch.data))
    assert contents(log) == taken
    if crash:
        disk.crash()
    else:
        disk.kill()
    assert contents(open_log(open_store(disk))) == taken


def used(disk: SimDisk) -> int:
    return sum(disk.size(name) for name in disk.list("") if not name.startswith("orders")) + (
        sum(disk.size(f"orders-0/{name}") for name in disk.list("orders-0")) if disk.exists("orders-0") else 0
    )


def test_no_descriptor_to_be_had_is_not_the_disks_fault() -> None:
    disk = NoDescriptors(sim_disk())
    log = open_log(open_store(disk))
    batches = append(log, 2)
    disk.none_left = True
    with pytest.raises(OSError, match="too many") as caught:
        log.append(make_batch(2), NOW)
    assert not isinstance(caught.value, DiskFailed)
    disk.none_left = False
    batches += append(log, 1)

    assert contents(log) == [bytes(batch.data) for batch in batches]


def test_a_batch_that_could_not_be_noted_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last descriptor went to the log, and its index is still to be read."""
    config = LogConfig(index_interval_bytes=100)
    disk = RealDisk(str(tmp_path))
    store = open_store(disk)
    batches = append(open_log(store, config), 20)
    store.close()
    disk.close()
    store = open_store(disk)
    log = open_log(store, config)
    assert store.was_clean
    real = os.open

    def few(path: str, *args: Any, **options: Any) -> int:
        if path.endswith("index"):
            raise OSError(errno.EMFILE, "too many open files")
        return real(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", few)
        with pytest.raises(OSError, match="too many"):
            log.append(make_batch(20), NOW)
        with pytest.raises(OSError, match="too many"):
            log.place(0, NOW, NOW)
    assert log.segments[-1].file.size() == log.segments[-1].size_bytes
    batches += append(log, 3)
    assert contents(log) == [bytes(batch.data) for batch in batches]


def test_a_write_that_fails_for_another_reason_is_the_end() -> None:
    disk = FailingWrites(sim_disk())
    log = open_log(open_store(disk))
    append(log, 2)
    disk.failing = True
    with pytest.raises(DiskFailed):
        log.append(make_batch(2), NOW)


@pytest.mark.parametrize("room", range(0, 400, 7))
def test_a_checkpoint_that_does_not_fit_leaves_the_old_one(room: int) -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store)
    append(log, 5)
    sync(log)
    store.checkpoint()
    append(log, 5)
    sync(log)
    disk.capacity = used(disk) + room
    with_room = True
    try:
        store.checkpoint()
    except OSError:
        with_room = False
    disk.capacity = None
    assert (store.checkpointing() is None) == with_room  # it will be tried again
    disk.kill()

    log = open_log(open_store(disk))
    assert not log.offline
    assert log.end_offset == 10


def test_an_index_that_does_not_fit_is_done_without() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk))
    batches = append(log, 9)
    log.roll_if_due(NOW + SMALL.segment_ms)
    disk.capacity = used(disk) + 20
    sync(log)
    assert log.synced_offset == 9
    disk.capacity = None
    batches += append(log, 9)
    sync(log)
    disk.kill()

    log = open_log(open_store(disk))
    assert contents(log) == [bytes(batch.data) for batch in batches]


def test_the_ballast_is_for_a_clean_stop() -> None:
    disk = sim_disk()
    store = Store(disk, ballast_bytes=1 << 16)
    store.open()
    store.space.fill_ballast()
    assert disk.size(BALLAST) == 1 << 16
    log = open_log(store)
    batches = append(log, 30)
    disk.capacity = used(disk)
    sync(log)
    store.close()
    assert not disk.exists(BALLAST)
    assert disk.exists(CLEAN)
    disk.kill()

    store = open_store(disk)
    assert store.was_clean
    assert contents(open_log(store)) == [bytes(batch.data) for batch in batches]


def test_below_the_floor_nothing_more_is_taken_until_there_is_room() -> None:
    disk = sim_disk()
    disk.capacity = 1000
    space = Space(disk, ballast_bytes=0, min_free_percent=10)
    space.look()
    assert space.has_room()
    file = disk.open("a", create=True)
    file.append(bytes(901))
    assert space.has_room()  # it has not looked again
    space.look()
    assert not space.has_room()
    file.truncate(900)
    space.look()
    assert space.has_room()


def test_space_is_looked_at_again_after_many_bytes() -> None:
    disk = sim_disk()
    disk.capacity = 1 << 30
    space = Space(disk, ballast_bytes=0, min_free_percent=10)
    space.look()
    disk.capacity = 1 << 10
    disk.open("a", create=True).append(bytes(1000))

    taken = 0
    while space.has_room(1 << 20):
        taken += 1
    assert 4 < taken < 100


def test_the_ballast_gives_way_when_there_is_no_room_for_it() -> None:
    disk = sim_disk()
    disk.capacity = 100_000
    space = Space(disk, ballast_bytes=60_000)
    space.fill_ballast()
    assert not disk.exists(BALLAST)  # half of the disk is not for ballast
    space = Space(disk, ballast_bytes=40_000)
    space.fill_ballast()
    assert disk.size(BALLAST) == 40_000
    Space(disk, ballast_bytes=0).fill_ballast()
    assert not disk.exists(BALLAST)


def test_what_was_deleted_from_a_full_disk_is_noted() -> None:
    disk = sim_disk()
    store = Store(disk, ballast_bytes=4096)
    store.open()
    log = open_log(store)
    append(log, 5)
    sync(log)
    disk.capacity = used(disk) + 4096
    disk.open(BALLAST, create=True).append(bytes(4096))
    log.delete_before(3)
    store.checkpoint()
    disk.kill()

    assert not disk.exists(BALLAST)
    assert open_log(open_store(disk)).start_offset == 3


def test_a_full_disk_can_be_started_on_and_freed() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk))
    batches = [bytes(batch.data) for batch in append(log, 5)]
    sync(log)
    disk.kill()
    for _ in range(3):  # whether the last goodbye was believed or not
        disk.capacity = used(disk)
        store = open_store(disk)
        log = open_log(store)
        assert contents(log) == batches
        disk.capacity = None
        store.close()
        disk.kill()


@pytest.mark.parametrize("room", range(0, 200, 20))
def test_a_log_that_got_no_further_than_its_files_keeps_what_is_written_later(room: int) -> None:
    """Stopped cleanly it is opened unseen: so the names of its files must be safe by then."""
    for seed in range(5):
        disk = sim_disk(seed)
        store = open_store(disk)
        log = open_log(store)
        disk.capacity = used(disk) + room
        with contextlib.suppress(OSError):
            append(log)
        disk.capacity = None
        store.close()
        disk.kill()
        log = open_log(open_store(disk))
        append(log)
        sync(log)
        promised = contents(log)
        disk.crash()

        assert contents(open_log(open_store(disk))) == promised
