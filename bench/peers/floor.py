"""The floor: the system calls of a broker, and nothing else. See native/floor.c."""

from typing import final

from bench.native import built
from bench.peers.peer import Peer


@final
class Floor(Peer):
    name = "C floor"

    @classmethod
    def install(cls) -> None:
        built("floor")

    def start(self) -> None:
        self.spawn([str(built("floor")), str(self.port), str(self.data), "fsync" if self.sync else "os"])
        self.wait_for_port()

    def create(self, topic: str, partitions: int = 1) -> None:
        """It knows no topics: it begins anew instead, which takes it no time."""
        self.stop()
        self.start()

    def delete(self, topic: str) -> None:
        self.stop()
        for file in self.data.glob("*.log"):
            file.unlink()
        self.start()
