"""The same log on the operating system's own files."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from tests.storage.helpers import NOW, SMALL, append, contents, make_batch, open_log, open_store, sync

from millstream.env.disk import DirectoryInUse, RealDisk
from millstream.storage.config import LogConfig
from millstream.storage.metadata import METADATA
from millstream.storage.store import Store


def test_lives_and_dies_like_the_simulated_one(tmp_path: Path) -> None:
    random = Random(1)
    expected: list[bytes] = []
    for life in range(6):
        disk = RealDisk(str(tmp_path))
        store = open_store(disk)
        log = open_log(store)
        assert contents(log) == expected
        for _ in range(random.randint(1, 30)):
            sequence = len(expected)
            batch = make_batch(sequence, [b"v" * random.randint(0, 200)], producer=(5, 0, sequence))
            log.append(batch, NOW)
            expected.append(bytes(batch.data))
            if random.random() < 0.5:
                sync(log)
        assert log.producers.known()[5][1][-1][0] == len(expected) - 1
        assert log.find_max_time(log.end_offset) == (len(expected) - 1, NOW + len(expected) - 1)
        if life % 2:
            store.close()
        else:
            store.checkpoint()
            store.release()


def test_a_torn_tail_is_cut(tmp_path: Path) -> None:
    store = open_store(RealDisk(str(tmp_path)))
    log = open_log(store)
    batches = append(log, 3)
    sync(log)
    store.release()
    with (tmp_path / "orders-0" / "00000000000000000000.log").open("ab") as file:
        file.write(bytes(batches[0].data[:40]))

    store = open_store(RealDisk(str(tmp_path)))
    log = open_log(store)
    assert contents(log) == [bytes(batch.data) for batch in batches]
    assert store.recoveries["orders-0"].truncated_bytes == 40


def test_another_process_finds_the_directory_in_use(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from millstream.env.disk import RealDisk\n"
        "from millstream.storage.store import Store\n"
        "store = Store(RealDisk(sys.argv[1]))\n"
        "store.open()\n"
        "print('mine', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": "src"},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"mine\n"
        with pytest.raises(DirectoryInUse):
            open_store(RealDisk(str(tmp_path)))
        assert other.stdin is not None
        other.kill()
        other.wait()
    open_store(RealDisk(str(tmp_path)))


def test_syncs_in_another_thread_while_more_is_appended(tmp_path: Path) -> None:
    log = open_log(open_store(RealDisk(str(tmp_path))), LogConfig(segment_bytes=4096))
    for _ in range(20):
        append(log, 20)
        pending = log.unsynced()
        assert pending is not None
        thread = threading.Thread(target=pending.run)
        thread.start()
        append(log, 20)
        thread.join()
        log.synced(pending)
        assert log.synced_offset == log.end_offset - 20

    assert len(contents(log)) == 800


def test_a_deleted_segment_can_be_read_to_its_end(tmp_path: Path) -> None:
    store = open_store(RealDisk(str(tmp_path)))
    log = open_log(store)
    append(log, 30)
    sync(log)
    piece = log.read(0, 1 << 20, 30)
    assert piece is not None
    expected = piece.read()
    log.delete_before(30)
    assert piece.read() == expected
    store.delete_log(log)
    assert piece.read() == expected
    sweep = store.sweep(NOW)
    assert sweep is not None
    sweep.run()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_many_logs_share_few_descriptors(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path), max_open=8)
    store = Store(disk, ballast_bytes=0)
    store.open()
    logs = [store.open_log("t", UUID(int=1), partition, SMALL, NOW) for partition in range(40)]
    for _ in range(3):
        for log in logs:
            append(log, 3)
            sync(log)
    for log in logs:
        assert len(contents(log)) == 9
    assert len(disk._open) <= 9


def test_files_are_private_and_named_as_kafkas(tmp_path: Path) -> None:
    store = open_store(RealDisk(str(tmp_path)))
    log = open_log(store)
    append(log, 12)
    sync(log)
    names = sorted(path.name for path in (tmp_path / "orders-0").iterdir())

    assert names == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000011.log",
        "00000000000000000011.snapshot",
        METADATA,
    ]
    assert all(path.stat().st_mode & 0o007 == 0 for path in (tmp_path / "orders-0").iterdir())


def test_a_deleted_log_gives_its_space_back(tmp_path: Path) -> None:
    """A file that is open takes up space, whatever became of its name."""
    store = open_store(RealDisk(str(tmp_path)))
    log = open_log(store)
    append(log, 100)
    sync(log)
    append(log, 1)  # even one whose last sync is still to come
    store.delete_log(log)
    sweep = store.sweep(NOW)
    assert sweep is not None
    sweep.run()

    held = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert not [path for path in held if path.startswith(str(tmp_path)) and path.endswith("(deleted)")]


def test_whoever_reads_a_segment_never_gets_the_bytes_of_another(tmp_path: Path) -> None:
    """Compaction gives a new file the name of an old one, whose descriptor may have been closed."""
    config = LogConfig(cleanup_policy=("compact",), segment_bytes=1024, min_cleanable_dirty_ratio=0)
    log = open_log(open_store(RealDisk(str(tmp_path))), config)
    append(log, 40)
    sync(log)
    piece = log.read(0, 1 << 20, 40)
    assert piece is not None
    compaction = log.compaction(NOW, 40)
    assert compaction is not None
    thread = threading.Thread(target=compaction.run)
    thread.start()
    append(log, 1)
    thread.join()
    log.compacted(compaction)
    assert len(log.segments) == 2
    piece.read()  # from the descriptor it had
    piece.file.close()
    with pytest.raises(FileNotFoundError):
        piece.read()
    assert len(contents(log)) < 15


def test_a_log_deleted_under_a_sync_does_not_fail_the_disk(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path))
    store = open_store(disk)
    log = open_log(store)
    for number in range(20):
        log.append(make_batch(number, [b"v" * 90], epoch=number // 5), NOW)
    pending = log.unsynced()
    assert pending is not None
    store.delete_log(log)
    with pytest.raises(FileNotFoundError):
        pending.run()
    assert disk.failure is None
