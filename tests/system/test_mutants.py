"""Each rule of the disk, broken on purpose: the tests must notice.

The broken broker promises something, the power goes, and a whole one looks at
what is left. What an unbroken one promises is kept; what each mutant promises
is not. The mutant that syncs no directory is caught on the simulated disk:
ext4 and xfs happen to keep the names of synced files.
"""

import asyncio
from pathlib import Path
from random import Random

import pytest
from tests.storage.story import Story
from tests.support.server import Server
from tests.system import mutant
from tests.system.filesystem import FileSystem
from tests.system.ledger import Ledger
from tests.system.load import connected, create_topic
from tests.system.reading import read_all

from millstream.client.admin import Admin
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.env.disk import Disk, File, Lock
from millstream.sim.disk import SimDisk

pytestmark = pytest.mark.system

PARTITION = TopicPartition("orders", 0)


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_an_unbroken_broker_keeps_what_it_acknowledged(tmp_path: Path, kind: str) -> None:
    with FileSystem(kind, tmp_path) as fs:
        _promise_and_cut(fs, "none", trim=True)


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_without_fsync_records_are_lost(tmp_path: Path, kind: str) -> None:
    with FileSystem(kind, tmp_path) as fs, pytest.raises(AssertionError, match="offset 0 is lost"):
        _promise_and_cut(fs, "no-fsync", trim=False)


def test_with_rename_before_fsync_the_start_of_a_log_is_lost(tmp_path: Path) -> None:
    with FileSystem("xfs", tmp_path) as fs, pytest.raises(AssertionError, match="deleted records are back"):
        _promise_and_cut(fs, "rename-before-fsync", trim=True)


def test_without_directory_fsync_records_are_lost() -> None:
    for seed in range(50):
        disk = SimDisk(Random(seed))
        _append_and_crash(disk, disk, seed)
    with pytest.raises(AssertionError):
        for seed in range(50):
            disk = SimDisk(Random(seed))
            _append_and_crash(disk, NoDirSync(disk), seed)


def _promise_and_cut(fs: FileSystem, rule: str, *, trim: bool) -> None:
    """Let a broker that breaks *rule* promise things, cut the power, and ask a whole one for them."""
    ledger = Ledger()
    with Server(fs.root / "data", command=mutant.command(rule)) as server:
        asyncio.run(_promise(server.bootstrap, ledger, trim))
        fs.cut()
    fs.remount()
    with Server(fs.root / "data") as server:
        records, starts = read_all(server.bootstrap, [PARTITION])
    ledger.check_kept(records, starts)
    assert starts[PARTITION] >= ledger.starts.get(PARTITION, 0), "deleted records are back"


async def _promise(bootstrap: str, ledger: Ledger, trim: bool) -> None:
    async with connected(bootstrap) as client, Producer(client) as producer:
        await create_topic(client, PARTITION.topic, 1)
        for number in range(20):
            value = f"a:{number}:".encode()
            place = await producer.deliver(PARTITION.topic, value, partition=0)
            ledger.delivered(PARTITION, place.offset, value)
        if trim:
            ledger.starts.update(await Admin(client).trim({PARTITION: 4}))


def _append_and_crash(sim: SimDisk, disk: Disk, seed: int) -> None:
    story = Story(sim, disk)
    random = Random(seed)
    for _ in range(3):
        story.run([("append", (random.randrange(400), 0, 1)), ("sync", None)] * random.randint(1, 5))


class NoDirSync(Disk):
    """A disk that is never told to keep the names of its files."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def open(self, path: str, *, create: bool = False) -> File:
        return self._disk.open(path, create=create)

    def list(self, path: str) -> list[str]:
        return self._disk.list(path)

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def make_dir(self, path: str) -> None:
        self._disk.make_dir(path)

    def rename(self, old: str, new: str) -> None:
        self._disk.rename(old, new)

    def remove(self, path: str) -> None:
        self._disk.remove(path)

    def remove_dir(self, path: str) -> None:
        self._disk.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        """What was asked is not done."""

    def free_bytes(self) -> int:
        return self._disk.free_bytes()

    def total_bytes(self) -> int:
        return self._disk.total_bytes()

    def lock(self, path: str) -> Lock:
        return self._disk.lock(path)
