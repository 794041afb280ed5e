"""A directory where blocks can be set aside, whatever file system the tests are on."""

import ctypes
import os
from pathlib import Path

import pytest

from millstream.env import blocks

_KEEP_SIZE = 1


@pytest.fixture
def roomy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Taken for a file system where it is done, if it can be done there."""
    status = ctypes.create_string_buffer(256)
    with (tmp_path / "tried").open("wb") as file:
        try:
            library = ctypes.CDLL(None)
            if library.fallocate(file.fileno(), _KEEP_SIZE, ctypes.c_long(0), ctypes.c_long(1 << 20)):
                pytest.skip("this file system has no blocks to set aside")
            assert library.fstatfs(file.fileno(), status) == 0
        except AttributeError:
            pytest.skip("this system cannot set blocks aside")
    os.unlink(tmp_path / "tried")
    monkeypatch.setattr(blocks, "_FILE_SYSTEMS", frozenset({ctypes.c_long.from_buffer(status).value}))
    return tmp_path


def held_bytes(path: Path) -> int:
    """What the disk has given for the file at *path*."""
    with path.open("rb") as file:
        os.fsync(file.fileno())  # until then a file system may count more than it will take
    return os.stat(path).st_blocks * 512
