"""A real data directory, shared, damaged and torn: no record is lost and nothing else is believed."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.server import Server
from tests.system.inside import Found, look
from tests.system.ledger import Ledger
from tests.system.load import commit_offset, connected, create_topic

from millstream.cli.exits import Exit
from millstream.client.admin import Admin
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.env.disk import RealDisk
from millstream.node.config import OTHER_LISTENERS
from millstream.records.batch import split
from millstream.storage.config import LogConfig
from millstream.storage.log import Log
from millstream.storage.store import Store

pytestmark = pytest.mark.system

GROUP = "readers"
PARTITION = TopicPartition("orders", 0)
LAST_BATCH = 3  # records in it


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    serve = [sys.executable, "-m", "millstream", "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path)]
    for name in OTHER_LISTENERS:
        serve += ["--set", f"{name}="]
    with Server(tmp_path):
        second = subprocess.run(serve, capture_output=True, text=True, timeout=60)

    assert second.returncode == Exit.CANNOT_START
    assert "is in use by another process" in second.stderr
    assert len(second.stderr.splitlines()) == 1


def test_a_goodbye_of_an_earlier_life_is_not_believed(lived: Path, tmp_path: Path) -> None:
    """Were it believed, what was written since would be cut off, or the log taken for damaged."""
    data = tmp_path / "data"
    shutil.copytree(lived, data)
    before = look(data, GROUP)
    old = (data / "clean-shutdown").read_bytes()
    ledger = Ledger()
    with Server(data) as server:
        asyncio.run(_write(server.bootstrap, ledger, 100, 110))
        server.kill()
    (data / "clean-shutdown").write_bytes(old)

    after = look(data, GROUP)
    assert after.records[PARTITION][: len(before.records[PARTITION])] == before.records[PARTITION]
    ledger.check_kept(after.records, after.starts)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 20),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() * 2),
}
KINDS = [
    "*/*.index",
    "*/*.timeindex",
    "*/*.snapshot",
    "*/partition.metadata",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "*-checkpoint",
    "life",
    "clean-shutdown",
    "**/*",
]


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_files_that_only_save_time_may_be_lost_or_damaged(
    lived: Path, in_memory: Path, how: str, is_clean: bool
) -> None:
    expected = _copy_and_look(lived, in_memory / "whole", is_clean)
    assert len(expected.records[PARTITION]) == 45
    assert expected.starts[PARTITION] == 5
    for number, kind in enumerate(KINDS):
        data = in_memory / str(number)
        shutil.copytree(lived, data)
        if not is_clean:
            (data / "clean-shutdown").unlink()
        for path in _damageable(data, kind):
            DAMAGES[how](path)

        _same(look(data, GROUP), expected, f"{kind} {how}")
        _same(look(data, GROUP), expected, f"{kind} {how}, once more")


def test_a_tail_torn_at_every_byte_is_cut_to_the_last_whole_batch(lived: Path, in_memory: Path) -> None:
    whole = in_memory / "whole"
    shutil.copytree(lived, whole)
    (whole / "clean-shutdown").unlink()
    # Nothing is known of how far it was synced, as after a first life that was killed.
    (whole / "recovery-point-offset-checkpoint").unlink()
    segment = max((whole / "orders-0").glob("*.log"))
    batches = [bytes(batch.data) for batch in split(segment.read_bytes())]
    kept = sum(len(batch) for batch in batches[:-1])
    data = in_memory / "torn"
    for size in range(kept, segment.stat().st_size):
        for tear in (_cut, _zero):
            shutil.copytree(whole, data)
            torn = data / "orders-0" / segment.name
            tear(torn, size)
            if torn.read_bytes() == segment.read_bytes():
                shutil.rmtree(data)
                continue  # its end is zeros anyway
            log, store = _open(data)
            assert log.failure is None, log.failure
            assert log.end_offset == 50 - LAST_BATCH
            assert torn.read_bytes() == b"".join(batches[:-1])
            store.release()
            shutil.rmtree(data)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker left that was stopped cleanly, with 45 records of 50 in its log."""
    data = tmp_path_factory.mktemp("lived") / "data"
    with Server(data, {"offsets.topic.num.partitions": 1}) as server:
        asyncio.run(_live(server.bootstrap))
        assert server.stop() == 0
    return data


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory where a sync costs nothing, if there is such a place."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        yield Path(place)


async def _live(bootstrap: str) -> None:
    async with connected(bootstrap) as client, Producer(client) as producer:
        await create_topic(
            client, PARTITION.topic, 1, {"segment.bytes": "2000", "index.interval.bytes": "200"}
        )
        for number in range(50 - LAST_BATCH):
            await producer.deliver(PARTITION.topic, f"a:{number}:".encode() + b"x" * 100, partition=0)
        last = [await producer.send(PARTITION.topic, b"last", partition=0) for _ in range(LAST_BATCH)]
        await asyncio.gather(*last)
        await Admin(client).trim({PARTITION: 5})
        await commit_offset(client, GROUP, PARTITION, 7)


async def _write(bootstrap: str, ledger: Ledger, first: int, end: int) -> None:
    async with connected(bootstrap) as client, Producer(client) as producer:
        for number in range(first, end):
            value = f"a:{number}:".encode()
            place = await producer.deliver(PARTITION.topic, value, partition=0)
            ledger.delivered(PARTITION, place.offset, value)


def _copy_and_look(lived: Path, data: Path, is_clean: bool) -> Found:
    shutil.copytree(lived, data)
    if not is_clean:
        (data / "clean-shutdown").unlink()
    return look(data, GROUP)


def _damageable(data: Path, kind: str) -> list[Path]:
    """The files of *kind*, but for those that hold what nothing else does.

    A log without its metadata is known by the recovery points. Without both
    nobody can say whose it is: then it is set aside, for an operator to look at.
    """
    found = [path for path in data.glob(kind) if path.is_file() and path.suffix != ".log"]
    if kind == "**/*":
        found = [path for path in found if path.name != "partition.metadata"]
    return [path for path in found if path.name != ".lock"]


def _same(found: Found, expected: Found, what: str) -> None:
    assert found.topics == expected.topics, what
    assert found.commits == expected.commits, what
    for partition, records in expected.records.items():
        kept = [each for each in found.records[partition] if each[0] >= expected.starts[partition]]
        assert kept == records, what
        assert found.starts[partition] <= expected.starts[partition], what


def _open(data: Path) -> tuple[Log, Store]:
    store = Store(RealDisk(str(data)), ballast_bytes=0)
    store.open()
    lines = (data / "orders-0" / "partition.metadata").read_text().split()
    config = LogConfig(segment_bytes=2000, index_interval_bytes=200)
    log = store.open_log(PARTITION.topic, UUID(hex=lines[-1]), PARTITION.partition, config, 1_750_000_000_000)
    return log, store


def _cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def _zero(path: Path, size: int) -> None:
    """As long as it was, but the end never got to the disk."""
    whole = path.stat().st_size
    _cut(path, size)
    _cut(path, whole)
