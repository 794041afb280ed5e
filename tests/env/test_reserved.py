"""Zeros and blocks behind the end of a real file: whatever is done to it, they are not part of it."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.env.disk import DiskFailed, RealDisk

DOINGS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3000)),
    st.tuples(st.sampled_from(["reserve", "set aside"]), st.integers(0, 5000)),
    st.tuples(st.just("truncate"), st.integers(0, 100)),  # percent of what there is
    st.tuples(st.sampled_from(["trim", "sync", "close", "evict"]), st.just(0)),
)


@given(doings=st.lists(DOINGS, max_size=25))
def test_a_file_is_what_was_appended(doings: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as root:
        disk = RealDisk(root, max_open=1)
        file, other = disk.open("a", create=True), disk.open("b", create=True)
        expected = b""
        for number, (what, much) in enumerate(doings):
            match what:
                case "append":
                    data = bytes([number + 1]) * much
                    file.append(data[: much // 2], data[much // 2 :])
                    expected += data
                case "reserve":
                    file.reserve(len(expected) + much)
                    assert os.stat(Path(root, "a")).st_size >= len(expected) + much
                case "set aside":
                    before = os.stat(Path(root, "a")).st_size
                    file.set_aside(len(expected) + much)
                    assert os.stat(Path(root, "a")).st_size == before
                case "truncate":
                    expected = expected[: len(expected) * much // 100]
                    file.truncate(len(expected))
                case "trim":
                    file.trim()
                    assert os.stat(Path(root, "a")).st_size == len(expected)
                case "sync":
                    file.sync()
                case "close":
                    file.close()
                case _:
                    file.sync()
                    other.read(0, 1)  # there is one descriptor for both
            assert file.size() == len(expected)
            assert file.read(0, len(expected)) == expected
        left = Path(root, "a").read_bytes()
        assert left[: len(expected)] == expected
        assert not any(left[len(expected) :])
        disk.close()


def test_says_whether_there_was_anything_to_trim(tmp_path: Path) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"abc")
    assert not file.trim()
    file.reserve(10)
    assert file.trim()
    assert not file.trim()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_has_no_room_for_zeros_may_have_some_for_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"abc")

    def failing(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "pwrite", failing)
    file.reserve(1000)
    assert file.size() == 3
    if error == errno.EIO:
        with pytest.raises(DiskFailed):
            file.append(b"def")
    else:
        file.append(b"def")
        assert file.read(0, 9) == b"abcdef"


def test_a_part_of_the_zeros_is_as_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up takes a part and says so only at the next call."""
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"abc")
    real, calls = os.pwrite, []

    def filling_up(fd: int, data: memoryview, position: int) -> int:
        calls.append(position)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data[:100], position)

    monkeypatch.setattr(os, "pwrite", filling_up)
    file.reserve(1000)
    assert os.stat(tmp_path / "a").st_size == 103
    file.append(b"def")
    assert file.read(0, 9) == b"abcdef\0\0\0"
    assert file.trim()
    assert (tmp_path / "a").read_bytes() == b"abcdef"


def test_who_has_no_descriptor_for_it_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"abc")
    file.sync()
    file.close()

    def no_more(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", no_more)
        file.reserve(1000)
    file.append(b"def")
    assert (tmp_path / "a").read_bytes() == b"abcdef"


def test_a_file_with_nothing_but_zeros_to_be_written_may_be_closed(tmp_path: Path) -> None:
    disk = RealDisk(str(tmp_path), max_open=2)
    for number in range(10):
        file = disk.open(str(number), create=True)
        file.append(b"abc")
        file.sync()
        file.reserve(1000)
    held = [fd for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]
    open_here = [
        path for fd in held if (path := os.readlink(f"/proc/self/fd/{fd}")).startswith(str(tmp_path))
    ]
    assert len(open_here) <= 3
    disk.close()
