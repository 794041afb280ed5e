"""Memory that a virtual machine would give back to its host is kept while it is measured."""

from pathlib import Path

import pytest

from bench import memory


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sizes: list[int] = []
    monkeypatch.setattr(memory, "have_at_hand", sizes.append)
    return sizes


def test_nothing_is_given_back_until_the_end_however_that_comes(tmp_path: Path, touched: list[int]) -> None:
    reporting = tmp_path / "page_reporting_order"
    reporting.write_text("9\n")
    with pytest.raises(KeyboardInterrupt), memory.keeping_memory(reporting) as is_kept:
        assert is_kept
        assert reporting.read_text() == "11"
        assert len(touched) == 1
        raise KeyboardInterrupt
    assert reporting.read_text() == "9\n"


def test_a_machine_that_cannot_be_told_is_left_alone(tmp_path: Path, touched: list[int]) -> None:
    with memory.keeping_memory(tmp_path / "none" / "page_reporting_order") as is_kept:
        assert not is_kept
    assert not touched
