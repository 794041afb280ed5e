"""What consoles ask of a cluster: the calls their pages are made from, by the clients they are built on."""

import subprocess

import pytest
from tests.compat.confluent.clients import create, producer, send, values
from tests.compat.go.test_go import build
from tests.compat.node import Node, unique
from tests.compat.platforms.jvm import KAFKA, SECONDS, command

pytestmark = pytest.mark.timeout(900)  # the first time, jars are fetched and Go's packages built

ADMIN_CLIENT = [
    *(
        "cluster",
        "broker-configs",
        "topic-configs",
        "log-dirs",
        "topics",
        "offsets",
        "groups",
        "group-offsets",
    ),
    *("members", "acls", "quotas", "features", "quorum", "scram", "producers", "reassignments"),
    "change-topics",
]
KADM = [
    *("versions", "metadata", "configs", "offsets", "groups", "log-dirs"),
    *("acls", "quotas", "scram", "reassignments"),
]


def answers(*words: str) -> dict[str, str]:
    """By call, what was wrong with the answer."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS * 2)
    told = [line.partition("\t") for line in done.stdout.splitlines()]
    assert told, done.stderr
    return {call: wrong for call, _, wrong in told}


@pytest.fixture(scope="module")
def admin_client(node: Node) -> dict[str, str]:
    return answers(*command("Consoles"), node.bootstrap, unique("admin-client"), *ADMIN_CLIENT)


@pytest.fixture(scope="module")
def kadm(node: Node) -> dict[str, str]:
    made, topic = build("console"), unique("kadm")
    create(node.bootstrap, topic, 2)
    send(producer(node.bootstrap), topic, values(*(f"value {n}" for n in range(10))))
    return answers(str(made), node.bootstrap, topic, *KADM)


@pytest.mark.row("Kafka UI, AKHQ: their AdminClient calls", "tools", KAFKA)
@pytest.mark.parametrize("call", ADMIN_CLIENT)
def test_page(admin_client: dict[str, str], call: str) -> None:
    """what such a page asks, and what it needs of the answer; a refusal is one that the console knows"""
    assert admin_client[call] == ""


@pytest.mark.row("Redpanda Console: its kadm calls", "tools", "kadm 1.19.0")
@pytest.mark.parametrize("call", KADM)
def test_console_page(kadm: dict[str, str], call: str) -> None:
    """what such a page asks, and what it needs of the answer; a refusal is one that the console knows"""
    assert kadm[call] == ""
