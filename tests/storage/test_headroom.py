"""Headroom: made where it pays, and never taken for anything that was written."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.storage.helpers import SMALL, append, contents, open_log, open_store, sim_disk, sync

from millstream.sim.disk import SimDisk
from millstream.storage.config import LogConfig
from millstream.storage.headroom import _LEAST_BYTES, _MOST_BYTES, _OFTEN, _SMALL_BYTES
from millstream.storage.log import Log
from millstream.storage.segment import LOG, file_name
from millstream.storage.space import Space

LARGE = LogConfig(segment_bytes=1 << 30)


ENOUGH = _OFTEN + 1  # at the first it is seen for the first time


def often(log: Log, size: int = 20, times: int = ENOUGH) -> None:
    """Sync so many times, with something new each time."""
    for _ in range(times):
        append(log, size=size)
        synced(log)


def synced(log: Log) -> None:
    sync(log)
    log.lay_headroom(lambda size: True)


def left_bytes(disk: SimDisk, log: Log, segment: int = -1) -> int:
    """How large the file is to who comes after this life."""
    disk.kill()
    path = f"{log.name}/{file_name(log.segments[segment].base_offset, LOG)}"
    disk.open(path)
    return disk.size(path)


def test_is_made_for_a_log_that_is_synced_often_a_little_at_a_time() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log)
    assert left_bytes(disk, log) == log.size_bytes + _LEAST_BYTES


def test_is_not_made_before_it_has_shown_to_be_worth_it() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log, times=ENOUGH - 1)
    assert left_bytes(disk, log) == log.size_bytes


def test_syncs_that_are_told_together_count_one_by_one() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    for _ in range(ENOUGH):
        for _ in range(3):
            append(log, size=_SMALL_BYTES // 2)
            sync(log)
        log.lay_headroom(lambda size: True, 3)
    assert left_bytes(disk, log) > log.size_bytes + _SMALL_BYTES


def test_is_not_made_where_all_would_be_written_twice() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log, size=_SMALL_BYTES)
    assert left_bytes(disk, log) == log.size_bytes


def test_is_for_some_more_syncs_of_the_same_size_and_not_without_end() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log, size=_SMALL_BYTES - 1000)
    assert left_bytes(disk, log) == log.size_bytes + _MOST_BYTES


def test_does_not_go_beyond_what_a_segment_may_have() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LogConfig(segment_bytes=4096))
    often(log)
    assert log.size_bytes < left_bytes(disk, log) <= 4096


def test_goes_with_the_segment_it_was_made_for() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LogConfig(segment_bytes=4096))
    often(log)
    while len(log.segments) == 1:
        append(log, size=500)
    assert (
        left_bytes(disk, log, 0) == log.segments[0].size_bytes
    )  # before any sync: who is killed keeps the rest


def test_is_cut_off_by_a_clean_stop() -> None:
    disk = sim_disk()
    store = open_store(disk)
    log = open_log(store, LARGE)
    often(log)
    kept = contents(log)
    store.close()
    assert left_bytes(disk, log) == log.size_bytes
    disk.crash()
    store = open_store(disk)
    assert contents(open_log(store, LARGE)) == kept
    assert store.was_clean


def test_a_killed_log_ends_where_it_did_and_nothing_is_said_to_be_torn() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log)
    append(log)
    kept = contents(log, log.end_offset)
    disk.kill()
    store = open_store(disk)
    log = open_log(store, LARGE)
    assert contents(log) == kept
    assert store.recoveries == {}
    often(log)
    assert len(contents(log)) == len(kept) + ENOUGH


@given(
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=60),
    safe=st.integers(0, 59),
    config=st.sampled_from([SMALL, LARGE]),
    seed=st.integers(0, 2**32),
)
def test_what_was_synced_survives_a_power_cut(
    sizes: list[int], safe: int, config: LogConfig, seed: int
) -> None:
    disk = sim_disk(seed)
    log = open_log(open_store(disk), config)
    for number, size in enumerate(sizes):
        append(log, size=size)
        if number < safe:
            synced(log)
    written = contents(log, log.end_offset)
    disk.crash()

    store = open_store(disk)
    log = open_log(store, config)
    found = contents(log)
    assert log.failure is None
    safe = min(safe, len(sizes))
    assert found[:safe] == written[:safe]
    append(log)
    sync(log)
    assert contents(log)[:-1] == found


def test_is_not_made_on_a_disk_that_has_nothing_to_spare() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    asked: list[int] = []

    def refuse(size: int) -> bool:
        asked.append(size)
        return False

    for _ in range(2 * ENOUGH):
        append(log)
        sync(log)
        log.lay_headroom(refuse)
    assert asked[:1] == [_LEAST_BYTES]
    assert left_bytes(disk, log) == log.size_bytes


def test_is_given_back_by_a_log_that_is_no_longer_written_to() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log)
    assert log.tick_room()
    often(log, times=1)
    assert log.tick_room()  # it was used since
    assert not log.tick_room()
    assert not log.tick_room()
    kept = contents(log)
    assert left_bytes(disk, log) == log.size_bytes
    assert contents(open_log(open_store(disk), LARGE)) == kept


def test_is_made_again_for_a_log_that_is_written_to_again() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log)
    while log.tick_room():
        pass
    often(log)
    assert left_bytes(disk, log) > log.size_bytes


def test_a_stop_after_it_was_given_back_is_as_clean_as_any() -> None:
    for seed in range(20):
        disk = sim_disk(seed)
        store = open_store(disk)
        log = open_log(store, LARGE)
        often(log)
        while log.tick_room():
            pass
        kept = contents(log)
        store.close()
        disk.crash()
        log = open_log(open_store(disk), LARGE)
        assert log.failure is None
        assert contents(log) == kept


def test_goes_with_what_is_cut_off() -> None:
    store = open_store(sim_disk())
    log = open_log(store, LogConfig(segment_bytes=4096))
    while len(log.segments) < 3:
        often(log, size=100, times=1)
    often(log, times=4)
    store.truncate(log, log.segments[1].base_offset)
    often(log, times=2)
    store.close()


def test_a_log_that_is_offline_is_left_as_it_is() -> None:
    disk = sim_disk()
    log = open_log(open_store(disk), LARGE)
    often(log, times=ENOUGH - 1)
    append(log)
    sync(log)
    log.take_offline("for a test")
    log.lay_headroom(lambda size: True)
    assert left_bytes(disk, log) == log.size_bytes


def test_zeros_that_the_disk_did_not_hear_are_gone_cost_nothing_that_came_after() -> None:
    """A segment is closed, its zeros are cut off, the next is written to; before a sync the power goes."""
    seen = set()
    for seed in range(60):
        disk = sim_disk(seed)
        store = open_store(disk)
        log = open_log(store, LogConfig(segment_bytes=4096))
        often(log)
        store.checkpoint()
        safe = contents(log)
        while len(log.segments) == 1:
            append(log, size=500)
        append(log, 2)
        written = contents(log, log.end_offset)
        disk.crash()
        log = open_log(open_store(disk), LogConfig(segment_bytes=4096))
        assert log.failure is None
        found = contents(log)
        assert found[: len(safe)] == safe
        assert len(found) <= len(written)
        seen.add(len(found))
    assert len(seen) > 2


def test_the_disk_has_an_eighth_to_spare_of_what_is_far_from_the_floor() -> None:
    disk = SimDisk(Random(1), capacity=1_000_000)
    space = Space(disk, min_free_percent=10.0)
    assert not space.may_take(1)  # nobody has looked yet
    space.look()
    assert not space.may_take(100_001)
    assert space.may_take(60_000)
    assert space.may_take(40_000)
    assert not space.may_take(1)
    space.look()
    assert space.may_take(1)
    disk.open("full", create=True).append(bytes(800_000))
    space.look()
    assert not space.is_full
    assert not space.may_take(1)
