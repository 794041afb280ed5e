"""How fast a node starts, how little it takes, and what many partitions and a large log cost it.

    python bench/foundation.py [--quick] [--json FILE]

Every figure is the median of several rounds on the machine it runs on.
"""

import argparse
import json
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.serving import Node, Wire, batch_of, produce
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from millstream.wire.messages.metadata import MetadataRequest, MetadataResponse

Figures = dict[str, float]
OS_FLUSH = {"flush.policy": "os", "log.dir.ballast.bytes": 0}


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="millstream-bench-", dir=Path.cwd()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def cold_start(rounds: int, progress: Progress) -> Figures:
    """From starting the process on an empty directory to its first acknowledgement, with fsync."""
    acks, memory = [], []
    for _ in progress.track(range(rounds), description="cold start"):
        with folder() as data, Node(data) as node:
            wire = node.connect()
            wire.create("first")
            wire.produced(wire.ask(produce("first", 0, batch_of(100)), 9))
            acks.append(node.age_ms)
            time.sleep(3)  # until it idles, ballast written
            memory.append(node.resident_mb())
            node.stop()
    return {
        "first acknowledgement, ms": statistics.median(acks),
        "idle memory, MB": statistics.median(memory),
    }


def large_log(gigabytes: float, rounds: int, progress: Progress) -> Figures:
    """A restart on a log of that size, closed cleanly, until a fetch from its middle is answered."""
    records = batch_of(1000, 1000)
    count = int(gigabytes * 1e9 / len(records))
    with folder() as data:
        with Node(data, OS_FLUSH) as node:
            wire = node.connect()
            wire.create("large")
            task = progress.add_task("writing the log", total=count)
            started = time.perf_counter()
            for number in range(count):
                wire.send(produce("large", 0, records), 9)
                if number >= 8:
                    wire.receive(0, 9)
                progress.advance(task)
            for _ in range(min(count, 8)):
                wire.produced(wire.receive(0, 9))
            rate = count * len(records) / 1e6 / (time.perf_counter() - started)
            node.stop()
        served = []
        for _ in progress.track(range(rounds), description="restarts"):
            with Node(data, OS_FLUSH) as node:
                wire = node.connect()
                middle = FetchRequestPartition(0, fetch_offset=count * 500, partition_max_bytes=1 << 20)
                fetch = FetchRequest(
                    max_bytes=1 << 20, topics=[FetchRequestTopic("large", partitions=[middle])]
                )
                answer = wire.ask(fetch, 11)
                if not isinstance(answer, FetchResponse) or not answer.responses[0].partitions[0].records:
                    raise RuntimeError("nothing was fetched")
                served.append(node.age_ms)
                node.stop()
    return {
        f"restart on {gigabytes:g} GB until served, ms": statistics.median(served),
        "writing that log, MB/s": rate,
    }


def many_partitions(partitions: int, progress: Progress) -> Figures:
    """One topic a hundred partitions, until there are so many: created, written, listed, read, restarted."""
    topics = partitions // 100
    with folder() as data:
        settings = {"log.dir.ballast.bytes": 0}
        with Node(data, settings) as node:
            wire = node.connect()
            empty = node.resident_mb()
            started = time.perf_counter()
            for number in range(topics):
                asked = CreateTopicsRequest([CreateTopicsRequestTopic(f"t{number}", 100, 1)])
                made = wire.ask(asked, 4)
                if not isinstance(made, CreateTopicsResponse) or made.topics[0].error_code:
                    raise RuntimeError(f"{made}")
            created = time.perf_counter() - started
            started = time.perf_counter()
            _write_everywhere(wire, topics, progress)
            written = time.perf_counter() - started
            started = time.perf_counter()
            listing = wire.ask(MetadataRequest(topics=None), 9)
            listed = time.perf_counter() - started
            if not isinstance(listing, MetadataResponse) or len(listing.topics) != topics:
                raise RuntimeError("not all topics are listed")
            _read_some(wire, topics)
            full = node.resident_mb()
            node.stop()
        with Node(data, settings) as node:
            wire = node.connect()
            _read_some(wire, topics)
            restarted = node.age_ms
            again = node.resident_mb()
            node.stop()
    return {
        f"creating {partitions} partitions, s": created,
        "a fsynced record to each, s": written,
        "listing them, ms": listed * 1000,
        "memory, empty, MB": empty,
        "memory, all written, MB": full,
        "restart until served, ms": restarted,
        "memory after restart, MB": again,
    }


def _write_everywhere(wire: Wire, topics: int, progress: Progress) -> None:
    records = batch_of(100)
    waiting = 0
    for number in progress.track(range(topics), description="writing to every partition"):
        for index in range(100):
            wire.send(produce(f"t{number}", index, records), 9)
            waiting += 1
            if waiting > 64:
                wire.produced(wire.receive(0, 9))
                waiting -= 1
    for _ in range(waiting):
        wire.produced(wire.receive(0, 9))


def _read_some(wire: Wire, topics: int) -> None:
    for number in range(0, topics, max(topics // 20, 1)):
        partitions = [FetchRequestPartition(index, partition_max_bytes=1000) for index in (0, 57, 99)]
        fetch = FetchRequest(
            max_bytes=1 << 20, topics=[FetchRequestTopic(f"t{number}", partitions=partitions)]
        )
        answer = wire.ask(fetch, 11)
        if not isinstance(answer, FetchResponse):
            raise TypeError(answer)
        if [bool(partition.records) for partition in answer.responses[0].partitions] != [True] * 3:
            raise RuntimeError(f"a record of t{number} is missing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    quick = options.quick
    console = Console()
    figures: Figures = {}
    with Progress(console=console) as progress:
        figures |= cold_start(3 if quick else 9, progress)
        figures |= large_log(1 if quick else 10, 3 if quick else 5, progress)
        figures |= many_partitions(1_000 if quick else 10_000, progress)
    table = Table(title=f"Foundation, on {platform.machine()} with Python {platform.python_version()}")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.1f}")
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
