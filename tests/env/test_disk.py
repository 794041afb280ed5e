"""The real disk: appends, descriptors, the lock, and no second chance after a failed sync."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.env.disk import DirectoryInUse, DiskFailed, RealDisk


def test_appends_all_parts_in_order(tmp_path: Path) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)
    parts = [bytes([number % 256]) * (number % 7) for number in range(3000)]

    file.append(*parts)
    file.append(b"end")

    assert file.read(0, file.size()) == b"".join(parts) + b"end"


def test_reads_fewer_bytes_only_where_the_file_ends(tmp_path: Path) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"0123456789")

    assert file.read(2, 3) == b"234"
    assert file.read(8, 100) == b"89"
    assert file.read(10, 1) == b""


def test_keeps_no_more_descriptors_than_allowed_but_never_drops_an_unsynced_file(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path), max_open=4)
    dirty = disk.open("dirty", create=True)
    dirty.append(b"x")
    files = [disk.open(str(number), create=True) for number in range(20)]
    for file in files:
        file.append(b"y")
        file.sync()
    descriptors = [os.readlink(f"/proc/self/fd/{fd}") for fd in _own_descriptors()]
    held = [path for path in descriptors if path.startswith(str(tmp_path))]

    assert len(held) <= 5
    assert str(tmp_path / "dirty") in held
    assert [file.read(0, 9) for file in files] == [b"y"] * 20


def test_after_a_failed_sync_nothing_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = RealDisk(str(tmp_path))
    file = disk.open("a", create=True)
    file.append(b"x")
    calls = []

    def failing(fd: int) -> None:
        calls.append(fd)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(DiskFailed):
        file.sync()
    monkeypatch.undo()

    with pytest.raises(DiskFailed):
        file.sync()
    with pytest.raises(DiskFailed):
        file.append(b"y")
    with pytest.raises(DiskFailed):
        disk.open("b", create=True).sync()
    assert len(calls) == 1


def test_forgetting_what_is_cached_loses_nothing_that_still_has_to_be_written(tmp_path: Path) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"synced")
    file.sync()
    file.append(b", and not yet")

    file.forget()

    assert file.read(0, 100) == b"synced, and not yet"


def test_a_second_process_does_not_get_the_lock(tmp_path: Path) -> None:
    lock = RealDisk(str(tmp_path)).lock(".lock")
    program = (
        "import sys; from millstream.env.disk import RealDisk, DirectoryInUse\n"
        "try: RealDisk(sys.argv[1]).lock('.lock')\n"
        "except DirectoryInUse as error: print(error); sys.exit(7)"
    )

    second = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert second.returncode == 7
    assert "in use" in second.stdout
    with pytest.raises(DirectoryInUse):
        RealDisk(str(tmp_path)).lock(".lock")
    lock.release()

    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 0


def test_a_path_never_leads_out_of_the_directory(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path / "data"))
    with pytest.raises(AssertionError):
        disk.open("../escaped", create=True)
    os.symlink("/etc/hostname", tmp_path / "data/link")
    with pytest.raises(OSError):
        disk.open("link", create=True)


@pytest.mark.parametrize("call", ["write", "mkdir", "unlink"])
def test_a_disk_that_does_not_do_its_work_is_done_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    disk = RealDisk(str(tmp_path))
    file = disk.open("a", create=True)
    steps = {
        "write": lambda: file.append(b"x"),
        "mkdir": lambda: disk.make_dir("b"),
        "unlink": lambda: disk.remove("a"),
    }

    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, call, failing)
        with pytest.raises(DiskFailed):
            steps[call]()
    assert disk.failure is not None
    with pytest.raises(DiskFailed):
        file.append(b"x")
    with pytest.raises(DiskFailed):
        file.sync()


def test_want_of_space_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)

    def failing(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", failing)
        with pytest.raises(OSError, match="No space"):
            file.append(b"x")
    file.append(b"y")
    file.sync()
    assert file.read(0, 9) == b"y"


def test_a_disk_that_cannot_tell_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RealDisk(str(tmp_path))

    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(OSError, match="Input/output"):
        disk.exists("a")


def test_a_file_is_closed_only_when_nobody_uses_its_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RealDisk(str(tmp_path))
    file = disk.open("a", create=True)
    file.append(b"x")
    during = []

    def closing(fd: int) -> None:
        file.close()
        during.append(os.readlink(f"/proc/self/fd/{fd}"))

    monkeypatch.setattr(os, "fdatasync", closing)
    file.sync()
    assert during == [str(tmp_path / "a")]
    held = [os.readlink(f"/proc/self/fd/{fd}") for fd in _own_descriptors()]
    assert str(tmp_path / "a") not in held


def _own_descriptors() -> list[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        if os.path.lexists(f"/proc/self/fd/{name}"):
            found.append(int(name))
    return found


def test_a_lent_descriptor_outlives_the_file(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path))
    file = disk.open("f", create=True)
    file.append(b"abc")
    fd = file.lend()
    assert file.lend() == fd
    disk.remove("f")
    file.close()

    file.give_back()
    assert os.pread(fd, 3, 0) == b"abc"
    file.give_back()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_deleted_file_is_closed_though_it_was_read_while_it_was_lent(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path))
    file = disk.open("f", create=True)
    file.append(b"abc")
    fd = file.lend()
    disk.remove("f")
    file.close()
    assert file.read(0, 3) == b"abc"
    file.give_back()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_half_of_what_the_process_may_open_is_for_files(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 2 * max(_own_descriptors()) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        disk = RealDisk(str(tmp_path))
        files = [disk.open(str(number), create=True) for number in range(limit)]
        for file in files:
            file.append(b"y")
            file.sync()
        held = [os.readlink(f"/proc/self/fd/{fd}") for fd in _own_descriptors()]
        assert limit // 2 <= sum(path.startswith(str(tmp_path)) for path in held) <= limit // 2 + 1
    finally:
        disk.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
