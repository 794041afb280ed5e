import zlib
from importlib.machinery import PathFinder

import crc32c as library
import pytest

from millstream import crc


def test_it_is_the_checksum_of_the_library_and_not_zlibs() -> None:
    data = bytes(range(256)) * 40

    assert crc.crc32c(data) == crc.crc32c(memoryview(bytearray(data))) == library.crc32c(data)
    assert crc.crc32c(data) != zlib.crc32(data)


def test_a_library_of_another_layout_does_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: None)

    assert crc._load() is library.crc32c
