"""Group commit: one sync serves many, nobody is told too early, and a failed sync ends it all."""

import asyncio
import errno
import os
import threading
from pathlib import Path
from random import Random

import pytest
from tests.broker.support import SESSION, batch, running
from tests.env.roomy import held_bytes, roomy

from millstream.broker import commit
from millstream.broker.broker import Broker
from millstream.broker.topics import NewTopic
from millstream.broker.waiting import Hosted
from millstream.env.disk import RealDisk
from millstream.errors import ErrorCode, Refused
from millstream.sim.disk import SimDisk
from millstream.storage.log import Sync

__all__ = ["roomy"]


def test_appends_that_come_together_share_a_sync_and_are_hidden_until_then() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            partition = broker.topics.hosted("t", 0).partition
            syncs = broker._commit.syncs
            accepted = [broker.produce(SESSION, "t", 0, batch(), -1) for _ in range(50)]
            assert partition.log.end_offset == 50
            assert partition.high_watermark == 0
            assert partition.read(0, 1000) is None
            for each in accepted:
                assert each.safe is not None
                await each.safe
            assert partition.high_watermark == 50
            assert broker._commit.syncs - syncs <= 2

    asyncio.run(story())


def test_a_topic_that_leaves_syncing_to_the_system_commits_at_once() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs={"flush.policy": "os"})])
            accepted = broker.produce(SESSION, "t", 0, batch(), -1)
            assert accepted.safe is None
            assert broker.topics.hosted("t", 0).partition.high_watermark == 1

    asyncio.run(story())


def test_what_a_producer_sends_again_waits_for_the_first_to_be_safe() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            first = broker.produce(SESSION, "t", 0, batch(producer_id=5, sequence=0), -1)
            again = broker.produce(SESSION, "t", 0, batch(producer_id=5, sequence=0), -1)
            assert again.appended.base_offset == first.appended.base_offset == 0
            assert again.safe is not None
            await again.safe
            assert broker.topics.hosted("t", 0).partition.log.end_offset == 1

    asyncio.run(story())


def test_after_a_failed_sync_nothing_is_acknowledged_any_more() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        with pytest.raises(OSError):  # the goodbye fails too, as it must
            async with running(disk) as broker:
                await broker.create_topics(SESSION, [NewTopic("t")])
                disk.failing_syncs = 1
                accepted = broker.produce(SESSION, "t", 0, batch(), -1)
                assert accepted.safe is not None
                with pytest.raises(Refused) as refused:
                    await accepted.safe
                assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
                assert broker.broken.done()
                with pytest.raises(Refused):
                    broker.produce(SESSION, "t", 0, batch(), -1)
                assert broker.topics.hosted("t", 0).partition.high_watermark == 0

    asyncio.run(story())


@pytest.mark.parametrize("acks", [-2, 2, 100])
def test_acks_are_0_1_or_all(acks: int) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            with pytest.raises(Refused) as refused:
                broker.produce(SESSION, "t", 0, batch(), acks)
            assert refused.value.code is ErrorCode.INVALID_REQUIRED_ACKS

    asyncio.run(story())


class Watched:
    """How long each sync seems to take, and in which threads they were made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.takes_us = 100.0
        self.on_loop: list[bool] = []
        run = commit._timed

        def timed(sync: Sync) -> tuple[float, OSError | None]:
            self.on_loop.append(threading.current_thread() is threading.main_thread())
            return self.takes_us, run(sync)[1]

        monkeypatch.setattr(commit, "_timed", timed)


async def _write(broker: Broker, *indexes: int) -> None:
    accepted = [broker.produce(SESSION, "t", index, batch(), -1) for index in indexes]
    for each in accepted:
        assert each.safe is not None
        await each.safe


def test_a_quick_disk_is_synced_on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            watched = Watched(monkeypatch)
            await _write(broker, 0)  # its first, with its directory: nobody knows how long that takes
            await _write(broker, 0)
            assert watched.on_loop == [False, False]

            for _ in range(5):
                await _write(broker, 0)
            assert watched.on_loop[2:] == [True] * 5
            assert broker.topics.hosted("t", 0).partition.high_watermark == 7

    asyncio.run(story())


def test_a_disk_that_has_become_slow_is_synced_in_threads_until_it_is_quick_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            watched = Watched(monkeypatch)
            for _ in range(3):
                await _write(broker, 0)
            watched.on_loop.clear()

            watched.takes_us = 50_000.0
            await _write(broker, 0)
            watched.takes_us = 100.0
            for _ in range(50):
                await _write(broker, 0)
            assert watched.on_loop[:2] == [True, False]  # that it would be slow nobody could know
            assert watched.on_loop[-1:] == [True]

    asyncio.run(story())


def test_several_logs_sync_side_by_side_however_quick_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 2)])
            watched = Watched(monkeypatch)
            for _ in range(3):
                await _write(broker, 0)
                await _write(broker, 1)
            watched.on_loop.clear()
            await _write(broker, 0, 1)
            assert watched.on_loop == [False, False]

    asyncio.run(story())


def test_a_setting_keeps_syncs_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1)), settings={"sync.on.loop.us": 0}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            watched = Watched(monkeypatch)
            for _ in range(5):
                await _write(broker, 0)
            assert watched.on_loop == [False] * 5

    asyncio.run(story())


def test_a_sync_that_fails_on_the_loop_ends_it_all_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        with pytest.raises(OSError):
            async with running(disk) as broker:
                await broker.create_topics(SESSION, [NewTopic("t")])
                watched = Watched(monkeypatch)
                for _ in range(3):
                    await _write(broker, 0)
                disk.failing_syncs = 1
                with pytest.raises(Refused) as refused:
                    await _write(broker, 0)
                assert watched.on_loop[-1]
                assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
                assert broker.broken.done()
                assert broker.topics.hosted("t", 0).partition.high_watermark == 3

    asyncio.run(story())


def test_one_that_fails_when_it_is_told_keeps_nobody_else_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: Refused | None) -> None:
        raise ValueError("a bug of ours")

    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            hosted = broker.topics.hosted("t", 0)
            for _ in range(3):
                appended = broker.produce(SESSION, "t", 0, batch(), -1).appended
                assert hosted.when_safe(appended.end_offset, fail)
                accepted = broker.produce(SESSION, "t", 0, batch(), -1)
                assert accepted.safe is not None
                await asyncio.wait_for(accepted.safe, 60)
            await asyncio.wait_for(broker._commit.drained(), 60)

    asyncio.run(story())
    assert "a bug of ours" in caplog.text


def test_a_fault_in_the_midst_of_a_commit_does_not_stop_the_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with running(SimDisk(Random(1))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            hosted = broker.topics.hosted("t", 0)
            with monkeypatch.context() as patch:
                patch.setattr(Hosted, "committed", _fail)
                broker.produce(SESSION, "t", 0, batch(), -1)
                await asyncio.wait_for(broker._commit.settled(hosted), 60)
            accepted = broker.produce(SESSION, "t", 0, batch(), -1)
            assert accepted.safe is not None
            await asyncio.wait_for(accepted.safe, 60)

    asyncio.run(story())


def _fail(_: Hosted) -> None:
    raise ValueError("a bug of ours")


def test_headroom_is_there_while_a_log_is_written_to(tmp_path: Path) -> None:
    async def story() -> None:
        disk = RealDisk(str(tmp_path))
        async with running(disk) as broker:
            broker.store.space.look()
            await broker.create_topics(SESSION, [NewTopic("t")])
            log = broker.topics.hosted("t", 0).partition.log
            for _ in range(20):
                accepted = broker.produce(SESSION, "t", 0, batch(), -1)
                assert accepted.safe is not None
                await accepted.safe
            await broker._commit.drained()
            path = tmp_path / "t-0" / f"{0:020d}.log"
            assert os.stat(path).st_size > log.size_bytes
            for _ in range(2):
                broker._commit.tick()
            assert os.stat(path).st_size == log.size_bytes
            assert not broker._commit._roomy
        disk.close()

    asyncio.run(story())


def test_headroom_that_cannot_be_given_back_just_now_is_given_back_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_descriptor(*_: object) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    async def story() -> None:
        disk = RealDisk(str(tmp_path))
        async with running(disk) as broker:
            broker.store.space.look()
            await broker.create_topics(SESSION, [NewTopic("t")])
            for _ in range(20):
                accepted = broker.produce(SESSION, "t", 0, batch(), -1)
                assert accepted.safe is not None
                await accepted.safe
            await broker._commit.drained()
            with monkeypatch.context() as patch:
                patch.setattr(os, "ftruncate", no_descriptor)
                broker._commit.give_back_room()
            assert not broker.broken.done()
            assert broker._commit._roomy
            broker._commit.give_back_room()
            assert not broker._commit._roomy
            log = broker.topics.hosted("t", 0).partition.log
            assert os.stat(tmp_path / "t-0" / f"{0:020d}.log").st_size == log.size_bytes
        disk.close()

    asyncio.run(story())


def test_ground_is_laid_for_a_topic_that_grows_and_given_back_when_it_is_at_rest(roomy: Path) -> None:
    """Where syncing is left to the system; else it would wait for the disk anyway."""

    async def story() -> None:
        disk = RealDisk(str(roomy))
        async with running(disk) as broker:
            broker.store.space.look()
            await broker.create_topics(
                SESSION, [NewTopic("os", configs={"flush.policy": "os"}), NewTopic("t")]
            )
            for topic in ("os", "t"):
                for _ in range(40):
                    accepted = broker.produce(SESSION, topic, 0, batch(value=b"v" * 100_000), -1)
                    if accepted.safe is not None:
                        await accepted.safe
            file = roomy / "os-0" / f"{0:020d}.log"
            assert list(broker._commit._roomy) == [broker.topics.hosted("os", 0)]
            assert held_bytes(file) > 5 << 20
            assert broker.topics.hosted("t", 0).partition.log._ground is None
            broker._commit.give_back_room()
            assert not broker._commit._roomy
            assert held_bytes(file) < 5 << 20
        disk.close()

    asyncio.run(story())
