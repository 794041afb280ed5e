"""Fetches that wait: woken by what commits, wherever they stand on their way to being parked."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.storage.helpers import NOW, append, make_batch, open_log, open_store, sim_disk, sync

from millstream.broker.config import BrokerConfig
from millstream.broker.fetch import Fetch, Found, Waiting, Wanted
from millstream.broker.waiting import Hosted
from millstream.errors import ErrorCode, Refused
from millstream.partition.partition import Partition
from millstream.records.control import Marker
from millstream.sim.loop import SimLoop


class OnePartition:
    """The topics of a broker that has one, with one partition."""

    def __init__(self) -> None:
        self.log = open_log(open_store(sim_disk()))
        self.only = Hosted(Partition("orders", 0, self.log))
        self.asked = 0

    def hosted(self, name: str, index: int) -> Hosted:
        self.asked += 1
        return self.only

    def commit(self) -> None:
        append(self.log)
        sync(self.log)
        self.only.committed()


def never(told: object) -> None:
    raise AssertionError(told)


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
        parked = len(fetch._waiting)
        before = topics.asked
        topics.commit()
        await asyncio.sleep(0.01)
        after = topics.asked
        topics.only.partition.append_marker(Marker.ABORT, 7, 0, 0, NOW)
        topics.commit()
        found = await task
        return parked, before == after, loop.time() - began, found

    parked, slept_on, waited, (found,) = SimLoop(0).run_until_complete(story())
    assert parked == 1
    assert slept_on
    assert waited < 0.3
    assert found.records is not None
    assert found.last_stable_offset == found.high_watermark == 8
    assert found.aborted is not None
    assert [(each.producer_id, each.first_offset) for each in found.aborted] == [(7, 0)]


def test_who_waits_for_more_than_came_is_asked_again_by_the_next_commit() -> None:
    async def story() -> tuple[float, int, list[Found]]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        loop = asyncio.get_running_loop()
        topics.commit()
        (first,) = fetch.look([Wanted("orders", 0, 0, 1 << 20)], 1 << 20)
        assert first.records is not None
        began, size = loop.time(), first.records.size
        waiting = fetch.read([Wanted("orders", 0, 0, 1 << 20)], 1 << 20, min_bytes=3 * size, max_wait_ms=500)
        assert isinstance(waiting, Waiting)
        task = asyncio.ensure_future(waiting)
        for _ in range(2):
            await asyncio.sleep(0.1)
            assert not task.done()
            topics.commit()
        found = await task
        return loop.time() - began, 3 * size, found

    waited, size, (found,) = SimLoop(0).run_until_complete(story())
    assert found.records is not None
    assert found.records.size == size
    assert waited < 0.3


def test_a_wait_ends_with_its_time_and_tells_what_there_is() -> None:
    async def story() -> tuple[float, list[Found], Fetch, Hosted]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        began = asyncio.get_running_loop().time()
        waiting = fetch.read([Wanted("orders", 0, 0, 1000)], 1000, min_bytes=1, max_wait_ms=500)
        assert isinstance(waiting, Waiting)
        found = await waiting
        return asyncio.get_running_loop().time() - began, found, fetch, topics.only

    waited, (found,), fetch, hosted = SimLoop(0).run_until_complete(story())
    assert (found.records, found.high_watermark) == (None, 0)
    assert waited == pytest.approx(0.5)
    assert not fetch._waiting
    assert not hosted._parked


def test_all_that_one_turn_commits_comes_together_and_is_told_once() -> None:
    async def story() -> tuple[list[list[Found]], int, list[int]]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        taken: list[int] = []
        waiting = fetch.read([Wanted("orders", 0, 0, 1 << 20)], 1 << 20, 1, 500, taken.append)
        assert isinstance(waiting, Waiting)
        told: list[list[Found]] = []
        waiting.then(told.append, never)
        topics.commit()
        topics.commit()
        assert not told
        await asyncio.sleep(1)
        return told, topics.log.end_offset, taken

    ((found,),), end_offset, taken = SimLoop(0).run_until_complete(story())
    assert found.records is not None
    assert found.records.end_offset == end_offset
    assert taken == [found.records.size]


def test_who_has_gone_is_not_told() -> None:
    async def story() -> tuple[Fetch, Hosted]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        for gone_after_commit in (False, True):
            waiting = fetch.read([Wanted("orders", 0, topics.log.end_offset, 1000)], 1000, 1, 500)
            assert isinstance(waiting, Waiting)
            waiting.then(never, never)
            if gone_after_commit:
                topics.commit()
            waiting.cancel()
            topics.commit()
            await asyncio.sleep(1)
        return fetch, topics.only

    fetch, hosted = SimLoop(0).run_until_complete(story())
    assert not fetch._waiting
    assert not hosted._parked
    assert fetch.bytes == 0


def test_what_goes_wrong_while_nobody_looks_is_told() -> None:
    async def story() -> list[Exception]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        waiting = fetch.read([Wanted("orders", 0, 0, 1000)], 1000, 1, 500)
        assert isinstance(waiting, Waiting)
        told: list[Exception] = []
        waiting.then(never, told.append)
        del topics.only.partition  # no such attribute from now on: a bug, as it were
        topics.only.wake()
        await asyncio.sleep(1)
        return told

    (error,) = SimLoop(0).run_until_complete(story())
    assert isinstance(error, AttributeError)


def test_a_partition_that_is_made_anew_is_what_is_waited_for() -> None:
    async def story() -> tuple[float, list[Found]]:
        topics = OnePartition()
        fetch = Fetch(topics, BrokerConfig)
        loop = asyncio.get_running_loop()
        began = loop.time()
        waiting = fetch.read([Wanted("orders", 0, 0, 1000)], 1000, 1, 500)
        assert isinstance(waiting, Waiting)
        task = asyncio.ensure_future(waiting)
        old, new = topics.only, OnePartition()
        topics.only, topics.log = new.only, new.log
        old.drop(Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "deleted"))
        await asyncio.sleep(0.1)
        topics.commit()
        found = await task
        return loop.time() - began, found

    waited, (found,) = SimLoop(0).run_until_complete(story())
    assert found.records is not None
    assert waited < 0.3
