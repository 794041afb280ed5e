"""Blocks behind the end of a real file: had while they are of use, seen by nobody, and given back."""

import errno
import mmap
import os
from pathlib import Path

import pytest
from tests.env.roomy import held_bytes, roomy

from millstream.env import blocks
from millstream.env.disk import DiskFailed, File, RealDisk

__all__ = ["roomy"]

MB = 1 << 20
DATA = b"x" * 100_000


def _file(root: Path) -> File:
    file = RealDisk(str(root)).open("a", create=True)
    file.append(DATA)
    assert file.set_aside(4 * MB)
    return file


def _has_given_back(root: Path) -> bool:
    return held_bytes(root / "a") < len((root / "a").read_bytes()) + MB // 4


def test_the_file_has_them_and_is_as_long_as_before(roomy: Path) -> None:
    file = _file(roomy)
    assert held_bytes(roomy / "a") >= 4 * MB - len(DATA)
    assert file.size() == len(DATA)
    file.append(b"y" * MB)
    assert (roomy / "a").read_bytes() == DATA + b"y" * MB
    assert held_bytes(roomy / "a") < 5 * MB  # it was written there


def test_are_given_back_and_nothing_else(roomy: Path) -> None:
    file = _file(roomy)
    file.append(b"y")
    assert not file.trim()
    assert not _has_given_back(roomy)
    assert file.give_back_blocks()
    assert _has_given_back(roomy)
    file.append(b"z")
    assert (roomy / "a").read_bytes() == DATA + b"yz"


def test_truncate_gives_them_back(roomy: Path) -> None:
    file = _file(roomy)
    file.truncate(10)
    assert _has_given_back(roomy)
    assert file.read(0, 99) == DATA[:10]


def test_those_of_a_life_that_was_killed_are_given_back_by_the_next(roomy: Path) -> None:
    _file(roomy)
    file = RealDisk(str(roomy)).open("a")
    assert file.read(0, len(DATA)) == DATA
    assert file.give_back_blocks()
    assert _has_given_back(roomy)


def test_go_with_zeros_behind_the_end(roomy: Path) -> None:
    file = _file(roomy)
    file.reserve(MB)
    file.set_aside(8 * MB)
    assert file.give_back_blocks()
    assert file.size() == len(DATA)
    assert file.trim()
    assert (roomy / "a").read_bytes() == DATA
    assert _has_given_back(roomy)


def test_none_are_had_for_what_is_there_already(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = blocks._library()
    assert library is not None
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(library, "fallocate", lambda fd, start, size: asked.append((start, size)))
    file = RealDisk(str(roomy)).open("a", create=True)
    file.append(DATA)
    assert not file.set_aside(len(DATA))
    assert not file.set_aside(len(DATA) + 10)  # the page it ends in
    assert file.set_aside(MB)
    page = -(-len(DATA) // mmap.PAGESIZE) * mmap.PAGESIZE
    assert asked == [(page, MB - page)]


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.ENOSPC, errno.EIO])
def test_where_there_are_none_the_file_is_written_without(
    roomy: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Those that were there before the room ended are given back like any others."""
    real = blocks.set_aside

    def failing(fd: int, start: int, end: int) -> bool:
        real(fd, start, end)
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(blocks, "set_aside", failing)
    file = RealDisk(str(roomy)).open("a", create=True)
    file.append(b"abc")
    assert not file.set_aside(MB)
    if error == errno.EIO:
        with pytest.raises(DiskFailed):
            file.append(b"def")
    else:
        file.append(b"def")
        assert file.read(0, 9) == b"abcdef"
        assert held_bytes(roomy / "a") >= MB // 2
        assert file.give_back_blocks()
        assert held_bytes(roomy / "a") < MB // 4


def test_who_cannot_give_them_back_just_now_can_later(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    file = _file(roomy)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", no_more)
        assert not file.give_back_blocks()
    assert not _has_given_back(roomy)
    assert file.give_back_blocks()
    assert _has_given_back(roomy)


def test_a_failed_disk_is_not_asked_to_give_them_back(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = _file(roomy)
    monkeypatch.setattr(os, "ftruncate", failing)
    with pytest.raises(DiskFailed):
        file.give_back_blocks()


def test_other_file_systems_have_their_own_ideas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """xfs keeps blocks behind the end by itself, and to cut them off waits for the disk."""
    monkeypatch.setattr(blocks, "_FILE_SYSTEMS", frozenset())
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"abc")
    assert not file.set_aside(MB)
    assert held_bytes(tmp_path / "a") < MB // 4

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(os, "ftruncate", never)
    assert file.give_back_blocks()


def test_a_system_without_the_calls_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_library", lambda: None)
    file = RealDisk(str(tmp_path)).open("a", create=True)
    file.append(b"abc")
    assert not file.set_aside(MB)
    assert held_bytes(tmp_path / "a") < MB // 4
    assert file.give_back_blocks()
