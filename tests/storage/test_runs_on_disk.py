"""Runs on the operating system's own files, where native code does the writing."""

import errno
import os
import resource
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.storage.helpers import NOW, append, contents, make_batch, open_log, open_store, sync

from millstream.env.disk import DiskFailed, RealDisk
from millstream.records.runs import NATIVE, NOBODY, Alike, Joiner, Run
from millstream.storage.config import LogConfig
from millstream.storage.log import Log

needs_native = pytest.mark.skipif(NATIVE is None, reason="the native part was not built: no C compiler?")
WAYS = [pytest.param(True, id="plain"), pytest.param(False, id="native", marks=needs_native)]
CALL = b"\0\0\0\x07"
ALIKE = Alike(CALL, b"", False, 0, struct.pack(">iiiqq", 24, 0, 0, 0, 0), 8, 12, 20)
CONFIG = LogConfig(index_interval_bytes=200)


def frames(*values: bytes) -> bytes:
    out = b""
    for number, value in enumerate(values):
        batch = bytes(make_batch(0, [value]).data)
        body = CALL + struct.pack(">iii", number, 0, len(batch)) + batch
        out += struct.pack(">i", len(body)) + body
    return out


def take(log: Log, data: bytes, *, plain: bool) -> Run | None:
    place = log.place(0, NOW, NOW + 1000)
    assert place is not None
    return log.append_run(
        Joiner(1 << 16, plain=plain), (ALIKE, memoryview(data), 0, len(data), 100), place, NOBODY
    )


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("plain", WAYS)
def test_a_run_is_read_back_and_survives(tmp_path: Path, plain: bool) -> None:
    store = open_store(RealDisk(str(tmp_path)))
    log = open_log(store, CONFIG)
    append(log)
    sync(log)

    run = take(log, frames(b"one", b"two" * 200, b"three"), plain=plain)

    assert run is not None
    assert (run.batches, run.base_offset, run.end_offset, log.end_offset) == (3, 1, 4, 4)
    assert log.segments[-1].file.size() == log.size_bytes
    assert log.unsynced() is not None
    sync(log)
    before = contents(log)
    store.release()
    assert contents(open_log(open_store(RealDisk(str(tmp_path))), CONFIG)) == before
    assert len(before) == 4


@pytest.mark.parametrize("plain", WAYS)
def test_a_run_that_finds_no_room_half_way_leaves_nothing(tmp_path: Path, plain: bool) -> None:
    log = open_log(open_store(RealDisk(str(tmp_path))), CONFIG)
    append(log)
    before, size = contents(log), log.size_bytes
    data = frames(b"one" * 50, b"two" * 50)

    with no_file_larger_than(size + 100), pytest.raises(OSError) as raised:
        take(log, data, plain=plain)

    assert raised.value.errno == errno.EFBIG
    assert (log.size_bytes, log.end_offset) == (size, 1)
    assert log.segments[-1].file.size() == size
    assert contents(log) == before
    again = take(log, data, plain=plain)
    assert again is not None
    assert again.base_offset == 1
    assert len(contents(log)) == 3


@pytest.mark.parametrize("plain", WAYS)
def test_what_is_being_synced_when_a_run_comes_is_not_taken_for_synced(tmp_path: Path, plain: bool) -> None:
    """Else the file may be closed, and with it goes what would tell that it could not be written."""
    log = open_log(open_store(RealDisk(str(tmp_path))), CONFIG)
    append(log)
    file = log.segments[-1].file
    sync(log)
    assert not file.unsynced  # type: ignore[attr-defined]

    take(log, frames(b"one"), plain=plain)

    assert file.unsynced  # type: ignore[attr-defined]


@pytest.mark.parametrize("plain", WAYS)
def test_a_file_whose_descriptor_another_has_by_now_is_opened_again(tmp_path: Path, plain: bool) -> None:
    store = open_store(RealDisk(str(tmp_path), max_open=1))
    first, second = (open_log(store, CONFIG, topic=topic) for topic in ("first", "second"))
    expected = {}
    for round in range(6):
        for log in (first, second):
            if not round:
                append(log)
            else:
                assert take(log, frames(log.topic.encode() * round), plain=plain) is not None
            sync(log)
            expected[log] = log.size_bytes

    for log, other in ((first, b"second"), (second, b"first")):
        assert len(contents(log)) == 6
        assert log.segments[-1].file.size() == expected[log]
        assert not any(other in batch for batch in contents(log))


@pytest.mark.parametrize("plain", WAYS)
def test_a_disk_that_has_failed_takes_no_run(tmp_path: Path, plain: bool) -> None:
    disk = RealDisk(str(tmp_path))
    log = open_log(open_store(disk), CONFIG)
    append(log)
    size = log.size_bytes
    disk.failure = OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(DiskFailed):
        take(log, frames(b"one"), plain=plain)

    assert log.segments[-1].file.size() == size


@needs_native
def test_an_error_that_native_code_met_is_final_if_any_such_error_is(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path))
    disk.open("file", create=True).native_failed(OSError(errno.ENOSPC, "full"))
    assert disk.failure is None

    with pytest.raises(DiskFailed):
        disk.open("file").native_failed(OSError(errno.EIO, "gone"))
    assert disk.failure is not None
