"""A registry on a disk that refuses: the client is told, and the broker if it is for good."""

import asyncio
from random import Random

import pytest

from millstream.broker.disk_errors import GuardedRegistry
from millstream.env.local import LocalRegistry
from millstream.errors import ErrorCode, Refused
from millstream.sim.disk import SimDisk
from millstream.sim.loop import SimLoop
from millstream.storage.space import BALLAST, Space


async def guarded(disk: SimDisk) -> tuple[GuardedRegistry, list[OSError]]:
    failures: list[OSError] = []
    registry = GuardedRegistry(LocalRegistry(disk), Space(disk), failures.append)
    await registry.start()
    return registry, failures


def test_a_full_disk_is_a_mood() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1), capacity=1000)
        registry, failures = await guarded(disk)
        with pytest.raises(Refused) as refusal:
            await registry.change({"a": bytes(2000)}, {})
        assert refusal.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert failures == []

        assert await registry.change({"a": b"small"}, {})
        assert [item.value for item in await registry.range("")] == [b"small"]

    asyncio.run(story())


def test_a_failed_sync_is_the_end() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        registry, failures = await guarded(disk)
        disk.failing_syncs = 1
        with pytest.raises(Refused) as refusal:
            await registry.change({"a": b"1"}, {})
        assert refusal.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert len(failures) == 1

    asyncio.run(story())


def test_a_full_disk_gives_up_its_reserve_for_a_change_that_may_free_it() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1), capacity=5000)
        registry, failures = await guarded(disk)
        disk.open(BALLAST, create=True).append(bytes(disk.free_bytes()))

        assert await registry.change({"a": None}, {})
        assert not disk.exists(BALLAST)
        assert failures == []

    asyncio.run(story())


def test_the_broker_is_told_even_if_the_client_has_gone() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        registry, failures = await guarded(disk)
        disk.failing_syncs = 1
        change = asyncio.ensure_future(registry.change({"a": b"1"}, {}))
        await asyncio.sleep(0)
        change.cancel()
        await asyncio.sleep(1)
        assert len(failures) == 1

    loop = SimLoop(1)
    loop.run_until_complete(story())
    loop.close()
    assert loop.mishaps == []
