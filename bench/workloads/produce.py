"""Writing: requests of 1 MB, 16 KB and one message; few and many in flight, connections and partitions."""

from typing import Final

from bench.figures import Measured, Row
from bench.load import Job
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, latency, load, new_topic, rate

_SIZES: Final = {"1 MB": 9_000, "16 KB": 145, "single": 1}  # messages of 100 bytes in a request
_SHAPES: Final = ((1, 1), (64, 1), (1, 8), (64, 8), (1, 32), (64, 32))  # in flight, connections
_LARGE_IN_FLIGHT: Final = 8  # of 1 MB: more would measure how much memory there is
_WARM: Final = 0.25  # of the time, before it counts: the JVM compiles what it runs often


def workloads(*, sync: bool, quick: bool) -> list[Workload]:
    made = []
    for size, messages in _SIZES.items():
        for in_flight, connections in _SHAPES:
            if quick and (in_flight, connections) not in ((1, 1), (64, 1)):
                continue
            many = min(in_flight, _LARGE_IN_FLIGHT) if size == "1 MB" else in_flight
            job = Job(mode="produce", in_flight=many, connections=connections, messages=messages)
            made.append(writing(f"produce {size}, {many} in flight, {connections} conn.", job, sync=sync))
    return made


def spread_out(*, quick: bool) -> list[Workload]:
    """The same over many partitions, and from many connections."""
    made = []
    for partitions in (1, 100, 1_000) if quick else (1, 100, 1_000, 10_000):
        job = Job(
            mode="produce",
            in_flight=4,
            connections=min(partitions, 1_000),
            messages=145,
            partitions=partitions,
        )
        made.append(writing(f"16 KB over {partitions} partitions", job, needs_partitions=partitions > 1))
    for connections in (8, 1_000):
        job = Job(mode="produce", in_flight=8, connections=connections, messages=1)
        made.append(writing(f"single, 8 in flight, {connections} connections", job))
    return made


def writing(name: str, job: Job, *, sync: bool = False, needs_partitions: bool = False) -> Workload:
    """Messages a second and, with one request in flight, how long it takes."""
    name = f"{name}, fsync" if sync else name
    rows = [Row(name, name, "messages/s")]
    alone = job.in_flight == 1
    if alone:
        rows.append(Row(f"{name} p50", f"{name}, p50", "µs", lower_is_better=True))

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic, job.partitions)
        try:
            warm = Job(**(job.__dict__ | {"seconds": seconds * _WARM}))
            load(peer, topic, warm)
            found = load(peer, topic, Job(**(job.__dict__ | {"seconds": seconds})))
        finally:
            peer.delete(topic)
        figures = {name: rate(found)}
        if alone:
            figures[f"{name} p50"] = latency(found)
        return figures

    def fits(peer: type[Peer]) -> bool:
        return (peer.partitions or not needs_partitions) and (peer.syncs or not sync)

    return Workload(name, tuple(rows), measure, sync, fits)
