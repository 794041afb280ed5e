"""No server at all: what this disk takes to write a message and sync it."""

from typing import final

from bench.native import built
from bench.peers.peer import Peer


@final
class Disk(Peer):
    name = "bare fdatasync"
    protocol = "disk"
    serves = False

    @classmethod
    def install(cls) -> None:
        built("load")

    def start(self) -> None:
        """There is nothing to start."""

    def create(self, topic: str, partitions: int = 1) -> None:
        """The load generator has a file of its own."""

    def delete(self, topic: str) -> None:
        """It is gone already."""

    @property
    def pid(self) -> int:
        return 0
