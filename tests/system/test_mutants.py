"""Each rule of the disk, broken on purpose: the tests must notice.

The broken broker promises something, the power goes, and a whole one looks at
what is left. What an unbroken one promises is kept; what each mutant promises
is not. Mutants that these file systems forgive are caught elsewhere: who syncs
no directory by the simulated disk (`tests/storage/test_mutants.py`), who tries
a failed sync again by `test_disk_failure.py`.
"""

import asyncio
from pathlib import Path

import pytest
from tests.support.server import Server
from tests.system import mutant
from tests.system.filesystem import FileSystem
from tests.system.ledger import Ledger
from tests.system.load import connected, create_topic
from tests.system.reading import read_all

from millstream.client.admin import Admin
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition

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
