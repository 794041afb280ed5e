"""What the bench needs of a workload."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from bench.figures import Measured, Row
from bench.load import Found, Job, run
from bench.peers.peer import Peer

_names = count()


class Measures(Protocol):
    def __call__(self, peer: Peer, seconds: float) -> dict[str, Measured]: ...


@dataclass(frozen=True)
class Workload:
    """Work that is done against one peer at a time; it gives a figure for each of its *rows*."""

    name: str
    rows: tuple[Row, ...]
    measure: Measures
    sync: bool = False  # whether peers must sync before they acknowledge
    fits: Callable[[type[Peer]], bool] = lambda peer: peer.serves
    most_rounds: int = 100  # less for what takes long and hardly differs from round to round
    install: Callable[[], object] = lambda: None  # fetches what it needs; Missing says why it cannot
    writes: bool = False  # so much that it matters where the memory for it comes from


def new_topic() -> str:
    """A name nobody has used in this run. The floor answers to this length only."""
    return f"b{next(_names):04d}"


def load(peer: Peer, topic: str, job: Job) -> Found:
    return run(job, peer.protocol, peer.port, peer.pid, topic)


def rate(found: Found) -> Measured:
    """Messages a second, and what they cost."""
    return measured(found, found.messages_per_second)


def latency(found: Found) -> Measured:
    return measured(found, found.p50_us)


def measured(found: Found, value: float) -> Measured:
    cost = found.server_us_per_message
    return Measured(value, cost, found.client_share, found.p99_us, found.server_share)
