"""The consumer, alone and in groups, against a real node on simulated time."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from tests.client.simulated import Sim, simulate

from millstream.client.admin import Admin
from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.consumer import Consumer
from millstream.client.fetcher import FetchConfig
from millstream.client.membership import GroupConfig
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused

QUICK = GroupConfig(session_timeout=10.0, rebalance_timeout=10.0, heartbeat_interval=1.0)


async def fill(sim: Sim, client: Client, topic: str, partitions: int, records: int) -> None:
    """Records 0, 1, 2, ... one partition after the other."""
    if topic not in (await client.metadata(None)).topics:
        await Admin(client).create_topic(topic, partitions=partitions)
    async with sim.producer(client) as producer:
        for n in range(records):
            await producer.send(topic, b"%d" % n, partition=n % partitions)


async def trickle(sim: Sim, client: Client, records: int) -> None:
    """Records for half a minute, all the time."""
    async with sim.producer(client) as producer:
        for n in range(records):
            await producer.send("t", b"%d" % n, partition=n % 4)
            await asyncio.sleep(30 / records)


def values(records: Sequence[Consumed]) -> list[int]:
    return [int(record.value or b"") for record in records]


def test_reads_from_where_it_is_told() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 2, 20)
            async with Consumer(client) as consumer:
                consumer.assign({TopicPartition("t", 1): 7})
                assert values(await consumer.poll()) == [15, 17, 19]
                assert consumer.positions() == {TopicPartition("t", 1): 10}
                assert consumer.high_watermark(TopicPartition("t", 1)) == 10
                consumer.seek(TopicPartition("t", 1), 9)
                assert values(await consumer.poll()) == [19]

    simulate(story)


def test_a_poll_returns_no_more_than_asked_and_loses_nothing() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 3, 100)
            async with Consumer(client) as consumer:
                consumer.assign({TopicPartition("t", index): 0 for index in range(3)})
                found: list[Consumed] = []
                while len(found) < 100:
                    some = await consumer.poll(most=7)
                    assert len(some) <= 7
                    found += some
                assert sorted(values(found)) == list(range(100))
                for index in range(3):
                    offsets = [record.offset for record in found if record.partition == index]
                    assert offsets == list(range(len(offsets)))

    simulate(story)


def test_a_poll_waits_for_what_comes_and_not_longer_than_asked() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, Consumer(client) as consumer:
            await fill(sim, client, "t", 1, 1)
            consumer.assign({TopicPartition("t", 0): 1})
            began = sim.loop.time()
            assert await consumer.poll(timeout=3.0) == []
            assert sim.loop.time() - began == pytest.approx(3.0, abs=0.2)
            waiting = asyncio.create_task(consumer.poll(timeout=60.0))
            await asyncio.sleep(5)
            began = sim.loop.time()
            await fill(sim, client, "t", 1, 1)
            assert values(await waiting) == [0]
            assert sim.loop.time() - began < 2

    simulate(story)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", [0, 1, 2]), ("latest", [])])
def test_a_position_outside_the_log_is_reset(reset: str, expected: list[int]) -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 1, 3)
            async with Consumer(client, reset=reset) as consumer:  # type: ignore[arg-type]  # one of them
                consumer.assign({TopicPartition("t", 0): 99})
                assert values(await consumer.poll(2.0)) == expected

    simulate(story)


def test_a_position_outside_the_log_is_an_error_if_that_is_wanted() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 1, 3)
            async with Consumer(client, reset="none") as consumer:
                consumer.assign({TopicPartition("t", 0): 99})
                with pytest.raises(Refused, match="no valid offset to begin at in t-0") as refusal:
                    await consumer.poll(2.0)
                assert refusal.value.code is ErrorCode.OFFSET_OUT_OF_RANGE

    simulate(story)


def test_goes_on_after_the_node_was_away() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client(timeout=1.0) as client:
            await fill(sim, client, "t", 1, 3)
            async with Consumer(client) as consumer:
                consumer.assign({TopicPartition("t", 0): 0})
                assert values(await consumer.poll()) == [0, 1, 2]
                sim.host.kill(back_after=4.0)
                assert await consumer.poll(2.0) == []
                await asyncio.sleep(5)
                await fill(sim, client, "t", 1, 2)
                assert values(await consumer.poll(20.0)) == [0, 1]

    simulate(story)


def test_a_topic_that_does_not_exist_is_told_in_the_end() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client(patience=5.0) as client, Consumer(client) as consumer:
            consumer.assign({TopicPartition("missing", 0): 0})
            with pytest.raises(Refused, match="no topic 'missing'"):
                await consumer.poll(60.0)

    simulate(story)


def test_a_group_remembers_how_far_it_got() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 2, 10)
            async with Consumer(client, group="g", topics=["t"], reset="earliest") as consumer:
                found = await consumer.poll(30.0)
                while len(found) < 10:
                    found += await consumer.poll()
                assert sorted(values(found)) == list(range(10))
            await fill(sim, client, "t", 2, 4)
            async with Consumer(client, group="g", topics=["t"], reset="earliest") as consumer:
                found = await consumer.poll(30.0)
                while len(found) < 4:
                    found += await consumer.poll()
                assert sorted(values(found)) == [0, 1, 2, 3]
            group = await GroupAdmin(client).describe("g")
            assert (group.state, group.members) == ("Empty", ())

    simulate(story)


def test_what_was_not_committed_is_read_again() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 1, 10)

            def member() -> Consumer:
                return Consumer(client, group="g", topics=["t"], reset="earliest", commit_interval=None)

            async with member() as consumer:
                assert values(await consumer.poll(30.0, most=4)) == [0, 1, 2, 3]
                await consumer.commit()
                assert values(await consumer.poll(most=3)) == [4, 5, 6]
            async with member() as consumer:
                assert values(await consumer.poll(30.0, most=100)) == [4, 5, 6, 7, 8, 9]
                await consumer.commit({TopicPartition("t", 0): 9})
            async with member() as consumer:
                assert values(await consumer.poll(30.0)) == [9]

    simulate(story)


class Reader:
    """A member that reads in the background, and what it was told and given."""

    def __init__(self, sim: Sim, name: str, assignors: Sequence[str]) -> None:
        self.client = sim.client(client_id=name, timeout=2.0)
        self.found: list[Consumed] = []
        self.events: list[tuple[str, list[TopicPartition]]] = []
        self.consumer: Consumer | None = None
        self._assignors = assignors
        self._task = asyncio.create_task(self._run(), name=name)
        self._leaving = False

    async def _run(self) -> None:
        async with (
            self.client,
            Consumer(
                self.client,
                group="g",
                topics=["t"],
                reset="earliest",
                assignors=self._assignors,
                commit_interval=0.5,
                membership=QUICK,
                on_assigned=self._assigned,
                on_revoked=self._revoked,
            ) as consumer,
        ):
            self.consumer = consumer
            while not self._leaving:
                self.found += await consumer.poll(0.5)

    async def _assigned(self, partitions: list[TopicPartition]) -> None:
        self.events.append(("assigned", partitions))

    async def _revoked(self, partitions: list[TopicPartition]) -> None:
        self.events.append(("revoked", partitions))

    @property
    def holds(self) -> list[TopicPartition]:
        return self.consumer.assignment if self.consumer else []

    async def leave(self) -> None:
        self._leaving = True
        await self._task


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions_as_they_come_and_go(assignor: str) -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 4, 40)
            busy = asyncio.create_task(trickle(sim, client, 600))
            first = Reader(sim, "first", [assignor])
            await asyncio.sleep(10)
            assert len(first.holds) == 4
            second = Reader(sim, "second", [assignor])
            await asyncio.sleep(10)
            assert sorted(first.holds + second.holds) == [TopicPartition("t", index) for index in range(4)]
            assert len(first.holds) == len(second.holds) == 2
            await first.leave()
            await asyncio.sleep(10)
            assert len(second.holds) == 4
            await busy
            await asyncio.sleep(3)
            await second.leave()

        seen = Counter((record.partition, record.offset) for record in first.found + second.found)
        assert len(seen) == 640
        assert set(seen.values()) == {1}, "nothing crashed, so nothing is read twice"

    for seed in range(2):
        simulate(story, seed=seed)


def test_cooperation_takes_away_only_what_moves() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 4, 4)
            first = Reader(sim, "first", ["cooperative-sticky"])
            await asyncio.sleep(10)
            second = Reader(sim, "second", ["cooperative-sticky"])
            await asyncio.sleep(10)
            revoked = [partitions for event, partitions in first.events if event == "revoked"]
            assert len(revoked) == 1
            assert len(revoked[0]) == 2
            assert second.holds == revoked[0]
            await first.leave()
            await second.leave()

    simulate(story)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_group_outlives_its_broker(assignor: str) -> None:
    """The node is killed again and again: nothing is missed, though some may be read twice."""

    async def story(sim: Sim) -> None:
        async with sim.client(timeout=1.0) as client:
            await fill(sim, client, "t", 3, 30)
            readers = [Reader(sim, f"r{n}", [assignor]) for n in range(2)]
            for _ in range(4):
                await asyncio.sleep(7)
                sim.host.kill(back_after=1.0)
                await asyncio.sleep(3)
                await fill(sim, client, "t", 3, 30)
            await asyncio.sleep(30)
            assert sorted(readers[0].holds + readers[1].holds) == [TopicPartition("t", n) for n in range(3)]
            for reader in readers:
                await reader.leave()
        seen = Counter((r.partition, r.offset) for reader in readers for r in reader.found)
        assert len(seen) == 150

    for seed in range(2):
        simulate(story, seed=seed, settings={"group.initial.rebalance.delay.ms": 500})


def test_a_member_that_was_expelled_joins_again() -> None:
    """It stops polling and beating for longer than its session lasts."""

    async def story(sim: Sim) -> None:
        async with sim.client(timeout=1.0) as client:
            await fill(sim, client, "t", 2, 4)
            reader = Reader(sim, "r", ["range"])
            await asyncio.sleep(10)
            sim.loop.network.cut("outside", "broker")
            await asyncio.sleep(30)
            sim.loop.network.heal()
            await asyncio.sleep(30)
            assert [event for event, _ in reader.events] == ["assigned", "revoked", "assigned"]
            assert len(reader.holds) == 2
            await fill(sim, client, "t", 2, 2)
            await asyncio.sleep(5)
            assert len({(r.partition, r.offset) for r in reader.found}) == 6
            await reader.leave()

    simulate(story)


def test_new_partitions_are_shared_out_without_being_asked() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 1, 1)
            reader = Reader(sim, "r", ["range"])
            await asyncio.sleep(10)
            await Admin(client).grow_topic("t", 3)
            await asyncio.sleep(20)
            assert len(reader.holds) == 3
            await reader.leave()

    simulate(story)


def test_a_static_member_comes_back_without_a_rebalance() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            await fill(sim, client, "t", 2, 4)
            config = GroupConfig(session_timeout=30.0, instance_id="me")
            generations = []
            for _ in range(2):
                async with Consumer(
                    client, group="g", topics=["t"], reset="earliest", membership=config
                ) as it:
                    await it.poll(30.0)
                    assert len(it.assignment) == 2
                    generations.append(it.generation)
            assert generations[0] == generations[1]

    simulate(story)


def test_small_fetches_see_it_all() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client:
            for _ in range(10):
                await fill(sim, client, "t", 1, 10)
            tiny = FetchConfig(partition_max_bytes=1, max_bytes=1, max_wait_ms=0)
            async with Consumer(client, fetch=tiny) as consumer:
                consumer.assign({TopicPartition("t", 0): 5})
                found: list[Consumed] = []
                while len(found) < 95:
                    found += await consumer.poll()
                assert [record.offset for record in found] == list(range(5, 100))

    simulate(story)
