"""How fast compaction goes, and what whoever produces meanwhile notices of it.

    python -m bench.compaction [--rounds 5] [--dirty-mb 256] [--record-bytes 1000] [--json FILE]

A node holds a compacted topic. In each round it is idle, then its log is filled
with records that replace others, then compacted. Meanwhile somebody else writes a
small batch to another topic every few milliseconds, fsynced before it is
acknowledged, and notes how long that took. The two kinds of phases alternate,
so that a machine that is busy with other things is so for both of them.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.serving import Node, batch_of, produce
from rich.console import Console
from rich.table import Table

from millstream.records.build import NewRecord, build
from millstream.records.compression import Codec
from millstream.storage.cleaned import CLEANED
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestConfig,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestConfig,
    IncrementalAlterConfigsRequestResource,
)
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
    ListOffsetsResponse,
)
from millstream.wire.messages.produce import ProduceRequest

TABLE: Final = "table"
PROBE: Final = "probe"
KEYS: Final = 50_000
SEGMENT_BYTES: Final = 32 << 20
_BROKER: Final = 4
_UNDER_WAY: Final = 32  # batches that share a sync
_PROBE_SECONDS: Final = 0.005
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Probe(threading.Thread):
    """Writes to a topic of its own, one batch at a time, and notes how long each took."""

    def __init__(self, node: Node) -> None:
        super().__init__(daemon=True)
        self.latencies: list[float] = []
        self._wire = node.connect()
        self._batch = batch_of(1000)
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            began = time.perf_counter()
            self._wire.produced(self._wire.ask(produce(PROBE, 0, self._batch), 9))
            self.latencies.append((time.perf_counter() - began) * 1000)
            time.sleep(_PROBE_SECONDS)

    def taken(self) -> list[float]:
        """What was noted since this was last asked."""
        latencies, self.latencies = self.latencies, []
        return latencies

    def stop(self) -> None:
        self._stopped.set()
        self.join()


class Bench:
    """One node, through all rounds."""

    def __init__(self, node: Node, data: Path, record_bytes: int, records: int, codec: Codec) -> None:
        self._node = node
        self._checkpoint = data / f"{TABLE}-0" / CLEANED
        self._record_bytes = record_bytes
        self._records = records
        self._codec = codec
        self._random = random.Random(1)
        self._wire = node.connect()

    def prepare(self) -> None:
        self._wire.create(PROBE)
        configs = {
            "cleanup.policy": "compact",
            "segment.bytes": SEGMENT_BYTES,
            "min.cleanable.dirty.ratio": 0.0,
            "max.message.bytes": 2 << 20,
        }
        topic = CreateTopicsRequestTopic(
            name=TABLE,
            num_partitions=1,
            replication_factor=1,
            configs=[CreateTopicsRequestConfig(name, str(value)) for name, value in configs.items()],
        )
        said = self._wire.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        if not isinstance(said, CreateTopicsResponse) or said.topics[0].error_code:
            raise RuntimeError(said)

    def fill(self, dirty_bytes: int) -> int:
        """Write about so many bytes; return how many."""
        written = 0
        while written < dirty_bytes:
            for _ in range(_UNDER_WAY):
                batch = self._batch()
                self._wire.send(produce(TABLE, 0, batch), 9)
                written += len(batch)
            for _ in range(_UNDER_WAY):
                self._wire.produced(self._wire.receive(ProduceRequest.KEY, 9))
        return written

    def clean(self) -> tuple[float, float]:
        """Have all but the newest segment compacted; seconds it took, and of the processor's time."""
        end = self._end_offset()
        newest = max(int(each.stem) for each in self._checkpoint.parent.glob("*.log") if int(each.stem) < end)
        cpu, began = self._cpu_seconds(), time.perf_counter()
        self._switch("true")
        while self._cleaned() < newest:
            time.sleep(0.005)
        took = time.perf_counter() - began
        cpu = self._cpu_seconds() - cpu
        self._switch("false")
        return took, cpu

    def _batch(self) -> bytearray:
        records = []
        for _ in range(self._records):
            value = self._random.randbytes(self._record_bytes // 2).ljust(self._record_bytes, b".")
            records.append(NewRecord(b"user-%011d" % self._random.randrange(KEYS), value))
        return build(records, now_ms=int(time.time() * 1000), codec=self._codec)

    def _end_offset(self) -> int:
        partition = ListOffsetsRequestPartition(partition_index=0, timestamp=-1)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsRequestTopic(name=TABLE, partitions=[partition])]
        )
        said = self._wire.ask(request, 5)
        assert isinstance(said, ListOffsetsResponse), said
        return said.topics[0].partitions[0].offset

    def _cleaned(self) -> int:
        try:
            lines = self._checkpoint.read_text().splitlines()
        except FileNotFoundError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith("cleaned ")), 0)

    def _cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self._node.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def _switch(self, on: str) -> None:
        config = IncrementalAlterConfigsRequestConfig(name="log.cleaner.enable", config_operation=0, value=on)
        resource = IncrementalAlterConfigsRequestResource(
            resource_type=_BROKER, resource_name="1", configs=[config]
        )
        self._wire.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="millstream-bench-", dir=Path.cwd()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def peak_mb(node: Node) -> float:
    lines = Path(f"/proc/{node.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dirty-mb", type=int, default=256)
    parser.add_argument("--record-bytes", type=int, default=1000)
    parser.add_argument("--batch-bytes", type=int, default=16_000)
    parser.add_argument("--codec", choices=[each.name.lower() for each in Codec], default="none")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    console = Console()
    records = max(args.batch_bytes // args.record_bytes, 1)
    settings = {
        "log.cleaner.enable": "false",
        "log.cleaner.backoff.ms": 100,
        "log.dir.ballast.bytes": 0,
        "log.dir.min.free.percent": 0,
    }
    table = Table(title=f"compaction of {args.record_bytes}-byte records, {args.codec} · {platform.node()}")
    for heading in ("round", "idle p50 / p99 ms", "cleaning p50 / p99 ms", "p99 ratio", "dirty MB/s", "CPU"):
        table.add_column(heading, justify="right")
    idle: list[float] = []
    busy: list[float] = []
    ratios: list[float] = []
    speeds: list[float] = []
    shares: list[float] = []
    with folder() as data, Node(data, settings) as node:
        bench = Bench(node, data, args.record_bytes, records, Codec[args.codec.upper()])
        bench.prepare()
        before_mb = node.resident_mb()
        for round in range(args.rounds):
            dirty = bench.fill(args.dirty_mb << 20)
            os.sync()
            time.sleep(1)
            probe = Probe(node)
            probe.start()
            time.sleep(0.2)
            probe.taken()
            time.sleep(3)
            still = probe.taken()
            seconds, cpu = bench.clean()
            working = probe.taken()
            probe.stop()
            idle += still
            busy += working
            ratios.append(percentile(working, 0.99) / percentile(still, 0.99))
            speeds.append(dirty / 1e6 / seconds)
            shares.append(cpu / seconds)
            table.add_row(
                str(round + 1),
                f"{percentile(still, 0.5):.1f} / {percentile(still, 0.99):.1f}",
                f"{percentile(working, 0.5):.1f} / {percentile(working, 0.99):.1f}",
                f"{ratios[-1]:.2f}",
                f"{speeds[-1]:.0f}",
                f"{shares[-1]:.0%}",
            )
        peak = peak_mb(node)
    figures = {
        "p99_idle_ms": percentile(idle, 0.99),
        "p99_cleaning_ms": percentile(busy, 0.99),
        "p99_ratio_median": statistics.median(ratios),
        "dirty_mb_s": statistics.median(speeds),
        "cpu": statistics.median(shares),
        "memory_before_mb": before_mb,
        "memory_peak_mb": peak,
    }
    table.add_section()
    table.add_row(
        "all",
        f"{percentile(idle, 0.5):.1f} / {figures['p99_idle_ms']:.1f}",
        f"{percentile(busy, 0.5):.1f} / {figures['p99_cleaning_ms']:.1f}",
        f"{figures['p99_ratio_median']:.2f}",
        f"{figures['dirty_mb_s']:.0f}",
        f"{figures['cpu']:.0%}",
    )
    console.print(table)
    console.print(f"memory: {before_mb:.0f} MB at first, {peak:.0f} MB at most; {os.cpu_count()} processors")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
