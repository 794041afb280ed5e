"""How many messages a second the JSON lines and text doors take, pipelined, each of them durable.

    python -m bench.doors [--seconds 5] [--connections 1 8]

Whole blocks of lines are sent as fast as they are taken, and line ends are
counted in what comes back: the client costs next to nothing, so the figures
are the node's. Required: 50,000 messages a second at each door.
"""

import argparse
import json
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import psutil
from tests.support.server import Server

REQUIRED: Final = 50_000
_TEXT: Final = "x" * 100
_BLOCK: Final = 500  # lines
_WARM: Final = 20_000  # replies before anything counts


class Pipe:
    """One connection: sends blocks without waiting, and counts replies."""

    def __init__(self, port: int, block: bytes, refused: bytes) -> None:
        self.replies = 0
        self.refused = 0
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._block = block
        self._bad = refused
        self._stopping = False
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._send, self._hear)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._threads[0].join()
        self._socket.shutdown(socket.SHUT_WR)
        self._threads[1].join(timeout=60)
        self._socket.close()

    def _send(self) -> None:
        while not self._stopping:
            self._socket.sendall(self._block)

    def _hear(self) -> None:
        while data := self._socket.recv(1 << 20):
            self.replies += data.count(b"\n")
            self.refused += data.count(self._bad)


def measure(
    server: Server, port: int, block: bytes, refused: bytes, connections: int, seconds: float
) -> tuple[float, float]:
    """Messages a second that were replied to with success, and the node's processor time for each, in µs."""
    process = psutil.Process(server.process.pid)
    pipes = [Pipe(port, block, refused) for _ in range(connections)]
    for pipe in pipes:
        pipe.start()
    while sum(pipe.replies for pipe in pipes) < _WARM:
        time.sleep(0.01)
    used, began, before = _used(process), time.perf_counter(), sum(pipe.replies for pipe in pipes)
    time.sleep(seconds)
    taken, after = time.perf_counter() - began, sum(pipe.replies for pipe in pipes)
    used = _used(process) - used
    for pipe in pipes:
        pipe.stop()
    if any(pipe.refused for pipe in pipes):
        raise RuntimeError("messages were refused")
    return (after - before) / taken, used * 1e6 / (after - before)


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def delivery(port: int, count: int) -> float:
    """Messages a second to one subscriber of a group that acknowledges each."""
    with socket.create_connection(("127.0.0.1", port)) as here:
        here.sendall(b"SUB bench group=g window=5000\n")
        acked = 0
        rest = b""
        began = 0.0
        while acked < count:
            *lines, rest = (rest + here.recv(1 << 20)).split(b"\n")
            began = began or time.perf_counter()
            ids = [line.split(b" ", 3)[2] for line in lines if line.startswith(b"MSG")]
            acked += sum(line.startswith(b"ACKED") for line in lines)
            if ids:
                here.sendall(b"".join(b"ACK %b\n" % id for id in ids))
        return acked / (time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the JSON lines and text doors.")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8])
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="settings of the node"
    )
    options = parser.parse_args()
    settings = dict(each.split("=", 1) for each in options.set)
    produce = json.dumps(
        {"type": "produce", "topic": "bench", "value": _TEXT}, separators=(",", ":")
    ).encode()
    doors: dict[str, tuple[bytes, bytes]] = {
        "text": (f"PUB bench {_TEXT}\n".encode(), b"ERR"),
        "JSON lines": (produce + b"\n", b'"ok":false'),
    }
    worst = float("inf")
    for door, (line, refused) in doors.items():
        for connections in options.connections:
            with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "data", settings) as server:
                _ask(server.ports["JSON lines"], b'{"type":"createTopic","topic":"bench"}\n')
                rate, cost = measure(
                    server, server.ports[door], line * _BLOCK, refused, connections, options.seconds
                )
                worst = min(worst, rate)
                print(
                    f"{door:12} {connections:3} connections  {rate:10,.0f} messages/s published, "
                    f"{cost:.1f} µs of the node's processor each",
                    flush=True,
                )
                if door == "text" and connections == options.connections[0]:
                    rate = delivery(server.ports["text"], 200_000)
                    print(f"{door:12}   1 subscriber   {rate:10,.0f} messages/s delivered and acknowledged")
    return 0 if worst >= REQUIRED else 1


def _ask(port: int, line: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as here:
        here.sendall(line)
        return here.recv(1 << 16)


if __name__ == "__main__":
    sys.exit(main())
