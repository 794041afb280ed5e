"""Writing: requests of 1 MB, 16 KB and one message; few and many in flight and connections."""

from dataclasses import replace
from typing import Final

from bench.figures import Measured, Row
from bench.load import Job
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, latency, load, new_topic, rate

_SIZES: Final = {"1 MB": 9_000, "16 KB": 145, "single": 1}  # messages of 100 bytes in a request
_SHAPES: Final = ((1, 1), (64, 1), (1, 8), (64, 8), (1, 32), (64, 32))  # in flight, connections
_QUICK: Final = {  # of the shapes, by size and whether synced
    ("1 MB", False): ((64, 1),),
    ("16 KB", False): ((64, 1),),
    ("single", False): ((1, 1), (64, 1)),
    ("16 KB", True): ((64, 1),),
    ("single", True): ((1, 1), (1, 32)),
}
_LARGE_IN_FLIGHT: Final = 8  # of 1 MB: more would measure how much memory there is
_PATIENCE_SECONDS: Final = 60.0
_WARM: Final = 0.25  # of the time, before it counts: the JVM compiles what it runs often


def workloads(*, sync: bool, quick: bool) -> list[Workload]:
    made = []
    for size, messages in _SIZES.items():
        for in_flight, connections in _QUICK.get((size, sync), ()) if quick else _SHAPES:
            many = min(in_flight, _LARGE_IN_FLIGHT) if size == "1 MB" else in_flight
            job = Job(mode="produce", in_flight=many, connections=connections, messages=messages)
            # What one message after the other takes at the least is what the disk takes.
            alone = (size, in_flight, connections) == ("single", 1, 1)
            name = f"produce {size}, {many} in flight, {connections} conn."
            made.append(writing(name, job, sync=sync, beside_disk=alone))
    return made


def writing(name: str, job: Job, *, sync: bool = False, beside_disk: bool = False) -> Workload:
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
            load(peer, topic, _warm(job, seconds))
            found = load(peer, topic, replace(job, seconds=seconds))
        finally:
            peer.delete(topic)
        figures = {name: rate(found)}
        if alone:
            figures[f"{name} p50"] = latency(found)
        return figures

    def fits(peer: type[Peer]) -> bool:
        if not peer.serves:
            return beside_disk and sync
        return job.partitions <= peer.most_partitions and (peer.syncs or not sync)

    return Workload(name, tuple(rows), measure, sync, fits, writes=True)


def _warm(job: Job, seconds: float) -> Job:
    """What comes before anything counts: a part of the time or, with many partitions, something in each."""
    if job.partitions == 1:
        return replace(job, seconds=seconds * _WARM)
    return replace(job, seconds=_PATIENCE_SECONDS, max_bytes=job.partitions * job.messages * job.size * 1.2)
