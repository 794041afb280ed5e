"""Millstream itself, with the compiled code that was built at install, and as plain Python."""

import sys
from collections.abc import Mapping
from typing import final

from bench.peers.peer import free_port
from bench.peers.speaks_kafka import SpeaksKafka

from millstream.node.config import OTHER_LISTENERS


class Millstream(SpeaksKafka):
    name = "millstream"
    native = "true"
    doors: Mapping[str, int] = {}  # ports of the other doors, by setting; shut unless opened before the start

    @classmethod
    def install(cls) -> None:
        """It is what runs this."""

    def open_doors(self) -> None:
        self.doors = {name: free_port() for name in OTHER_LISTENERS}

    def start(self) -> None:
        doors = {name: f"127.0.0.1:{port}" for name, port in self.doors.items()}
        settings = (
            dict.fromkeys(OTHER_LISTENERS, "")
            | doors
            | {
                "flush.policy": "fsync" if self.sync else "os",
                "log.dir.ballast.bytes": "0",
                "native.enable": self.native,
                "group.initial.rebalance.delay.ms": "0",
                "log.segment.delete.delay.ms": "0",  # as Kafka's
            }
        )
        words = [sys.executable, "-m", "millstream", "serve", "--data", str(self.data)]
        words += ["--listen", f"127.0.0.1:{self.port}"]
        for name, value in settings.items():
            words += ["--set", f"{name}={value}"]
        self.spawn(words)
        self.wait_until_served()


@final
class MillstreamPlain(Millstream):
    name = "millstream, plain"
    native = "false"
