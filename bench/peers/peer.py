"""What the bench needs of a server it measures."""

import contextlib
import os
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

_PATIENCE_SECONDS: Final = 90.0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Peer(ABC):
    """A server in a process of its own, on a loopback port, with its data below one directory."""

    name: ClassVar[str]
    protocol: ClassVar[str] = "kafka"
    serves: ClassVar[bool] = True  # whether there is a server; else it fits only what asks for it
    syncs: ClassVar[bool] = True  # whether it can sync before it acknowledges
    most_partitions: ClassVar[int] = 10_000  # that a topic may have, made in seconds
    batches: ClassVar[bool] = True  # whether a request may hold several messages
    reads_disk: ClassVar[bool] = True  # rather than keeping everything in memory of its own

    def __init__(self, data: Path, *, sync: bool) -> None:
        self.data = data
        self.sync = sync
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0

    @classmethod
    @abstractmethod
    def install(cls) -> None:
        """Fetch what is needed, once; Missing says why that is not possible here."""

    @abstractmethod
    def start(self) -> None:
        """Return once it answers."""

    @abstractmethod
    def create(self, topic: str, partitions: int = 1) -> None:
        """Have *topic*, empty."""

    @abstractmethod
    def delete(self, topic: str) -> None:
        """Give back what *topic* takes up."""

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def resident_mb(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmRSS")

    def cpu_seconds(self) -> float:
        after = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after[11]) + int(after[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def spawn(self, words: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        self.started_at = time.perf_counter()
        with (self.data.parent / f"{self.data.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(os.environ) | dict(env or {}),
            )

    def ended(self) -> str:
        """What it said last, if it is no longer there."""
        if self.process is None or self.process.poll() is None:
            return ""
        said = (self.data.parent / f"{self.data.name}.log").read_text(errors="replace")
        return f"{self.name} ended with {self.process.returncode}: {said[-500:].strip()}"

    def wait_for_port(self) -> None:
        """Return once somebody listens."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if why := self.ended():
                raise RuntimeError(why)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.005)
        raise RuntimeError(f"{self.name} does not listen after {_PATIENCE_SECONDS:g} s")
