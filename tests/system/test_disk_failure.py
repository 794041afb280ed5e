"""A disk that fails: nothing more is acknowledged, and the next life finds all that was."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.support.server import Server
from tests.system import mutant
from tests.system.filesystem import FileSystem, Tmpfs
from tests.system.ledger import Ledger
from tests.system.load import Load, connected, create_topic, write, write_with_librdkafka
from tests.system.reading import read_all
from tests.system.short_life import CALLS, PARTITION, Life

from millstream.cli.exits import Exit
from millstream.client.producer import Producer
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused

pytestmark = pytest.mark.system

ALL = pytest.param(range(1, CALLS + 1), marks=[pytest.mark.long, pytest.mark.timeout(1800)], id="all")
SOME = pytest.param(sorted(Random().sample(range(1, 180), 5)), id="some")


@pytest.mark.parametrize("numbers", [SOME, ALL])
def test_a_call_that_fails_once_is_the_last(tmp_path: Path, numbers: Sequence[int]) -> None:
    for number in numbers:
        life = Life(tmp_path / str(number), tmp_path / f"report-{number}")
        life.live("eio", number, ends_by_itself=True)
        if life.was_struck:
            call, when, *_ = life.end
            assert life.exit_code in (Exit.DISK_FAILED, None), f"call {number}, {call}"
            assert max(life.answered, default=0.0) < float(when), f"call {number}, {call}"
        life.check()


def test_a_disk_that_really_fails_its_syncs(tmp_path: Path) -> None:
    """The file system lies on a device that takes less than it promised; ext4 then takes nothing any more."""
    with (
        Tmpfs(tmp_path / "thin", size_mb=40) as thin,
        FileSystem("ext4", thin.root, size_mb=200, thin=True) as fs,
    ):
        ledger = Ledger()
        with Server(fs.root / "data") as server:
            asyncio.run(_write_until_it_ends(server, ledger, thin))
            assert server.wait() == Exit.DISK_FAILED
        thin.free()
        fs.remount()
        with Server(fs.root / "data") as server:
            ledger.check_kept(*read_all(server.bootstrap, [PARTITION]))


def test_a_disk_that_seems_well_again_is_not_believed(tmp_path: Path) -> None:
    """xfs goes on, with pages in its cache that never got to the disk and count as written."""
    with (
        Tmpfs(tmp_path / "thin", size_mb=160) as thin,
        FileSystem("xfs", thin.root, size_mb=320, thin=True) as fs,
    ):
        ledger = Ledger()
        with Server(fs.root / "data") as server:
            asyncio.run(_write_until_it_ends(server, ledger, thin))
            assert server.wait() == Exit.DISK_FAILED
        thin.free()
        with Server(fs.root / "data") as server:
            ledger.check_kept(*read_all(server.bootstrap, [PARTITION]))
            asyncio.run(_write_more(server.bootstrap, ledger))
            server.kill()
        fs.remount()
        with Server(fs.root / "data") as server:
            ledger.check_kept(*read_all(server.bootstrap, [PARTITION]))


@pytest.mark.parametrize("rule", ["failing-sync", "retry-fsync"])
def test_a_sync_is_not_tried_again(tmp_path: Path, rule: str) -> None:
    with Server(tmp_path, command=mutant.command(rule)) as server:
        refused = asyncio.run(_is_refused(server.bootstrap))
        if rule == "retry-fsync":
            assert not refused, "this mutant is no different from what it was made of"
            return
        assert refused
        assert server.wait() == Exit.DISK_FAILED


async def _write_until_it_ends(server: Server, ledger: Ledger, thin: Tmpfs) -> None:
    async with connected(server.bootstrap) as client:
        await create_topic(client, PARTITION.topic, 1)
        async with Load(server.bootstrap, ledger, [PARTITION]) as load:
            # librdkafka takes half a second to begin, in which the other alone could fill the disk.
            load.start(write_with_librdkafka(load, "a"))
            await load.more(1)
            load.start(write(load, "b"))
            await load.more(100)
            thin.fill()
            await asyncio.to_thread(server.wait)


async def _write_more(bootstrap: str, ledger: Ledger) -> None:
    async with connected(bootstrap) as client, Producer(client) as producer:
        for number in range(50):
            value = b"c:%d:" % number + bytes(5000)
            place = await producer.deliver(PARTITION.topic, value, partition=PARTITION.partition)
            ledger.delivered(PARTITION, place.offset, value)


async def _is_refused(bootstrap: str) -> bool:
    """Whether any of a few records is refused."""
    async with connected(bootstrap) as client, Producer(client, delivery_timeout=0.0) as producer:
        await create_topic(client, PARTITION.topic, 1)
        try:
            for number in range(5):
                await producer.deliver(PARTITION.topic, b"%d" % number, partition=PARTITION.partition)
        except (Refused, Unreachable):
            return True
    return False
