"""Reading from the page cache and from the disk, what was written in large and in tiny batches."""

from typing import Final

from bench.figures import Measured, Row
from bench.load import Job, together
from bench.peers.peer import Peer
from bench.workloads.files import write_out
from bench.workloads.workload import Workload, load, new_topic, rate

_MIDDLE: Final = 145  # messages, in a request of 16 KB
_COLD_TIMES: Final = 5  # that a log is read from the disk: it takes a moment only, and disks have moods


def workloads(*, quick: bool) -> list[Workload]:
    made = [
        _reading(
            "consume, 16 KB batches", messages=_MIDDLE, in_flight=8, bytes_written=5e7 if quick else 2e8
        ),
        _reading("consume, one message a batch", messages=1, in_flight=64, bytes_written=3e7),
    ]
    if not quick:
        made += [
            _reading("consume, 1 MB batches", messages=9_000, in_flight=4, bytes_written=4e8),
            _reading(
                "consume, 8 connections", messages=_MIDDLE, in_flight=8, bytes_written=2e8, connections=8
            ),
            _reading(
                "consume from disk, 16 KB batches",
                messages=_MIDDLE,
                in_flight=8,
                bytes_written=2e8,
                cold=True,
            ),
            _reading(
                "consume from disk, one message a batch",
                messages=1,
                in_flight=64,
                bytes_written=3e7,
                cold=True,
            ),
        ]
    return made


def _reading(
    name: str,
    *,
    messages: int,
    in_flight: int,
    bytes_written: float,
    connections: int = 1,
    cold: bool = False,
) -> Workload:
    written = Job(
        mode="produce", messages=messages, in_flight=in_flight, seconds=120, max_bytes=bytes_written
    )

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic)
        try:
            load(peer, topic, written)
            # A second time it would be in the cache: it is read once, however long it takes, and forgotten.
            read = Job(
                mode="consume", connections=connections, seconds=60 if cold else seconds, once=int(cold)
            )
            runs = []
            for _ in range(_COLD_TIMES if cold else 1):
                if cold:
                    write_out(peer.data, forget=True)
                runs.append(load(peer, topic, read))
            found = together(runs)
        finally:
            peer.delete(topic)
        return {name: rate(found)}

    def fits(peer: type[Peer]) -> bool:
        # To those without batches it is all the same how large they are: enough of them.
        alike = not peer.batches and (messages > _MIDDLE or connections > 1)
        return peer.serves and (peer.reads_disk or not cold) and not alike

    return Workload(name, (Row(name, name, "messages/s"),), measure, fits=fits)
