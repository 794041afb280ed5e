"""Kafka's own client, of two generations."""

import pytest
from tests.compat.java.build import java
from tests.compat.scenarios import SCENARIOS, Report, run_all

pytestmark = pytest.mark.timeout(900)  # the first time, jars are fetched

VERSIONS = {"kafka-clients 4": "4.4.0", "kafka-clients 3.9": "3.9.2"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    commands = {client: java("Scenarios", version) for client, version in VERSIONS.items()}
    return run_all("Java", commands, tmp_path_factory.mktemp("java"))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", VERSIONS)
def test_scenario(reports: dict[str, Report], client: str, scenario: str) -> None:
    reports[client].check(scenario)
