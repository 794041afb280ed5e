"""A disk that fails: nothing more is acknowledged, and the next life finds all that was."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.system.short_life import CALLS, Life

from millstream.cli.exits import Exit

pytestmark = pytest.mark.system

ALL = pytest.param(range(1, CALLS + 1), marks=[pytest.mark.long, pytest.mark.timeout(1800)], id="all")
SOME = pytest.param(sorted(Random().sample(range(1, 180), 6)), id="some")


@pytest.mark.parametrize("numbers", [SOME, ALL])
def test_a_call_that_fails_once_is_the_last(tmp_path: Path, numbers: Sequence[int]) -> None:
    for number in numbers:
        life = Life(tmp_path / str(number), tmp_path / f"report-{number}")
        life.live("eio", number, is_told_to_stop=False)
        if life.exit_code is not None:
            assert life.exit_code == Exit.DISK_FAILED, f"call {number}, {life.end[0]}"
        assert max(life.answered, default=0.0) < float(life.end[1]), f"call {number}, {life.end[0]}"
        life.check()
