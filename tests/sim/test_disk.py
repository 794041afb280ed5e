import errno
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.env.disk import DirectoryInUse, DiskFailed
from millstream.sim.disk import SECTOR, PowerCut, SimDisk

SEEDS = range(60)


def test_keeps_what_was_synced() -> None:
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        file = disk.open("a", create=True)
        file.append(b"one ", b"two ")
        file.sync()
        disk.sync_dir("")
        file.append(b"three")
        disk.crash()

        assert disk.open("a").read(0, 8) == b"one two "


def outcomes(prepare: Callable[[SimDisk], None], path: str = "a") -> set[bytes | None]:
    """What may be left of a file after a power cut, over many seeds."""
    found: set[bytes | None] = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        prepare(disk)
        disk.crash()
        found.add(disk.open(path).read(0, disk.size(path)) if disk.exists(path) else None)
    return found


def test_unsynced_bytes_are_kept_cut_or_torn() -> None:
    def prepare(disk: SimDisk) -> None:
        file = disk.open("a", create=True)
        file.sync()
        disk.sync_dir("")
        file.append(b"x" * (3 * SECTOR))

    found = outcomes(prepare)
    whole = b"x" * (3 * SECTOR)
    assert any(each is not None and whole.startswith(each) and each != whole for each in found)
    assert any(each is not None and not whole.startswith(each) for each in found)
    assert None not in found


def test_a_name_is_safe_only_once_its_directory_is_synced() -> None:
    def prepare(disk: SimDisk) -> None:
        disk.open("a", create=True).sync()

    assert outcomes(prepare) == {None, b""}


def test_a_rename_is_whole_or_not_at_all() -> None:
    def prepare(disk: SimDisk) -> None:
        for name, data in (("a", b"old"), ("b", b"new")):
            file = disk.open(name, create=True)
            file.append(data)
            file.sync()
        disk.sync_dir("")
        disk.rename("b", "a")

    assert outcomes(prepare) == {b"old", b"new"}
    assert outcomes(prepare, "b") == {b"new", None}


def test_a_truncation_is_safe_only_once_synced() -> None:
    def prepare(disk: SimDisk) -> None:
        file = disk.open("a", create=True)
        file.append(b"0123456789")
        file.sync()
        disk.sync_dir("")
        file.truncate(4)

    assert outcomes(prepare) == {b"0123", b"0123456789"}


def test_what_is_truncated_twice_may_come_back_whole() -> None:
    def prepare(disk: SimDisk) -> None:
        file = disk.open("a", create=True)
        file.append(b"0123456789")
        file.sync()
        disk.sync_dir("")
        file.truncate(6)
        file.append(b"ab")
        file.truncate(4)

    assert outcomes(prepare) == {b"0123", b"0123456789"}


def test_a_removed_file_may_come_back() -> None:
    def prepare(disk: SimDisk) -> None:
        file = disk.open("a", create=True)
        file.append(b"here")
        file.sync()
        disk.sync_dir("")
        disk.remove("a")

    assert outcomes(prepare) == {None, b"here"}


def test_a_removed_directory_may_come_back_in_part() -> None:
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        disk.make_dir("d")
        for name in "abc":
            disk.open(f"d/{name}", create=True).sync()
        disk.sync_dir("d")
        disk.sync_dir("")
        disk.remove_dir("d")
        assert not disk.exists("d")
        disk.crash()
        found.add(tuple(disk.list("d")) if disk.exists("d") else None)

    assert found == {("a", "b", "c"), ("b", "c"), ("c",), (), None}


def test_a_killed_process_loses_nothing_it_wrote() -> None:
    disk = SimDisk(Random(1))
    file = disk.open("a", create=True)
    file.append(b"all of it")
    disk.kill()

    assert disk.open("a").read(0, 99) == b"all of it"


@pytest.mark.parametrize("end", ["crash", "kill"])
def test_files_of_a_past_life_are_dead(end: str) -> None:
    disk = SimDisk(Random(1))
    file = disk.open("a", create=True)
    getattr(disk, end)()

    for use in (
        lambda: file.append(b"x"),
        lambda: file.read(0, 1),
        lambda: file.truncate(0),
        file.size,
        file.sync,
    ):
        with pytest.raises(PowerCut):
            use()


def test_one_life_holds_the_lock() -> None:
    disk = SimDisk(Random(1))
    lock = disk.lock(".lock")
    with pytest.raises(DirectoryInUse):
        disk.lock(".lock")
    lock.release()
    disk.lock(".lock")
    disk.kill()
    disk.lock(".lock")


def test_a_full_disk_takes_a_part_and_says_so() -> None:
    disk = SimDisk(Random(1), capacity=10)
    file = disk.open("a", create=True)
    file.append(b"1234567")
    with pytest.raises(OSError, match="no space") as caught:
        file.append(b"89", b"abc")

    assert caught.value.errno == errno.ENOSPC
    assert file.read(0, 99) == b"123456789a"
    assert disk.free_bytes() == 0
    with pytest.raises(OSError, match="no space"):
        disk.open("b", create=True)
    file.truncate(5)
    assert disk.free_bytes() == 5
    disk.open("b", create=True)


def test_a_failed_sync_fails_the_disk_for_good() -> None:
    disk = SimDisk(Random(1))
    file = disk.open("a", create=True)
    file.append(b"x")
    disk.failing_syncs = 1

    for use in (file.sync, file.sync, lambda: file.append(b"y"), lambda: disk.sync_dir("")):
        with pytest.raises(DiskFailed):
            use()


def test_a_sync_that_succeeds_after_one_that_failed_proves_nothing() -> None:
    disk = SimDisk(Random(1), forgiving=True)
    file = disk.open("a", create=True)
    disk.sync_dir("")
    file.append(b"kept")
    file.sync()
    file.append(b"lost")
    disk.failing_syncs = 1
    with pytest.raises(DiskFailed):
        file.sync()
    file.append(b"kept")
    file.sync()

    assert file.read(0, 99) == b"keptlostkept"  # the cache does not know
    disk.crash()
    assert disk.open("a").read(0, 99) == b"kept\0\0\0\0kept"


def test_forgetting_the_cache_shows_what_a_failed_sync_has_lost() -> None:
    disk = SimDisk(Random(1))
    file = disk.open("a", create=True)
    file.append(b"kept")
    file.sync()
    file.append(b"lost")
    disk.failing_syncs = 1
    with pytest.raises(DiskFailed):
        file.sync()
    disk.kill()

    file = disk.open("a")
    file.append(b"new")
    assert file.read(0, 99) == b"keptlostnew"
    file.forget()
    assert file.read(0, 99) == b"kept\0\0\0\0new"


def test_the_power_goes_after_so_many_changes() -> None:
    disk = SimDisk(Random(1))
    file = disk.open("a", create=True)
    disk.cut_after = 2
    file.append(b"x")
    file.sync()
    for use in (file.sync, lambda: disk.sync_dir(""), lambda: disk.rename("a", "b")):
        with pytest.raises(PowerCut):
            use()


@given(seed=st.integers(0, 1 << 32), sizes=st.lists(st.integers(0, 2000), max_size=8))
def test_the_same_seed_forgets_the_same(seed: int, sizes: list[int]) -> None:
    def leftover() -> list[tuple[str, bytes]]:
        disk = SimDisk(Random(seed))
        for number, size in enumerate(sizes):
            file = disk.open(f"f{number % 3}", create=True)
            file.append(bytes(range(256)) * (size // 256 + 1))
            if size % 2:
                disk.sync_dir("")
        disk.crash()
        return [(name, disk.open(name).read(0, 1 << 20)) for name in disk.list("")]

    assert leftover() == leftover()
