"""A short life, ended at each of its calls to the disk in turn."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.system.filesystem import FileSystem
from tests.system.short_life import CALLS, Life

pytestmark = pytest.mark.system

SAMPLED = 8
ALL = pytest.param(range(1, CALLS + 1), marks=[pytest.mark.long, pytest.mark.timeout(1800)], id="all")
SOME = pytest.param(sorted(Random().sample(range(1, CALLS - 50), SAMPLED)), id="some")


def test_the_whole_life_makes_fewer_calls_than_are_tried(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", tmp_path / "report")
    life.live("count", 0)

    assert life.is_whole
    assert life.exit_code == 0
    assert SAMPLED < int(life.end[0]) < CALLS
    assert life.ledger.topics == {"orders"}
    life.check()


@pytest.mark.parametrize("numbers", [SOME, ALL])
def test_killed_at_a_call(tmp_path: Path, numbers: Sequence[int]) -> None:
    for number in numbers:
        life = Life(tmp_path / str(number), tmp_path / f"report-{number}")
        life.live("kill", number)
        life.check()


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
@pytest.mark.parametrize("numbers", [pytest.param(range(45, 200, 40), id="some"), ALL])
def test_power_cut_at_a_call(tmp_path: Path, kind: str, numbers: Sequence[int]) -> None:
    with FileSystem(kind, tmp_path) as fs:
        for number in numbers:
            life = Life(fs.root / str(number), tmp_path / f"report-{number}")
            life.live("cut", number)
            fs.remount()
            life.check()


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(range(5, 40, 14), id="some"),
        pytest.param(range(1, 60), marks=[pytest.mark.long, pytest.mark.timeout(900)], id="all"),
    ],
)
def test_power_cut_at_a_call_of_the_start_that_follows_a_cut(
    tmp_path: Path, kind: str, numbers: Sequence[int]
) -> None:
    """What recovery mends it must mend so that it may be interrupted."""
    with FileSystem(kind, tmp_path) as fs:
        life = Life(fs.root / "first", tmp_path / "report")
        life.live("cut", 150)
        fs.remount()
        for number in numbers:
            life.data = fs.root / str(number)
            shutil.copytree(fs.root / "first", life.data)
            os.sync()
            again = Life(life.data, tmp_path / f"report-{number}")
            again.start_only("cut", number)
            fs.remount()
            life.check()
