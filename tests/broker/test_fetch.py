"""Fetches that wait: woken by what commits, wherever they stand on their way to being parked."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.storage.helpers import append, open_log, open_store, sim_disk, sync

from millstream.broker.config import BrokerConfig
from millstream.broker.fetch import Fetch, Found, Wanted
from millstream.broker.waiting import Hosted
from millstream.partition.partition import Partition
from millstream.sim.loop import SimLoop


class OnePartition:
    """The topics of a broker that has one, with one partition."""

    def __init__(self) -> None:
        self.log = open_log(open_store(sim_disk()))
        self.only = Hosted(Partition("orders", 0, self.log))

    def hosted(self, name: str, index: int) -> Hosted:
        return self.only

    def commit(self) -> None:
        append(self.log)
        sync(self.log)
        self.only.committed()


@pytest.mark.parametrize("turns", range(4))
def test_what_commits_while_a_fetch_goes_to_wait_is_not_missed(turns: int) -> None:
    """Whether it comes before the wait has begun, at that moment or after."""

    async def story() -> tuple[float, list[Found]]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        loop = asyncio.get_running_loop()
        began = loop.time()
        waiting = fetch.read([Wanted("orders", 0, 0, 1000)], 1000, min_bytes=1, max_wait_ms=500)
        assert isinstance(waiting, Awaitable)
        task = asyncio.ensure_future(waiting)
        for _ in range(turns):
            await asyncio.sleep(0)
        topics.commit()
        found = await task
        return loop.time() - began, found

    waited, (found,) = SimLoop(0).run_until_complete(story())
    assert found.records is not None
    assert waited < 0.5
