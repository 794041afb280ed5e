"""NATS JetStream: one server, streams on file."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Final, final

from bench.native import Missing, cache
from bench.peers.peer import Peer

_VERSION: Final = "v2.12.2"
_MODULE: Final = f"github.com/nats-io/nats-server/v2@{_VERSION}"


def server() -> Path:
    """The program, built by Go once."""
    folder = cache() / f"nats-{_VERSION}"
    made = folder / "nats-server"
    if made.exists():
        return made
    go = shutil.which("go")
    if go is None:
        raise Missing("no Go to build nats-server with (Debian: golang)")
    env = os.environ | {"GOBIN": str(folder)}
    done = subprocess.run([go, "install", _MODULE], env=env, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise Missing(f"nats-server could not be built: {done.stderr[-300:]}")
    return made


@final
class Nats(Peer):
    name = "NATS JetStream"
    protocol = "nats"
    most_partitions = 1
    batches = False

    @classmethod
    def install(cls) -> None:
        server()

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        config = self.data / "nats.conf"
        sync = "always" if self.sync else "2m"
        store = f'store_dir: "{self.data / "store"}", sync_interval: "{sync}", max_file_store: 100GB'
        config.write_text(f'listen: "127.0.0.1:{self.port}"\njetstream {{ {store} }}\n')
        self.spawn([str(server()), "-c", str(config)])
        self.wait_for_port()

    def create(self, topic: str, partitions: int = 1) -> None:
        self._ask(
            f"STREAM.CREATE.{topic}",
            {"name": topic, "subjects": [topic], "storage": "file", "retention": "limits", "num_replicas": 1},
        )

    def delete(self, topic: str) -> None:
        self._ask(f"STREAM.DELETE.{topic}", {})

    def _ask(self, call: str, request: dict[str, object]) -> None:
        body = json.dumps(request).encode()
        with socket.create_connection(("127.0.0.1", self.port), 30) as here, here.makefile("rb") as lines:
            lines.readline()  # INFO
            here.sendall(
                b'CONNECT {"verbose":false}\r\nSUB _INBOX.bench 1\r\n'
                + f"PUB $JS.API.{call} _INBOX.bench {len(body)}\r\n".encode()
                + body
                + b"\r\n"
            )
            line = lines.readline()
            while not line.startswith(b"MSG"):
                line = lines.readline()
            answer = json.loads(lines.read(int(line.split()[-1])))
            if "error" in answer:
                raise RuntimeError(f"{call}: {answer['error']}")
