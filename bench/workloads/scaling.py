"""Pace, and what a message costs the server, as partitions, connections, batches and the log grow."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bench.figures import Measured, Row
from bench.load import Job
from bench.peers.floor import Floor
from bench.peers.millstream import Millstream
from bench.peers.peer import Peer
from bench.workloads.files import write_out
from bench.workloads.produce import writing
from bench.workloads.workload import Workload, load, measured, new_topic, rate

PARTITIONS: Final = (1, 100, 1_000, 10_000)
CONNECTIONS: Final = (1, 8, 100, 1_000)
LOG_MB: Final = (100, 500, 2_000)  # the least is more than a processor's cache holds
QUICK_LOG_MB: Final = (100, 500)
BATCHES: Final = (1, 10, 100, 1_000)


def over_partitions(count: int) -> str:
    return f"produce 16 KB over {count:,} partitions"


def over_connections(count: int) -> str:
    return f"produce single, 8 in flight, {count:,} connections"


def behind(megabytes: int, work: str) -> str:
    return f"{work} a log of {megabytes:,} MB"


def workloads(*, quick: bool) -> list[Workload]:
    made = _workloads(quick=quick)
    if not quick:
        return made
    # How we grow is a goal, how others do is of interest: that has time.
    return [replace(work, fits=lambda peer: issubclass(peer, (Millstream, Floor))) for work in made]


def _workloads(*, quick: bool) -> list[Workload]:
    partitions: Sequence[int] = (1, 1_000) if quick else PARTITIONS
    connections: Sequence[int] = (8, 1_000) if quick else CONNECTIONS
    made = [
        writing(over_connections(count), Job(mode="produce", in_flight=8, connections=count))
        for count in connections
    ]
    if not quick:
        made += [
            writing(
                f"produce {count:,} a request, 16 in flight",
                Job(mode="produce", in_flight=16, messages=count),
            )
            for count in BATCHES
        ]
    made += [_behind(megabytes) for megabytes in (QUICK_LOG_MB if quick else LOG_MB)]
    made += [
        # As many connections each time: it is partitions that grow.
        writing(
            over_partitions(count),
            Job(mode="produce", in_flight=8, connections=8, messages=145, partitions=count),
        )
        for count in partitions
    ]
    return made


def _behind(megabytes: int) -> Workload:
    """Reading a log of so many *megabytes* from its beginning, then writing and delivering at its end."""
    consume, produce, deliver = (
        behind(megabytes, work) for work in ("consume", "produce behind", "deliver behind")
    )
    grow = Job(mode="produce", in_flight=8, messages=1_000, seconds=120, max_bytes=megabytes * 1e6)

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic)
        try:
            load(peer, topic, grow)
            write_out(peer.data)  # or the system does it while we measure
            read = load(peer, topic, Job(mode="consume", seconds=seconds))
            written = load(peer, topic, Job(mode="produce", in_flight=64, seconds=seconds))
            delivered = load(peer, topic, Job(mode="deliver", rate=1_000, seconds=seconds))
        finally:
            peer.delete(topic)
        return {consume: rate(read), produce: rate(written), deliver: measured(delivered, delivered.p50_us)}

    rows = (
        Row(consume, consume, "messages/s"),
        Row(produce, produce, "messages/s"),
        Row(deliver, f"{deliver}, p50", "µs", lower_is_better=True),
    )
    # Gigabytes take a peer whose requests hold one message minutes to write, and others their time.
    return Workload(
        f"a log of {megabytes:,} MB",
        rows,
        measure,
        fits=lambda peer: peer.serves and peer.batches,
        most_rounds=3,
        writes=True,
    )
