"""RabbitMQ streams: one node, the stream protocol. It confirms what it has written and syncs nothing."""

import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Final, final

from bench.native import Missing
from bench.peers.debian import install
from bench.peers.peer import Peer, free_port

_SERVER: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one in the path is the service's
_PEER_PROPERTIES, _SASL_HANDSHAKE, _SASL_AUTHENTICATE, _TUNE, _OPEN = 17, 18, 19, 20, 21
_CREATE, _DELETE = 13, 14
_RESPONSE: Final = 0x8000
_SECONDS: Final = 90.0


@final
class RabbitMQ(Peer):
    name = "RabbitMQ streams"
    protocol = "rabbitmq"
    syncs = False
    most_partitions = 1

    @classmethod
    def install(cls) -> None:
        if not _SERVER.exists():
            install("rabbitmq-server")
        if not _SERVER.exists() or shutil.which("epmd") is None:
            raise Missing(f"rabbitmq-server has no {_SERVER}")

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        names_port, distribution_port = free_port(), free_port()
        (self.data / "plugins").write_text("[rabbitmq_stream].\n")
        (self.data / "rabbitmq.conf").write_text(
            "listeners.tcp = none\n"  # AMQP's port opens last, and the node ends if somebody has it by then
            f"stream.listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            "disk_free_limit.absolute = 50MB\n"
        )
        env = {
            "HOME": str(self.data),  # where Erlang keeps its cookie
            "ERL_EPMD_PORT": str(names_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"bench{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(distribution_port),
            "RABBITMQ_MNESIA_BASE": str(self.data / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.data / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.data / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(self.data / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.data / "none"),  # nothing of the service's
            "RUNNING_UNDER_SYSTEMD": "true",  # the script then becomes the server, whose id we have
        }
        # A node would start one that outlives it, and shares it with whatever Erlang runs here.
        self._names = subprocess.Popen(
            ["epmd", "-port", str(names_port), "-address", "127.0.0.1"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.spawn([str(_SERVER)], env)
        self.wait_for_port()
        self._wait_until_served()

    def stop(self) -> None:
        super().stop()
        if self._names is not None:
            self._names.terminate()
            self._names.wait()
            self._names = None

    def create(self, topic: str, partitions: int = 1) -> None:
        with _Stream(self.port) as stream:
            stream.ask(_CREATE, _text(topic) + struct.pack(">i", 0))

    def delete(self, topic: str) -> None:
        with _Stream(self.port) as stream:
            stream.ask(_DELETE, _text(topic))

    def _wait_until_served(self) -> None:
        """It listens before its users are there."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                with _Stream(self.port):
                    return
            except (OSError, RuntimeError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    _names: subprocess.Popen[bytes] | None = None


@final
class _Stream:
    """A connection that is let in, to make and remove streams with."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _SECONDS)
        try:
            self.ask(_PEER_PROPERTIES, struct.pack(">i", 0))
            self.ask(_SASL_HANDSHAKE, b"")
            secret = b"\0guest\0guest"
            self.ask(_SASL_AUTHENTICATE, _text("PLAIN") + struct.pack(">i", len(secret)) + secret)
            (key, limits) = self._receive()
            if key != _TUNE:
                raise RuntimeError(f"RabbitMQ said {key} where it should have named its limits")
            self._send(struct.pack(">HH", _TUNE, 1) + limits)
            self.ask(_OPEN, _text("/"))
        except BaseException:
            self._socket.close()
            raise

    def ask(self, key: int, content: bytes) -> None:
        """Send a command; return when it was done."""
        self._send(struct.pack(">HHI", key, 1, 1) + content)
        answered, answer = self._receive()
        while answered != key | _RESPONSE:
            answered, answer = self._receive()
        (code,) = struct.unpack_from(">H", answer, 4)
        if code != 1:
            raise RuntimeError(f"RabbitMQ refused command {key}: {code}")

    def _send(self, frame: bytes) -> None:
        self._socket.sendall(struct.pack(">I", len(frame)) + frame)

    def _receive(self) -> tuple[int, bytes]:
        (size,) = struct.unpack(">I", self._exactly(4))
        frame = self._exactly(size)
        (key,) = struct.unpack_from(">H", frame)
        return key, frame[4:]

    def _exactly(self, size: int) -> bytes:
        data = self._socket.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError("RabbitMQ closed the connection")
        return data

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
