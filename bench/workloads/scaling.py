"""What a message costs as partitions, connections, batches and the log grow: processor time, not pace."""

from bench.figures import Measured, Row
from bench.load import Job
from bench.peers.peer import Peer
from bench.workloads.workload import Workload, load, new_topic


def workloads(*, quick: bool) -> list[Workload]:
    made = [
        _cost(
            f"cost with {messages} messages a request", Job(mode="produce", in_flight=16, messages=messages)
        )
        for messages in (1, 10, 100, 1_000)
    ]
    made += [
        _cost(
            f"cost over {partitions} partitions",
            Job(mode="produce", in_flight=4, connections=min(partitions, 500), partitions=partitions),
        )
        for partitions in ((1, 1_000) if quick else (1, 10, 100, 1_000, 10_000))
    ]
    made += [
        _cost(
            f"cost over {connections} connections",
            Job(mode="produce", in_flight=4, connections=connections),
        )
        for connections in ((1, 500) if quick else (1, 10, 100, 900))
    ]
    made += [
        _cost(
            f"cost behind {megabytes} MB",
            Job(mode="produce", in_flight=64),
            Job(mode="produce", in_flight=8, messages=1_000, seconds=120, max_bytes=megabytes * 1e6),
        )
        for megabytes in ((10, 500) if quick else (10, 1_000, 4_000))
    ]
    return made


def _cost(name: str, job: Job, first: Job | None = None) -> Workload:
    """The server's processor time for a message of *job*, after *first* has been done."""

    def measure(peer: Peer, seconds: float) -> dict[str, Measured]:
        topic = new_topic()
        peer.create(topic, job.partitions)
        try:
            if first is not None:
                load(peer, topic, first)
            load(peer, topic, Job(**(job.__dict__ | {"seconds": seconds / 2})))  # files and caches are there
            found = load(peer, topic, Job(**(job.__dict__ | {"seconds": seconds})))
        finally:
            peer.delete(topic)
        return {name: Measured(found.server_us_per_message, found.server_us_per_message, found.client_share)}

    row = Row(name, name, "µs of the server", lower_is_better=True)
    return Workload(name, (row,), measure, fits=lambda peer: peer.partitions or job.partitions == 1)
