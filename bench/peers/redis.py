"""Redis Streams, with the append-only file that makes them last."""

import socket
from typing import final

from bench.peers.debian import program
from bench.peers.peer import Peer


@final
class Redis(Peer):
    name = "Redis Streams"
    protocol = "redis"
    most_partitions = 1
    batches = False
    reads_disk = False

    @classmethod
    def install(cls) -> None:
        program("redis-server", "redis-server")

    def start(self) -> None:
        words = [program("redis-server", "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        words += ["--dir", str(self.data), "--appendonly", "yes", "--save", ""]
        words += ["--appendfsync", "always" if self.sync else "no", "--auto-aof-rewrite-percentage", "0"]
        self.spawn(words)
        self.wait_for_port()

    def create(self, topic: str, partitions: int = 1) -> None:
        """A stream is there once something is added to it."""

    def delete(self, topic: str) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as here:
            here.sendall(f"DEL {topic}\r\n".encode())
            here.recv(100)
