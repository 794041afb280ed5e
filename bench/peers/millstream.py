"""Millstream itself, with the compiled code that was built at install, and as plain Python."""

import sys
from typing import final

from bench.peers.speaks_kafka import SpeaksKafka

from millstream.node.config import OTHER_LISTENERS


class Millstream(SpeaksKafka):
    name = "millstream"
    native = "true"

    @classmethod
    def install(cls) -> None:
        """It is what runs this."""

    def start(self) -> None:
        settings = dict.fromkeys(OTHER_LISTENERS, "") | {
            "flush.policy": "fsync" if self.sync else "os",
            "log.dir.ballast.bytes": "0",
            "native.enable": self.native,
        }
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
