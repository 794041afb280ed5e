"""What the load generator is told to do, and what it found."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from bench.native import built


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of the load generator; native/load.h says what each of these is."""

    mode: str
    connections: int = 1
    in_flight: int = 1
    messages: int = 1
    size: int = 100
    partitions: int = 1
    fetch_bytes: int = 1 << 20
    rate: int = 0
    once: int = 0
    seconds: float = 2.0
    max_bytes: float = 1e9  # enough for a measurement, and not so much that the disk is what is measured


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one run measured. Processor times are of the whole run, in seconds."""

    seconds: float
    requests: float
    messages: float
    bytes: float
    refused: float
    p50_us: float
    p99_us: float
    p999_us: float
    client_cpu: float
    server_cpu: float

    @property
    def messages_per_second(self) -> float:
        return self.messages / self.seconds

    @property
    def server_us_per_message(self) -> float:
        return self.server_cpu * 1e6 / self.messages if self.messages else 0.0

    @property
    def client_share(self) -> float:
        """How much of one processor the load generator took: near 1, it is itself what is measured."""
        return self.client_cpu / self.seconds

    @property
    def server_share(self) -> float:
        return self.server_cpu / self.seconds


def together(runs: Sequence[Found]) -> Found:
    """What several runs of one job found, as one; how long requests took is that of the first."""
    summed = ("seconds", "requests", "messages", "bytes", "refused", "client_cpu", "server_cpu")
    return replace(runs[0], **{name: sum(getattr(run, name) for run in runs) for name in summed})


_LETTERS = {
    "connections": "c",
    "in_flight": "k",
    "messages": "m",
    "size": "s",
    "partitions": "P",
    "fetch_bytes": "b",
    "rate": "r",
    "once": "o",
    "seconds": "t",
    "max_bytes": "g",
}


def command(job: Job, protocol: str, port: int, pid: int, topic: str) -> list[str]:
    """The words to start the load generator with."""
    words = [str(built("load")), job.mode, protocol, "-p", str(port), "-S", str(pid), "-n", topic]
    for name, letter in _LETTERS.items():
        words += [f"-{letter}", str(getattr(job, name))]
    return words


def run(job: Job, protocol: str = "kafka", port: int = 0, pid: int = 0, topic: str = "bench") -> Found:
    """Run *job* to its end."""
    done = subprocess.run(
        command(job, protocol, port, pid, topic),
        capture_output=True,
        text=True,
        timeout=job.seconds + 120,
        cwd=Path.cwd(),
    )
    if done.returncode:
        raise RuntimeError(f"{job}: {done.stderr.strip() or done.stdout}")
    found = json.loads(done.stdout)
    return Found(**{field.name: float(found[field.name]) for field in fields(Found)})
