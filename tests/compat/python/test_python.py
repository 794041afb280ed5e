"""Clients in Python: confluent-kafka, aiokafka and kafka-python."""

import sys

import pytest
from tests.compat.scenarios import SCENARIOS, Report, run_all

pytestmark = pytest.mark.timeout(900)

PROGRAMS = {"confluent-kafka": "confluent", "aiokafka": "aio", "kafka-python": "kafkapython"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    commands = {
        client: [sys.executable, "-m", f"tests.compat.python.{program}"]
        for client, program in PROGRAMS.items()
    }
    return run_all("Python", commands, tmp_path_factory.mktemp("python"))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", PROGRAMS)
def test_scenario(reports: dict[str, Report], client: str, scenario: str) -> None:
    reports[client].check(scenario)
