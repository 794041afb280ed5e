"""The program as it is, killed or failed at one of its system calls by strace.

strace counts the calls of each thread apart, so some are never chosen:
`test_every_call.py` chooses each, but has to change the program for it.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.system.short_life import Life

from millstream.cli.exits import Exit

pytestmark = pytest.mark.system

CALLS = {"write": 40, "fdatasync": 40, "fsync": 25, "rename": 25, "unlink": 10, "ftruncate": 8}
EVERY = [(call, number) for call, most in CALLS.items() for number in range(1, most)]
ALL = pytest.param(EVERY, marks=[pytest.mark.long, pytest.mark.timeout(1800)], id="all")


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is missing; on Debian: apt-get install strace")
    tried = subprocess.run([found, "-f", "-o", "/dev/null", "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"strace may not trace here: {tried.stderr.strip()}")
    return found


@pytest.mark.parametrize("places", [pytest.param(Random().sample(EVERY, 4), id="some"), ALL])
def test_killed_at_a_system_call(tmp_path: Path, strace: str, places: list[tuple[str, int]]) -> None:
    for call, number in places:
        life = Life(tmp_path / f"{call}-{number}", tmp_path / "report")
        life.run(_injecting(strace, f"{call}:signal=KILL:when={number}"))
        life.check()


@pytest.mark.parametrize("number", [12, 20])
def test_a_sync_that_fails_ends_it(tmp_path: Path, strace: str, number: int) -> None:
    life = Life(tmp_path / "data", tmp_path / "report")
    life.run(_injecting(strace, f"fdatasync:error=EIO:when={number}"), ends_by_itself=True)

    assert not life.is_whole
    assert life.exit_code == Exit.DISK_FAILED
    life.check()


def _injecting(strace: str, what: str) -> tuple[str, ...]:
    """`millstream` under strace, which stands aside: the process is ours, its end is its own."""
    call = what.partition(":")[0]
    options = ("-D", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", f"trace={call}")
    return (strace, *options, "-e", f"inject={what}", sys.executable, "-m", "millstream")
