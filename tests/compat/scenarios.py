"""What every client is asked to do, whatever its language, and how its program is run.

A program is called as `program bootstrap prefix scenario...`, does each scenario with topics, groups and
transactional ids that begin with `prefix-scenario`, and prints one line of JSON for each:

    {"scenario": "keys", "result": "passed" | "failed" | "not applicable", "detail": "…", "version": "1.2.3"}

*detail* says what went wrong, or why the client cannot be asked. *version* is the client's own. A program
that wants the broker restarted prints {"ask": "restart"} and reads a line: the broker is back when it comes.
"""

import json
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from tests.compat.node import CODECS, Node

SCENARIOS: Final = {
    "acks-0": "records sent with acks=0 are all there, in order",
    "acks-1": "the same with acks=1, and each is told its offset",
    "acks-all": "the same with acks=all",
    "codec-none": "fifty records, not compressed, come back as they were",
    "codec-gzip": "the same, compressed with gzip, on disk too",
    "codec-snappy": "the same with snappy",
    "codec-lz4": "the same with lz4",
    "codec-zstd": "the same with zstd",
    "keys": "records of one key keep to one partition; keys come back",
    "headers": "headers come back in order, names repeated, values empty",
    "nulls": "no key and no value are not the same as empty ones",
    "megabyte": "a record of a megabyte",
    "assign": "every partition read without a group",
    "group": "two members of a group share four partitions; every record comes once",
    "cooperative": "a second member joins cooperatively; the first keeps half without a pause",
    "static-member": "a member with an instance id comes back to the partitions it had",
    "modern-group": "two members share four partitions by the group protocol of KIP-848",
    "large-group": "twenty members own forty partitions, each partition once",
    "seek-offset": "a consumer goes back to an offset and on to another",
    "seek-time": "a consumer goes to the first record at or after a time",
    "pause": "a paused partition gives nothing, the other goes on, and nothing is lost",
    "commit": "the next member of a group goes on where the last one committed",
    "lag": "a group's lag is what was written less what was committed",
    "idempotent": "an idempotent producer's records are there once, in order",
    "transaction-commit": "a transaction over two partitions is read whole when it is committed",
    "transaction-abort": "an aborted transaction is hidden from read_committed, and from nobody else",
    "transaction-offsets": "offsets sent to a transaction count when it is committed, not when aborted",
    "transaction-fencing": "a second producer of the same transactional id fences the first",
    "admin-create": "a topic is created with partitions and configs; twice is refused",
    "admin-delete": "a deleted topic is gone",
    "admin-grow": "a topic gets more partitions, never fewer",
    "admin-configs": "a topic's configs are told, changed and told again",
    "admin-offsets": "the first and next offset of a partition, and the first since a time",
    "admin-groups": "groups are listed, described and deleted; their offsets set and told",
    "admin-records": "records before an offset are deleted",
    "admin-log-dirs": "the node's directories and what a topic takes up there",
    "reconnect": "a producer and a consumer go on after the broker was restarted",
}
RESULTS: Final = Path(__file__).parents[2] / "build" / "compat"
_SECONDS: Final = 400
# A member of a modern group learns of a change with its next heartbeat: soon, rather than after 5 s.
QUICK: Final[dict[str, object]] = {
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
}


@dataclass(frozen=True)
class Report:
    """How one client did: by scenario, what came of it and why."""

    client: str
    language: str
    version: str
    date: str
    commit: str
    results: dict[str, tuple[str, str]]
    kind: str = "clients"  # which table it is in
    meanings: dict[str, str] = field(default_factory=dict)  # of scenarios that are its own: see rows.py

    def check(self, scenario: str) -> None:
        """Fail or skip the test that asks, unless *scenario* passed."""
        result, detail = self.results[scenario]
        if result == "not applicable":
            pytest.skip(detail)
        assert result == "passed", detail

    def save(self) -> None:
        """Keep it for docs/compatibility.md: tools/generate_compatibility.py."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{plain(self.client)}.json").write_text(json.dumps(asdict(self), indent=1))


def plain(client: str) -> str:
    """The client's name, fit for a topic or a file."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", client).strip("-")


def run_all(language: str, commands: Mapping[str, Sequence[str]], scratch: Path) -> dict[str, Report]:
    """Have each client's program go through all scenarios, side by side: mostly they wait."""
    with ThreadPoolExecutor(len(commands)) as pool:
        asked = {}
        for client, command in commands.items():
            room = scratch / plain(client)
            room.mkdir()
            asked[client] = pool.submit(run, client, language, command, room)
        return {client: report.result() for client, report in asked.items()}


def run(client: str, language: str, command: Sequence[str], scratch: Path) -> Report:
    """Have *command* go through all scenarios, with a node of its own."""
    node = Node(scratch / "data", QUICK)
    try:
        return _run(client, language, command, node, scratch)
    finally:
        node.close()


def _run(client: str, language: str, command: Sequence[str], node: Node, scratch: Path) -> Report:
    """What the program says of codecs is compared with what is on disk."""
    prefix = plain(client)
    errors = scratch / "stderr"
    lines = Program([*command, node.bootstrap, prefix, *SCENARIOS], node, errors).lines()
    last = errors.read_text().strip().rpartition("\n")[2]
    results = dict.fromkeys(SCENARIOS, ("failed", f"the program said nothing of it; its last words: {last}"))
    version = ""
    for line in lines:
        results[line["scenario"]] = (line["result"], line["detail"])
        version = line.get("version") or version
    for codec, number in CODECS.items():
        name = f"codec-{codec}"
        if results[name][0] == "passed" and node.codecs(f"{prefix}-{name}") != {number}:
            results[name] = ("failed", f"not compressed with {codec} on disk")
    report = Report(client, language, version, f"{datetime.now(UTC):%Y-%m-%d}", commit(), results)
    report.save()
    return report


class Program:
    """A client's program on its way through the scenarios."""

    def __init__(self, command: Sequence[str], node: Node, errors: Path) -> None:
        self._node = node
        with errors.open("w") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True
            )

    def lines(self) -> list[dict[str, str]]:
        """What it printed, once it is done or its time is up."""
        clock = threading.Timer(_SECONDS, self._process.kill)
        clock.start()
        assert self._process.stdout
        said = []
        try:
            for line in self._process.stdout:
                if not line.startswith("{"):
                    continue  # a client's own chatter
                told = json.loads(line)
                if "ask" in told:
                    self._restart()
                else:
                    said.append(told)
        finally:
            clock.cancel()
            self._process.kill()
            self._process.wait()
        return said

    def _restart(self) -> None:
        assert self._process.stdin
        self._node.stop()
        self._node.start()
        self._process.stdin.write("back\n")
        self._process.stdin.flush()


def commit() -> str:
    """What is being tested."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    return told.stdout.strip()
