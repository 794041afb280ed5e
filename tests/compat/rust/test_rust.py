"""Clients in Rust: rskafka and rdkafka, of which the latter brings librdkafka with it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.compat.cache import alone, kept
from tests.compat.scenarios import SCENARIOS, Report, run_all

pytestmark = pytest.mark.timeout(1800)  # the first build on a new machine compiles librdkafka, too

HERE = Path(__file__).parent
PROGRAMS = ("rskafka", "rdkafka")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    scratch = tmp_path_factory.mktemp("rust")
    made = build(scratch)
    return run_all("Rust", {client: [str(made / client)] for client in PROGRAMS}, scratch)


def build(scratch: Path) -> Path:
    """The programs' directory. What they depend on is compiled once, for all copies of this repository."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo: clients in Rust cannot be tried (Debian: cargo, or rustup.rs)")
    command = ["cargo", "build", "--locked", "--quiet"]
    if shutil.which("cmake"):
        command += ["--features", "cmake"]
    programs = scratch / "programs"
    programs.mkdir()
    with alone(kept("rust")) as target:
        flags = {"CARGO_TARGET_DIR": str(target), "CFLAGS": f"-I{HERE / 'include'}"}
        done = subprocess.run(command, cwd=HERE, env={**os.environ, **flags}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for program in PROGRAMS:
            shutil.copy(target / "debug" / program, programs)
    return programs


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", PROGRAMS)
def test_scenario(reports: dict[str, Report], client: str, scenario: str) -> None:
    reports[client].check(scenario)
