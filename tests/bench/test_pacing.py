"""The system's choice of TCP is set aside for a bench, and put back whatever becomes of that."""

from pathlib import Path

import pytest
from bench.pacing import nobody_paced


@pytest.mark.parametrize("before", ["bbr", "bbr2"])
def test_one_that_paces_is_set_aside_and_put_back(tmp_path: Path, before: str) -> None:
    chosen = tmp_path / "chosen"
    chosen.write_text(f"{before}\n")
    with pytest.raises(KeyboardInterrupt), nobody_paced(chosen) as name:
        assert name == chosen.read_text() == "cubic"
        raise KeyboardInterrupt
    assert chosen.read_text() == before


def test_one_that_does_not_stays(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    chosen.write_text("reno\n")
    with nobody_paced(chosen) as name:
        assert name == "reno"
    assert chosen.read_text() == "reno\n"


def test_where_nothing_can_be_chosen_it_is_as_it_is(tmp_path: Path) -> None:
    with nobody_paced(tmp_path / "missing") as name:
        assert name == ""


def test_who_may_not_choose_is_told_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> int:
        raise PermissionError

    chosen = tmp_path / "chosen"
    chosen.write_text("bbr\n")
    monkeypatch.setattr(Path, "write_text", forbidden)
    with nobody_paced(chosen) as name:
        assert name == "bbr"
