"""The disk in memory: it does what the real one does, and has an end."""

import asyncio
import errno
import tempfile
import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.env.disk import DirectoryInUse, Disk, RealDisk
from millstream.env.memory import MemoryDisk, MemoryRegistry
from millstream.env.registry import ABSENT

NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "e/a"])
STEPS = st.one_of(
    st.tuples(st.just("append"), NAMES, st.binary(max_size=9)),
    st.tuples(st.just("truncate"), NAMES, st.integers(0, 12)),
    st.tuples(st.just("make_dir"), st.sampled_from(["d", "e"]), st.none()),
    st.tuples(st.just("remove"), st.sampled_from(["a", "b", "d/a", "d/b", "e/a"]), st.none()),
    st.tuples(st.just("remove_dir"), st.sampled_from(["d", "e"]), st.none()),
    st.tuples(st.just("rename"), st.sampled_from(["a", "d/a", "e/a"]), st.sampled_from(["b", "d/b", "e/a"])),
    st.tuples(st.just("rename"), st.just("d"), st.just("e2")),
)


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=25))
def test_it_does_what_a_real_disk_does(steps: list[tuple[str, str, object]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        real, memory = RealDisk(root), MemoryDisk(1 << 20)
        try:
            for step in steps:
                assert _outcome(real, *step) == _outcome(memory, *step), step
                assert _everything(real) == _everything(memory)
                assert memory.used == sum(map(len, _everything(memory).values()))
        finally:
            real.close()


def test_what_does_not_fit_fails_as_on_a_full_disk() -> None:
    disk = MemoryDisk(10)
    file = disk.open("a", create=True)
    file.append(b"12345678")

    with pytest.raises(OSError, match="no space") as failure:
        file.append(b"9", b"0ab")
    assert failure.value.errno == errno.ENOSPC
    assert file.read(0, 20) == b"1234567890"
    assert disk.free_bytes() == 0
    with pytest.raises(OSError, match="no space"):
        disk.open("b", create=True)
    with pytest.raises(OSError, match="no space"):
        disk.make_dir("d")

    file.truncate(4)
    disk.open("b", create=True).append(b"123456")
    assert disk.free_bytes() == 0


def test_a_file_stays_good_when_its_name_changes() -> None:
    disk = MemoryDisk(100)
    disk.make_dir("d")
    file = disk.open("d/a", create=True)
    file.append(b"x")
    disk.rename("d", "gone")

    file.append(b"y")

    assert disk.open("gone/a").read(0, 9) == b"xy"


def test_threads_that_share_it_count_right() -> None:
    disk = MemoryDisk(1 << 20)

    def write(name: str) -> None:
        for _ in range(500):
            file = disk.open(name, create=True)
            file.append(b"12345")
            file.truncate(3)
            file.truncate(0)
            disk.remove(name)

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (disk.used, disk.list("")) == (0, [])


def test_it_serves_one_node_at_a_time() -> None:
    disk = MemoryDisk(100)
    lock = disk.lock(".lock")
    with pytest.raises(DirectoryInUse):
        disk.lock(".lock")
    lock.release()
    disk.lock(".lock")


async def _registry() -> None:
    registry = MemoryRegistry()
    await registry.start()
    first = await registry.change({"a": b"1", "b": b"2"}, {"a": ABSENT})
    assert first != ABSENT
    assert await registry.change({"a": b"3"}, {"a": ABSENT}) == ABSENT
    second = await registry.change({"a": None, "b": b"4"}, {"a": first, "b": first})
    assert second > first
    assert [(item.key, item.value, item.revision) for item in await registry.range("")] == [
        ("b", b"4", second)
    ]
    assert await registry.range("x") == []


def test_a_change_decided_on_old_news_is_turned_down() -> None:
    asyncio.run(_registry())


def _outcome(disk: Disk, what: str, path: str, more: object) -> object:
    calls: dict[str, Callable[[], object]] = {
        "append": lambda: disk.open(path, create=True).append(more),  # type: ignore[arg-type]
        "truncate": lambda: disk.open(path).truncate(more),  # type: ignore[arg-type]
        "make_dir": lambda: disk.make_dir(path),
        "remove": lambda: disk.remove(path),
        "remove_dir": lambda: disk.remove_dir(path),
        # Onto a directory nobody renames: a disk that is asked to is no longer trusted.
        "rename": lambda: None if disk.exists("e2") and path == "d" else disk.rename(path, str(more)),
    }
    try:
        return calls[what]()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        return type(error)


def _everything(disk: Disk, path: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in disk.list(path):
        inner = f"{path}/{name}" if path else name
        try:
            found |= {f"{inner}/": b""} | _everything(disk, inner)
        except NotADirectoryError:
            file = disk.open(inner)
            found[inner] = file.read(0, file.size())
    return found
