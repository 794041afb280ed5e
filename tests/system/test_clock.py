"""A clock that is set a year ahead or back under a running broker: nothing is deleted for that."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.support.server import Server
from tests.system.load import commit_offset, committed, connected, create_topic
from tests.system.reading import read_all

from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition

pytestmark = pytest.mark.system

PARTITION = TopicPartition("orders", 0)
CHECK_MS = 20
SETTINGS = {
    "log.retention.check.interval.ms": CHECK_MS,
    "offsets.retention.check.interval.ms": CHECK_MS,
    "offsets.topic.num.partitions": 1,
}


def _library() -> Path:
    for place in Path("/usr/lib").glob("*/faketime/libfaketime.so.1"):
        return place
    pytest.skip("libfaketime is missing; on Debian: apt-get install faketime")


class SetClock:
    """Tells a process the wrong time of day, as a file says at every moment."""

    def __init__(self, place: Path) -> None:
        self._file = place / "time"
        self.set("+0")
        self.env = {
            **os.environ,
            "LD_PRELOAD": str(_library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, offset: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(offset)
        new.rename(self._file)


@pytest.mark.parametrize("offset", ["+1y", "-1y"])
def test_nothing_is_deleted_because_the_clock_was_set(tmp_path: Path, offset: str) -> None:
    clock = SetClock(tmp_path)
    with Server(tmp_path / "data", SETTINGS, env=clock.env) as server:
        asyncio.run(_story(server.bootstrap, clock, offset))
        assert server.stop() == 0


async def _story(bootstrap: str, clock: SetClock, offset: str) -> None:
    async with connected(bootstrap) as client, Producer(client) as producer:
        await create_topic(client, PARTITION.topic, 1, {"segment.bytes": "1024"})
        for number in range(20):
            await producer.deliver(PARTITION.topic, b"%d" % number + bytes(300), partition=0)
        await commit_offset(client, "readers", PARTITION, 7)
        clock.set(offset)
        await asyncio.sleep(50 * CHECK_MS / 1000)
        records, starts = await asyncio.to_thread(read_all, bootstrap, [PARTITION])
        assert len(records[PARTITION]) == 20
        assert starts[PARTITION] == 0
        assert await committed(client, "readers") == {PARTITION: 7}
