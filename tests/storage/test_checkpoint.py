from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.sim.disk import PowerCut, SimDisk
from millstream.storage import checkpoint

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20), max_size=5)


@given(LINES)
def test_gives_back_what_was_written(lines: list[str]) -> None:
    disk = SimDisk(Random(1))
    checkpoint.write(disk, "point", lines)

    assert checkpoint.read(disk, "point") == lines


@given(st.integers(0, 20), st.integers(0, 1 << 32))
def test_is_always_the_old_or_the_new_one(cut_after: int, seed: int) -> None:
    """Whenever the power goes."""
    disk = SimDisk(Random(seed))
    old, new = ["a 1", "b 2"], ["a 3", "b 4", "c 5" * 300]
    checkpoint.write(disk, "point", old)
    disk.cut_after = cut_after
    written = False
    try:
        checkpoint.write(disk, "point", new)
        written = True
    except PowerCut:
        pass
    disk.crash()

    assert checkpoint.read(disk, "point") in ([new] if written else [old, new])


@given(st.data())
def test_any_changed_bit_is_noticed(data: st.DataObject) -> None:
    whole = checkpoint.encode(["orders-0 77 1200", "orders-1 77 4"])
    position = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[position] ^= 1 << data.draw(st.integers(0, 7))

    assert checkpoint.decode(bytes(flipped)) is None


def test_any_cut_is_noticed() -> None:
    whole = checkpoint.encode(["orders-0 77 1200", "orders-1 77 4"])

    assert all(checkpoint.decode(whole[:size]) is None for size in range(len(whole)))


def test_a_missing_file_is_not_an_empty_one() -> None:
    disk = SimDisk(Random(1))
    assert checkpoint.read(disk, "point") is None
    checkpoint.write(disk, "point", [])
    assert checkpoint.read(disk, "point") == []


def test_a_full_disk_leaves_the_old_one() -> None:
    disk = SimDisk(Random(1))
    checkpoint.write(disk, "point", ["old"])
    disk.capacity = disk.size("point") + 10
    with pytest.raises(OSError, match="no space"):
        checkpoint.write(disk, "point", ["new" * 20])

    assert checkpoint.read(disk, "point") == ["old"]
    assert disk.list("") == ["point"]
