"""Reading what is in the page cache, in large and in tiny batches."""

from bench.figures import Measured, Row
from bench.load import Job
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, load, new_topic, rate


def workloads(*, quick: bool) -> list[Workload]:
    made = [
        _reading("consume, 16 KB batches", messages=145, in_flight=8, bytes_written=2e8),
        _reading("consume, one message a batch", messages=1, in_flight=64, bytes_written=3e7),
    ]
    if not quick:
        made.append(_reading("consume, 1 MB batches", messages=9_000, in_flight=4, bytes_written=4e8))
        made.append(
            _reading("consume, 8 connections", messages=145, in_flight=8, bytes_written=2e8, connections=8)
        )
    return made


def _reading(
    name: str, *, messages: int, in_flight: int, bytes_written: float, connections: int = 1
) -> Workload:
    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic)
        try:
            load(
                peer,
                topic,
                Job(
                    mode="produce",
                    messages=messages,
                    in_flight=in_flight,
                    seconds=120,
                    max_bytes=bytes_written,
                ),
            )
            found = load(peer, topic, Job(mode="consume", connections=connections, seconds=seconds))
        finally:
            peer.delete(topic)
        return {name: rate(found)}

    return Workload(name, (Row(name, name, "messages/s"),), measure)
