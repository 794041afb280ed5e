"""Fetches that wait: woken by what commits, wherever they stand on their way to being parked."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.storage.helpers import NOW, append, make_batch, open_log, open_store, sim_disk, sync

from millstream.broker.config import BrokerConfig
from millstream.broker.fetch import Fetch, Found, Wanted
from millstream.broker.waiting import Hosted
from millstream.partition.partition import Partition
from millstream.records.control import Marker
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


def test_who_wants_nothing_is_not_made_to_wait() -> None:
    """A client that ends its fetch session asks so, and cannot close before it is answered."""

    async def story() -> object:
        return Fetch(OnePartition(), BrokerConfig).read([], 1000, min_bytes=1, max_wait_ms=500)

    assert SimLoop(0).run_until_complete(story()) == []


def test_a_reader_of_committed_records_waits_for_what_is_stable() -> None:
    """It is woken when a transaction is decided, and not by what comes after one that is open."""

    async def story() -> tuple[int, bool, float, list[Found]]:
        topics = OnePartition()
        batch = make_batch(0, producer=(7, 0, 0), transactional=True)
        topics.only.partition.append(batch.data, NOW)
        topics.commit()
        fetch = Fetch(topics, BrokerConfig)
        loop = asyncio.get_running_loop()
        began = loop.time()
        wanted = [Wanted("orders", 0, 0, 1000, read_committed=True)]
        waiting = fetch.read(wanted, 1000, min_bytes=1, max_wait_ms=500)
        assert isinstance(waiting, Awaitable)
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(0.1)
        for _ in range(3):
            topics.commit()
            await asyncio.sleep(0.01)
        parked = len(fetch._parked)
        (before,) = fetch._parked
        topics.commit()
        await asyncio.sleep(0.01)
        (after,) = fetch._parked
        topics.only.partition.append_marker(Marker.ABORT, 7, 0, 0, NOW)
        topics.commit()
        found = await task
        return parked, before is after, loop.time() - began, found

    parked, slept_on, waited, (found,) = SimLoop(0).run_until_complete(story())
    assert parked == 1
    assert slept_on
    assert waited < 0.3
    assert found.records is not None
    assert found.last_stable_offset == found.high_watermark == 8
    assert found.aborted is not None
    assert [(each.producer_id, each.first_offset) for each in found.aborted] == [(7, 0)]
