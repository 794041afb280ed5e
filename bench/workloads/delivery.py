"""From being sent by a producer to being seen by a consumer that waits for it."""

import subprocess
from contextlib import ExitStack

from bench.figures import Measured, Row
from bench.load import Job, command
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, latency, load, new_topic

_LOW = 500  # messages a second
_BESIDE = (
    470  # requests of 16 KB a second that others write meanwhile, at middle load: in no step with the others
)


def workloads(*, quick: bool) -> list[Workload]:
    made = [_delivery("produce to consume, low load", busy=False)]
    if not quick:
        made.append(_delivery("produce to consume, middle load", busy=True))
        made.append(_delivery("produce to consume, low load", busy=False, sync=True))
    return made


def _delivery(name: str, *, busy: bool, sync: bool = False) -> Workload:
    name = f"{name}, fsync" if sync else name

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic, other = new_topic(), new_topic()
        peer.create(topic)
        with ExitStack() as stack:
            if busy:
                stack.callback(peer.delete, other)
                peer.create(other)
                stack.enter_context(_beside(peer, other, seconds))
            stack.callback(peer.delete, topic)
            found = load(peer, topic, Job(mode="deliver", rate=_LOW, seconds=seconds))
        return {name: latency(found)}

    row = Row(name, f"{name}, p50", "µs", lower_is_better=True)
    return Workload(name, (row,), measure, sync, lambda peer: peer.serves and (peer.syncs or not sync))


def _beside(peer: Peer, topic: str, seconds: float) -> "subprocess.Popen[bytes]":
    """A load of its own, over before anybody waits for it."""
    job = Job(mode="produce", messages=145, in_flight=8, rate=_BESIDE, seconds=seconds)
    words = command(job, peer.protocol, peer.port, peer.pid, topic)
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)
