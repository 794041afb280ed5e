"""What the OpenAPI documents promise, tried with whatever fits them and whatever does not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import Server
from tests.system.test_http import ADMIN, QUEUE, ask

pytestmark = [pytest.mark.system, pytest.mark.slow]
schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 60


@pytest.mark.parametrize("door", [QUEUE, ADMIN])
def test_no_request_brings_out_an_error_of_ours(door: str, tmp_path: Path) -> None:
    """No 5xx, and no answer that the document does not name, in status or in shape."""
    from hypothesis import HealthCheck, Phase, given, settings

    with Server(tmp_path) as server:
        for topic in ("my-topic", "orders"):
            made = {"name": topic, "partitions": 2}
            assert asyncio.run(ask(server, "POST", "/api/v1/topics", made, ADMIN))["success"]
        spec = asyncio.run(ask(server, "GET", "/openapi.json", door=door))
        del spec["paths"]["/stream/{topicId}" if door == QUEUE else "/metrics"]  # no end, and no JSON
        schema = schemathesis.openapi.from_dict(spec)
        schema.config.update(base_url=f"http://127.0.0.1:{server.ports[door]}")
        checks = schemathesis.checks.CHECKS.get_by_names(
            ["not_a_server_error", "status_code_conformance", "response_schema_conformance"]
        )
        statuses: set[int] = set()
        for result in schema.get_all_operations():
            operation = result.ok()
            strategy = operation.as_strategy() | operation.as_strategy(
                generation_mode=schemathesis.GenerationMode.NEGATIVE
            )

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def tried(case: Any) -> None:
                if case.path_parameters.get("topicId") and len(str(case.path_parameters)) % 2:
                    case.path_parameters["topicId"] = "my-topic"
                if case.query and "wait" in case.query:
                    del case.query["wait"]
                response = case.call(timeout=60)
                statuses.add(response.status_code)
                case.validate_response(response, checks=list(checks))

            tried()
        assert 200 in statuses
        assert 400 in statuses
        assert server.process.poll() is None
        assert not [line for line in server.log if "Traceback" in line]
