"""What a server takes before it does anything: time to start, memory while idle."""

import time
from typing import Final

from bench.figures import Measured, Row
from bench.peers.peer import Peer
from bench.peers.speaks_kafka import SpeaksKafka
from bench.workloads.workload import Workload, new_topic

_START = Row("start", "start until a topic can be made", "ms", lower_is_better=True)
_MEMORY = Row("memory", "memory when idle", "MB", lower_is_better=True)
_IDLE_SECONDS: Final = 1.0


def workloads(*, quick: bool) -> list[Workload]:
    def fits(peer: type[Peer]) -> bool:
        return peer.serves and (not quick or issubclass(peer, SpeaksKafka))

    rounds = 1 if quick else 3
    return [Workload("start and idle memory", (_START, _MEMORY), _measure, fits=fits, most_rounds=rounds)]


def _measure(peer: Peer, seconds: float) -> dict[str, Measured]:
    """On a directory of its own, beside the one that serves the other workloads."""
    fresh = type(peer)(peer.data.with_name(f"{peer.data.name}-{new_topic()}"), sync=peer.sync)
    try:
        fresh.start()
        fresh.create("first")
        took = time.perf_counter() - fresh.started_at
        time.sleep(_IDLE_SECONDS)
        return {"start": Measured(took * 1000), "memory": Measured(fresh.resident_mb())}
    finally:
        fresh.stop()
