"""Clients in Go: franz-go, sarama and segmentio's kafka-go."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.compat.cache import alone
from tests.compat.scenarios import SCENARIOS, Report, run_all

pytestmark = pytest.mark.timeout(1800)  # the first build on a new machine takes minutes

HERE = Path(__file__).parent
PROGRAMS = {"franz-go": "franz", "sarama": "sarama", "segmentio/kafka-go": "segmentio"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    commands = {client: [str(build(program))] for client, program in PROGRAMS.items()}
    return run_all("Go", commands, tmp_path_factory.mktemp("go"))


def build(program: str) -> Path:
    if shutil.which("go") is None:
        pytest.skip("no go: clients in Go cannot be tried (Debian: golang)")
    with alone(HERE / "build") as place:
        made = place / program
        done = subprocess.run(
            ["nice", "go", "build", "-buildvcs=false", "-o", str(made), f"./{program}"],
            cwd=HERE,
            env={**os.environ, "GOMAXPROCS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return made


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", PROGRAMS)
def test_scenario(reports: dict[str, Report], client: str, scenario: str) -> None:
    reports[client].check(scenario)
