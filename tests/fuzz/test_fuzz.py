import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.limits import Limits, TooCostly
from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS

from millstream.errors import ErrorCode, Refused

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by Linux's counters")


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_understood(name: str) -> None:
    """A seed that is refused teaches a fuzzer nothing."""
    for seed in SEEDS[name]():
        TARGETS[name](seed)


def _refuses(_: bytes) -> None:
    raise Refused(ErrorCode.INVALID_REQUEST, "as it should be")


def _breaks(data: bytes) -> None:
    _ = data[1000]


def _dawdles(_: bytes) -> None:
    sum(range(10_000_000))


def _hoards(_: bytes) -> None:
    _ = b"x" * (64 << 20)


def test_limits_tell_a_refusal_from_a_finding() -> None:
    Limits(_refuses).run(b"")
    with pytest.raises(IndexError):
        Limits(_breaks).run(b"")
    with pytest.raises(TooCostly, match="ms for 3 bytes"):
        Limits(_dawdles).run(b"abc")
    with pytest.raises(TooCostly, match="KiB for 3 bytes"):
        Limits(_hoards).run(b"abc")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris has no wheel here")
@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run_finds_nothing(name: str) -> None:
    command = [sys.executable, "-m", "tools.fuzz", "--seconds", "4", "--target", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "no finding" in done.stdout
