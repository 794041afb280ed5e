"""Clients in JavaScript: KafkaJS and @platformatic/kafka."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.compat.cache import alone
from tests.compat.scenarios import SCENARIOS, Report, run_all

pytestmark = pytest.mark.timeout(1800)  # the first time, packages are fetched

HERE = Path(__file__).parent
BUILD = HERE / "build"
PROGRAMS = {"KafkaJS": "kafkajs.js", "@platformatic/kafka": "platformatic.js"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    made = build()
    commands = {client: ["node", str(made / program)] for client, program in PROGRAMS.items()}
    return run_all("JavaScript", commands, tmp_path_factory.mktemp("js"))


def build() -> Path:
    """The programs beside the packages they import, which are fetched anew when the lock file changes."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: clients in JavaScript cannot be tried (Debian: nodejs, npm)")
    with alone(BUILD):
        for program in HERE.glob("*.js"):
            shutil.copy(program, BUILD)
        lock = HERE / "package-lock.json"
        stamp = BUILD / lock.name
        if not stamp.exists() or stamp.read_text() != lock.read_text():
            shutil.copy(HERE / "package.json", BUILD)
            stamp.write_text(lock.read_text())
            try:
                fetch()
            except BaseException:
                stamp.unlink()
                raise
    return BUILD


def fetch() -> None:
    command = ["nice", "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", PROGRAMS)
def test_scenario(reports: dict[str, Report], client: str, scenario: str) -> None:
    reports[client].check(scenario)
