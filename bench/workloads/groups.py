"""A group of 500 members that all come at once: how long until each has what it is to read."""

from typing import Final

from bench.figures import Measured, Row
from bench.load import Job
from bench.peers.peer import Peer
from bench.peers.speaks_kafka import SpeaksKafka
from bench.workloads.workload import Workload, load, measured, new_topic

_MEMBERS: Final = 500
_PATIENCE_SECONDS: Final = 120.0
_NAME: Final = f"a group of {_MEMBERS} comes together"


def workloads() -> list[Workload]:
    row = Row(_NAME, _NAME, "ms", lower_is_better=True)
    # The floor speaks Kafka's protocol only as far as messages go.
    return [Workload(_NAME, (row,), _measure, fits=lambda peer: issubclass(peer, SpeaksKafka))]


def _measure(peer: Peer, seconds: float) -> dict[str, Measured]:
    assert isinstance(peer, SpeaksKafka)
    group = new_topic()
    peer.wait_for_coordinator(group)
    job = Job(mode="rebalance", connections=_MEMBERS, seconds=_PATIENCE_SECONDS)
    found = load(peer, group, job)
    return {_NAME: measured(found, found.seconds * 1000)}
