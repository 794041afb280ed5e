"""Sessions in the pages about the HTTP doors go as they are written there."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import Server

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("curl") is None, reason="the sessions are told with curl"),
]

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```\n^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
VARIES = {"cluster_id", "port", "size_bytes", "total_bytes", "cpu_usage", "memory_usage", "disk_usage"}


def plain(value: Any) -> Any:
    """*value* without what is another each time."""
    if isinstance(value, dict):
        return {
            name: "…" if name in VARIES or name.endswith(("_per_sec", "_bytes")) else plain(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [plain(each) for each in value]
    return TIME.sub("…", value) if isinstance(value, str) else value


@pytest.mark.parametrize("page", ["http-queue.md", "admin-api.md"])
def test_sessions_go_as_they_are_written(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text()
    with Server(tmp_path) as server:
        sessions = BLOCK.findall(text)
        assert sessions
        for number, (script, expected) in enumerate(sessions):
            if page == "admin-api.md" and number == 1:  # its first session ends with no topic
                for other, _ in BLOCK.findall((DOCS / "http-queue.md").read_text()):
                    run(server, other)
                run(server, PATCH)
            wanted = [json.loads(line) for line in expected.splitlines()]
            assert [plain(each) for each in run(server, script)[: len(wanted)]] == [
                plain(each) for each in wanted
            ]


PATCH = """curl -X PATCH http://localhost:8080/api/v1/topics/my-topic -d '{"partitions": 3}'\n"""


def run(server: Server, script: str) -> list[Any]:
    """What each call of *script* answers, as far as it is JSON."""
    script = script.replace("localhost:3000", f"localhost:{server.ports['the HTTP queue']}")
    script = script.replace("localhost:8080", f"localhost:{server.ports['the admin API']}")
    script = script.replace("curl ", "curl -s -w '\\n' ")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
