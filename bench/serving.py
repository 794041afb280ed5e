"""A served node to measure, and a blocking client of it that costs next to nothing."""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from millstream.node.config import OTHER_LISTENERS
from millstream.records.build import NewRecord, build
from millstream.wire.apis import APIS, RequestHeader, read_response_header
from millstream.wire.frame import request_frame
from millstream.wire.message import Message, read_message
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)
from millstream.wire.primitives import Reader


class Node:
    """`millstream serve` in a process of its own, on a port the system chose."""

    def __init__(self, data: Path, settings: Mapping[str, object] | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        arguments = [sys.executable, "-m", "millstream", "serve", "--data", str(data)]
        arguments += ["--listen", f"127.0.0.1:{self.port}"]
        for name, value in (dict.fromkeys(OTHER_LISTENERS, "") | dict(settings or {})).items():
            arguments += ["--set", f"{name}={value}"]
        self.started = time.perf_counter()
        # As installed: Python keeps what it has compiled, whatever the one who measures prefers.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, env=env)

    def connect(self) -> "Wire":
        """A connection, as soon as there can be one."""
        while True:
            try:
                return Wire(self.port)
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise RuntimeError("the node did not start") from None
                time.sleep(0.001)

    @property
    def age_ms(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    def resident_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmRSS")

    def stop(self) -> None:
        self.process.terminate()
        if self.process.wait(timeout=120) != 0:
            raise RuntimeError(f"the node ended with {self.process.returncode}")

    def __enter__(self) -> "Node":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Wire:
    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: Message, version: int) -> None:
        self._socket.sendall(request_frame(RequestHeader(request.KEY, version, 1, "bench"), request))

    def receive(self, key: int, version: int) -> Message:
        (size,) = struct.unpack(">i", self._exactly(4))
        reader = Reader(self._exactly(size))
        read_response_header(reader, key, version)
        return read_message(APIS[key].response, reader.data[reader.position :], version)

    def ask(self, request: Message, version: int) -> Message:
        self.send(request, version)
        return self.receive(request.KEY, version)

    def create(self, topic: str) -> None:
        self.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 9)

    def produced(self, response: Message) -> int:
        if not isinstance(response, ProduceResponse):
            raise TypeError(response)
        partition = response.responses[0].partition_responses[0]
        if partition.error_code:
            raise RuntimeError(f"error {partition.error_code}: {partition.error_message}")
        return partition.base_offset

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = self._socket.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError("the node closed the connection")
        return data


def batch_of(size: int, records: int = 1) -> bytearray:
    """One batch of *records* values of *size* bytes each."""
    value = bytes(range(256)) * (size // 256 + 1)
    return build([NewRecord(None, value[:size]) for _ in range(records)], now_ms=int(time.time() * 1000))


def produce(topic: str, index: int, records: bytearray, acks: int = -1) -> ProduceRequest:
    data = ProduceRequestPartitionData(index, records)
    return ProduceRequest(
        acks=acks, timeout_ms=30_000, topic_data=[ProduceRequestTopicData(topic, partition_data=[data])]
    )
