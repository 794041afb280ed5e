"""The load generator, at the servers that are always there: the floor and Millstream."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench.load import Job, run
from bench.peers.disk import Disk
from bench.peers.floor import Floor
from bench.peers.millstream import Millstream
from bench.peers.peer import Peer

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("cc") is None, reason="the load generator is compiled where it is run"),
]
MESSAGES = 10
REQUEST_BYTES = 1_250.0  # more than a request of so many messages takes


def started(peer: Peer) -> Iterator[Peer]:
    try:
        peer.start()
        yield peer
    finally:
        peer.stop()


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Peer]:
    yield from started(Floor(tmp_path / "floor", sync=False))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Millstream]:
    peer = Millstream(tmp_path_factory.mktemp("node") / "data", sync=False)
    peer.open_doors()
    for _ in started(peer):
        yield peer


def test_connections_take_turns_at_their_partitions(floor: Peer) -> None:
    job = Job(mode="produce", connections=2, in_flight=3, messages=MESSAGES, partitions=7, seconds=60)
    sent = replace(job, max_bytes=7 * REQUEST_BYTES)

    found = run(sent, "kafka", floor.port, floor.pid, "b0000")

    assert found.messages == found.requests * MESSAGES
    assert sorted(file.name for file in floor.data.glob("*.log")) == [f"{index}.log" for index in range(7)]


def test_a_log_is_read_once_from_its_first_message_to_its_last(floor: Peer) -> None:
    written = run(
        Job(mode="produce", messages=MESSAGES, in_flight=4, seconds=60, max_bytes=50 * REQUEST_BYTES),
        "kafka",
        floor.port,
        floor.pid,
        "bench",
    )

    read = run(Job(mode="consume", seconds=60, once=1), "kafka", floor.port, floor.pid, "bench")

    assert read.messages == written.messages
    assert read.seconds < 60


def test_the_bare_disk_needs_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    found = run(Job(mode="produce", seconds=0.1), Disk.protocol)

    assert found.requests > 0
    assert list(tmp_path.iterdir()) == []


def test_a_group_comes_together(node: Millstream) -> None:
    node.wait_for_coordinator("group")

    found = run(Job(mode="rebalance", connections=20, seconds=60), "kafka", node.port, node.pid, "group")

    assert found.messages == 20
    assert found.requests >= 3 * 20  # an id, a place, a part


@pytest.mark.parametrize(
    ("setting", "protocol"),
    [("text.listener", "text"), ("jsonl.listener", "jsonl"), ("http.queue.listener", "http")],
)
def test_other_doors_take_what_they_are_given(node: Millstream, setting: str, protocol: str) -> None:
    node.create(protocol)
    job = Job(mode="produce", in_flight=1, connections=3, seconds=60, max_bytes=5_000)

    found = run(job, protocol, node.doors[setting], node.pid, protocol)
    read = run(Job(mode="consume", seconds=60, once=1), "kafka", node.port, node.pid, protocol)

    assert found.requests > 0
    assert read.messages == found.requests
