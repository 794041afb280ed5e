"""A node under test: a real server, and a look at what it keeps on disk."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, final

from tests.support.server import Server

from millstream.records.batch import Batch, split
from millstream.records.compression import Codec

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1_000,
    "offsets.topic.num.partitions": 5,
    "log.dir.ballast.bytes": 0,
    "log.dir.min.free.percent": 0,
}
CODECS: Final = {
    "none": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_NUMBERS: Final = itertools.count(1)


@final
class Node:
    """*bootstrap* stays the same through `restart`, as it does for clients that stay connected."""

    def __init__(self, data: Path, settings: dict[str, object] | None = None) -> None:
        self.data = data
        self._settings = {**SETTINGS, **(settings or {})}
        self.server = Server(data, self._settings)

    @property
    def bootstrap(self) -> str:
        return self.server.bootstrap

    @property
    def port(self) -> int:
        return self.server.port

    def stop(self) -> None:
        """Stop as an operator would; what the server had to say must not include a mistake of its own."""
        code = self.server.stop()
        faults = [line for line in self.server.log if " ERROR " in line or "Traceback" in line]
        assert code == 0, "\n".join(self.server.log)
        assert not faults, "\n".join(self.server.log)

    def kill(self) -> None:
        self.server.kill()

    def start(self) -> None:
        """Serve again, where and what it served before."""
        self.server = Server(self.data, self._settings, port=self.port)

    def close(self) -> None:
        if self.server.process.poll() is None:
            self.stop()

    def batches(self, topic: str, partition: int = 0) -> list[Batch]:
        """Every batch in the partition's segments, as its bytes lie on disk."""
        return [batch for data in self._segments(topic, partition) for batch in split(data)]

    def codecs(self, topic: str, partition: int = 0) -> set[Codec]:
        return {batch.codec for batch in self.batches(topic, partition)}

    def _segments(self, topic: str, partition: int) -> Iterator[bytes]:
        for path in sorted((self.data / f"{topic}-{partition}").glob("*.log")):
            data = path.read_bytes()
            yield data[: _end_of_batches(data)]

    def at_rest(self, topic: str) -> list[Path]:
        """The segments of *topic*, once they hold nothing but batches: a while after the last was written."""
        files = sorted(self.data.glob(f"{topic}-*/*.log"))
        for _ in range(600):
            if all(_end_of_batches(data := path.read_bytes()) == len(data) for path in files):
                return files
            time.sleep(0.1)
        raise AssertionError(f"zeros behind the end of a log of {topic} for a minute")


def _end_of_batches(data: bytes) -> int:
    """Where the zeros begin that a log has behind its end while it is written to."""
    at = 0
    while at + 12 <= len(data) and (size := int.from_bytes(data[at + 8 : at + 12], "big")):
        at += 12 + size
    return at


def unique(name: str) -> str:
    """A name that no other test uses."""
    return f"{name}-{next(_NUMBERS)}"
