"""The registry of one node: what it says is done stays done, whatever the disk forgets."""

import asyncio
import contextlib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.env.disk import Disk, DiskFailed, RealDisk
from millstream.env.local import LocalRegistry, RegistryDamaged
from millstream.env.registry import ABSENT
from millstream.sim.disk import PowerCut, SimDisk


async def opened(disk: Disk) -> LocalRegistry:
    registry = LocalRegistry(disk)
    await registry.start()
    return registry


async def contents(registry: LocalRegistry) -> dict[str, bytes]:
    return {item.key: item.value for item in await registry.range("")}


def test_a_change_survives_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        registry = await opened(RealDisk(str(tmp_path)))
        assert await registry.change({"a": b"1", "b": b"2"}, {"a": ABSENT})
        assert await registry.change({"b": None}, {})
        await registry.stop()

        assert await contents(await opened(RealDisk(str(tmp_path)))) == {"a": b"1"}

    asyncio.run(story())


def test_a_decision_made_on_old_news_changes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        registry = await opened(RealDisk(str(tmp_path)))
        first = await registry.change({"a": b"1"}, {"a": ABSENT})
        assert await registry.change({"a": b"2"}, {"a": first}) > first
        assert await registry.change({"a": b"3"}, {"a": first}) == ABSENT
        assert await registry.change({"a": b"3"}, {"a": ABSENT}) == ABSENT
        assert await contents(registry) == {"a": b"2"}

    asyncio.run(story())


def test_a_caller_that_goes_away_does_not_stop_its_change(tmp_path: Path) -> None:
    async def story() -> None:
        registry = await opened(RealDisk(str(tmp_path)))
        task = asyncio.create_task(registry.change({"a": b"1"}, {}))
        await asyncio.sleep(0)
        task.cancel()
        await registry.change({"b": b"2"}, {})
        assert await contents(registry) == {"a": b"1", "b": b"2"}

    asyncio.run(story())


@settings(deadline=None, max_examples=60)
@given(
    changes=st.lists(
        st.dictionaries(st.sampled_from("abcde"), st.none() | st.binary(max_size=900), max_size=3)
    ),
    seed=st.integers(0, 2**32),
)
def test_what_was_changed_survives_a_power_cut(changes: list[dict[str, bytes | None]], seed: int) -> None:
    async def story() -> None:
        disk = SimDisk(Random(seed))
        registry = await opened(disk)
        expected: dict[str, bytes] = {}
        for change in changes:
            assert await registry.change(change, {})
            for key, value in change.items():
                expected.pop(key, None)
                if value is not None:
                    expected[key] = value
        disk.crash()

        assert await contents(await opened(disk)) == expected

    asyncio.run(story())


@pytest.mark.parametrize("changes", range(12))
def test_what_a_start_finds_survives_a_power_cut(changes: int) -> None:
    """The last life may have been killed before it synced what it wrote."""

    async def life(disk: SimDisk) -> dict[str, bytes]:
        registry = await opened(disk)
        found = await contents(registry)
        await registry.change({"a": b"1"}, {})
        return found

    for seed in range(5):
        disk = SimDisk(Random(seed))
        disk.cut_after = changes
        with contextlib.suppress(PowerCut):
            asyncio.run(life(disk))
        disk.kill()
        registry = asyncio.run(opened(disk))
        found = asyncio.run(contents(registry))
        disk.crash()

        assert asyncio.run(contents(asyncio.run(opened(disk)))) == found


def test_a_history_that_cannot_be_shortened_for_want_of_space_is_kept_as_it_is() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1), capacity=1_400_000)
        registry = await opened(disk)
        value = bytes(300_000)
        for number in range(4):
            assert await registry.change({"a": b"%d" % number + value}, {})
        disk.kill()
        assert await contents(await opened(disk)) == {"a": b"3" + value}

    asyncio.run(story())


def test_a_change_whose_sync_failed_is_not_believed_by_the_next_life() -> None:
    """The page cache still has it, and calls it clean; the disk has not, and would show that one day."""

    async def story() -> None:
        disk = SimDisk(Random(1))
        registry = await opened(disk)
        await registry.change({"a": b"1"}, {})
        disk.failing_syncs = 1
        with pytest.raises(DiskFailed):
            await registry.change({"b": b"2"}, {})
        disk.kill()

        registry = await opened(disk)
        assert await contents(registry) == {"a": b"1"}
        await registry.change({"c": b"3"}, {})
        disk.crash()
        assert await contents(await opened(disk)) == {"a": b"1", "c": b"3"}

    asyncio.run(story())


def test_a_torn_last_entry_is_cut_off_at_every_byte(tmp_path: Path) -> None:
    async def story() -> None:
        registry = await opened(RealDisk(str(tmp_path / "whole")))
        await registry.change({"a": b"1"}, {})
        file = tmp_path / "whole/registry/changes.log"
        before = file.read_bytes()
        await registry.change({"a": b"2", "b": b"x" * 40}, {})
        after = file.read_bytes()
        for end in range(len(before), len(after)):
            torn = tmp_path / f"torn{end}"
            (torn / "registry").mkdir(parents=True)
            (torn / "registry/changes.log").write_bytes(after[:end])
            assert await contents(await opened(RealDisk(str(torn)))) == {"a": b"1"}

    asyncio.run(story())


def test_damage_before_whole_entries_is_refused_and_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        registry = await opened(RealDisk(str(tmp_path)))
        await registry.change({"a": b"1"}, {})
        await registry.change({"b": b"2"}, {})
        file = tmp_path / "registry/changes.log"
        data = bytearray(file.read_bytes())
        data[14] ^= 1
        file.write_bytes(data)

        with pytest.raises(RegistryDamaged, match="restore it"):
            await opened(RealDisk(str(tmp_path)))
        assert file.read_bytes() == data

    asyncio.run(story())


def test_a_long_history_is_written_anew_and_says_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        registry = await opened(RealDisk(str(tmp_path)))
        for number in range(40):
            await registry.change({"big": b"%d" % number * 50_000, f"k{number % 3}": b"%d" % number}, {})
        expected = await contents(registry)
        assert (tmp_path / "registry/changes.log").stat().st_size < 2_500_000

        assert await contents(await opened(RealDisk(str(tmp_path)))) == expected

    asyncio.run(story())
