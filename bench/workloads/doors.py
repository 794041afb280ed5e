"""The doors besides Kafka's: messages a second that each takes, and how long one takes."""

from dataclasses import replace
from typing import Final

from bench.figures import Measured, Row
from bench.load import Job, run
from bench.peers.millstream import Millstream
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, latency, new_topic, rate

_DOORS: Final = {  # how each is set, and what the load generator calls it; HTTP has no pipelines to speak of
    "text": ("text.listener", "text", Job(mode="produce", in_flight=500)),
    "JSON lines": ("jsonl.listener", "jsonl", Job(mode="produce", in_flight=500)),
    "HTTP": ("http.queue.listener", "http", Job(mode="produce", connections=32)),
}


def workloads() -> list[Workload]:
    rows = []
    for door in _DOORS:
        rows.append(Row(f"{door} door", f"{door} door, {_shape(door)}", "messages/s"))
        rows.append(Row(f"{door} door p50", f"{door} door, one message, p50", "µs", lower_is_better=True))
    return [Workload("other doors", tuple(rows), _measure, fits=lambda peer: issubclass(peer, Millstream))]


def _shape(door: str) -> str:
    job = _DOORS[door][2]
    return f"{job.in_flight} in flight" if job.in_flight > 1 else f"{job.connections} connections"


def _measure(peer: Peer, seconds: float) -> dict[str, Measured]:
    """On a node of its own: the one beside has these doors shut."""
    assert isinstance(peer, Millstream)
    fresh = type(peer)(peer.data.with_name(f"{peer.data.name}-{new_topic()}"), sync=peer.sync)
    fresh.open_doors()
    found = {}
    try:
        fresh.start()
        topic = new_topic()
        fresh.create(topic)
        for door, (setting, protocol, job) in _DOORS.items():
            for key, shape in ((f"{door} door", job), (f"{door} door p50", Job(mode="produce"))):
                told = run(replace(shape, seconds=seconds), protocol, fresh.doors[setting], fresh.pid, topic)
                found[key] = latency(told) if key.endswith("p50") else rate(told)
    finally:
        fresh.stop()
    return found
