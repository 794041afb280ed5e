"""What a broker does when the disk under it is slow, or fails where nobody is looking."""

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.broker.support import SESSION, batch, running

from millstream.broker import chores
from millstream.broker.topics import NewTopic
from millstream.env.disk import DiskFailed, RealDisk
from millstream.sim.disk import SimDisk


@pytest.mark.parametrize("under_way", ["/t-0/", ".cleaned"], ids=["sync", "compaction"])
def test_a_topic_s_files_stay_while_another_thread_works_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, under_way: str
) -> None:
    """What it writes it writes by name: by then a new topic of that name may have made a directory."""
    working, go_on = threading.Event(), threading.Event()
    sync = os.fdatasync

    def slowly(fd: int) -> None:
        if under_way in os.readlink(f"/proc/self/fd/{fd}"):
            working.set()
            assert go_on.wait(30)
        sync(fd)

    async def story() -> None:
        configs = {"cleanup.policy": "compact", "segment.bytes": "1024", "min.cleanable.dirty.ratio": "0"}
        async with running(RealDisk(str(tmp_path)), {"log.cleaner.backoff.ms": 1}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs=configs)])
            for _ in range(20):
                broker.produce(SESSION, "t", 0, batch(bytes(200)), -1)
            assert await asyncio.to_thread(working.wait, 30)
            deleting = asyncio.create_task(broker.delete_topic(SESSION, "t"))
            while "t" in broker.topics:  # noqa: ASYNC110 nobody is told when it goes
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)
            assert (tmp_path / "t-0").exists()
            go_on.set()
            await deleting
            assert not (tmp_path / "t-0").exists()
        assert not broker.broken.done()

    monkeypatch.setattr(os, "fdatasync", slowly)
    asyncio.run(story())


def test_a_sync_that_fails_while_the_broker_stops_does_not_keep_it_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = threading.Event()

    def failing(fd: int) -> None:
        if "/t-0/" in os.readlink(f"/proc/self/fd/{fd}"):
            assert stopping.wait(30)
            raise OSError(5, "Input/output error")

    async def story() -> None:
        async with asyncio.timeout(60), running(RealDisk(str(tmp_path))) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            broker.produce(SESSION, "t", 0, batch(), 0)
            asyncio.get_running_loop().call_later(0.05, stopping.set)

    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(DiskFailed):  # the goodbye fails too, as it must
        asyncio.run(story())


def test_a_failure_that_nobody_told_of_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with asyncio.timeout(60), running(disk) as broker:
            disk.failure = OSError(5, "Input/output error")
            assert await broker.broken is disk.failure
            disk.failure = None

    monkeypatch.setattr(chores, "_LOOK_SECONDS", 0.001)
    asyncio.run(story())


def test_a_full_disk_is_freed_though_the_first_log_has_no_room_to_roll() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        settings = {"log.retention.check.interval.ms": 5}
        async with asyncio.timeout(60), running(disk, settings) as broker:
            due = NewTopic("a", configs={"segment.ms": "1"})
            large = NewTopic("b", configs={"segment.bytes": "1024", "file.delete.delay.ms": "0"})
            await broker.create_topics(SESSION, [due, large])
            for topic, count in (("a", 1), ("b", 20)):
                for _ in range(count):
                    accepted = broker.produce(SESSION, topic, 0, batch(bytes(200)), -1)
                assert accepted.safe is not None
                await accepted.safe
            disk.capacity = 0
            broker.topics.hosted("a", 0).partition.log.segments[-1].created_ms = 0
            opened = broker.topics.hosted("b", 0).partition.log
            opened.config = replace(opened.config, retention_bytes=2048)
            while opened.start_offset == 0:  # noqa: ASYNC110  # upkeep tells nobody when it is done
                await asyncio.sleep(0.001)
            disk.capacity = None

    asyncio.run(story())
