"""The transactional producer against a real node, in simulated time, in both generations of the protocol."""

import asyncio
import gc
from random import Random
from typing import Any

import pytest
from tests.client.simulated import Sim, simulate

from millstream.client.cluster import Client
from millstream.client.connection import Connection
from millstream.client.consumer import Consumer
from millstream.client.fetcher import FetchConfig
from millstream.client.group_offsets import Member, fetch_offsets
from millstream.client.topics import TopicPartition
from millstream.client.transaction_errors import Severity, severity
from millstream.client.transactions import Ended, MustAbort, TransactionalProducer
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SETTINGS = {"num.partitions": 2}


@pytest.fixture(params=["first", "second"], autouse=True)
def generation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the cluster is at; to the first generation, clients take it for one that knows no other."""
    if request.param == "first":
        agreed = Connection._agree_on_versions

        async def agree(self: Connection) -> None:
            await agreed(self)
            self.features.pop("transaction.version", None)

        monkeypatch.setattr(Connection, "_agree_on_versions", agree)
    return str(request.param)


def producer(sim: Sim, client: Client, id: str = "id", **options: float) -> TransactionalProducer:
    return TransactionalProducer(client, id, clock=sim.host.clock, **options)  # type: ignore[arg-type]


async def contents(client: Client, *, committed: bool) -> list[bytes | None]:
    """The values in both partitions of t, as a reader of that isolation sees them."""
    found: list[bytes | None] = []
    async with Consumer(client, fetch=FetchConfig(committed_only=committed, max_wait_ms=50)) as consumer:
        consumer.assign({T0: 0, T1: 0})
        while records := await consumer.poll(0.5):
            found += [record.value for record in records]
    return sorted(found, key=lambda value: value or b"")


async def offset_of(client: Client, group: str, *, stable: bool) -> int | None:
    connection = await client.to(await client.coordinator(group))
    return (await fetch_offsets(connection, group, [T0], stable=stable)).get(T0)


def test_what_is_committed_is_seen_and_what_is_aborted_is_not(generation: str) -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as writer:
            await writer.init()
            first = writer.producer_id, writer.epoch
            for round, ends in enumerate((writer.commit, writer.abort, writer.commit)):
                writer.begin()
                for partition in (0, 1):
                    await (await writer.send("t", b"%d-%d" % (round, partition), partition=partition))
                await ends()
            assert await contents(client, committed=True) == [b"0-0", b"0-1", b"2-0", b"2-1"]
            assert len(await contents(client, committed=False)) == 6
            grew = (writer.producer_id, writer.epoch) != first
            assert grew == (generation == "second")

    simulate(story, settings=SETTINGS)


def test_nothing_is_seen_before_the_end_and_a_block_commits_or_aborts() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as writer:
            await writer.init()
            async with writer.transaction():
                await (await writer.send("t", b"a", partition=0))
                assert await contents(client, committed=True) == []
            with pytest.raises(ZeroDivisionError):
                async with writer.transaction():
                    await (await writer.send("t", b"b", partition=0))
                    raise ZeroDivisionError
            assert await contents(client, committed=True) == [b"a"]

    simulate(story, settings=SETTINGS)


def test_offsets_come_true_with_the_transaction() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as writer:
            await writer.init()
            writer.begin()
            await writer.send("t", b"a", partition=0)
            await writer.send_offsets(Member("g"), {T0: 5})
            with pytest.raises(Refused) as unstable:
                await offset_of(client, "g", stable=True)
            assert unstable.value.code is ErrorCode.UNSTABLE_OFFSET_COMMIT
            assert await offset_of(client, "g", stable=False) is None
            await writer.commit()
            assert await offset_of(client, "g", stable=True) == 5
            writer.begin()
            await writer.send_offsets(Member("g"), {T0: 9})
            await writer.abort()
            assert await offset_of(client, "g", stable=True) == 5

    simulate(story, settings=SETTINGS)


def test_an_end_without_anything_in_it() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as writer:
            await writer.init()
            for _ in range(2):
                writer.begin()
                await writer.commit()
                writer.begin()
                await writer.abort()
            writer.begin()
            await writer.send("t", b"a", partition=0)
            await writer.commit()
            assert await contents(client, committed=True) == [b"a"]

    simulate(story, settings=SETTINGS)


def test_a_new_incarnation_ends_the_old_one_and_aborts_what_it_left() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as old, producer(sim, client) as new:
            await old.init()
            old.begin()
            await (await old.send("t", b"old", partition=0))
            await new.init()
            with pytest.raises((Refused, Ended, MustAbort)):
                await (await old.send("t", b"older", partition=0))
                await old.commit()
            if old.in_transaction:
                with pytest.raises(Ended):
                    await old.abort()
            with pytest.raises(Ended):
                old.begin()
            async with new.transaction():
                await new.send("t", b"new", partition=0)
            assert await contents(client, committed=True) == [b"new"]

    simulate(story, settings=SETTINGS)


def test_one_that_takes_too_long_is_aborted_by_the_cluster() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client, timeout=3.0) as slow:
            await slow.init()
            slow.begin()
            await (await slow.send("t", b"slow", partition=0))
            await asyncio.sleep(20)
            with pytest.raises((Ended, MustAbort)):
                await slow.commit()
            async with producer(sim, client) as next:
                await next.init()
                async with next.transaction():
                    await next.send("t", b"next", partition=0)
            assert await contents(client, committed=True) == [b"next"]

    simulate(story, settings=SETTINGS)


@pytest.mark.parametrize("seed", range(6))
def test_a_broker_that_dies_in_the_middle_of_it(seed: int) -> None:
    """Whenever it is, each transaction is there in whole or not at all, and those that were committed are."""

    async def story(sim: Sim) -> None:
        random = Random(seed)
        done: set[int] = set()
        async with sim.client() as client, producer(sim, client) as writer:

            async def killing() -> None:
                for _ in range(4):
                    await asyncio.sleep(random.uniform(0.05, 1.0))
                    sim.host.kill() if random.random() < 0.5 else sim.host.cut_power()
                    await sim.up()

            killer = asyncio.create_task(killing())
            await writer.init()
            for number in range(20):
                writer.begin()
                try:
                    for partition in (0, 1):
                        await writer.send("t", b"%d" % number, partition=partition)
                    await writer.commit()
                    done.add(number)
                except MustAbort:
                    await writer.abort()
            await killer
            found = [int(value or b"") for value in await contents(client, committed=True)]
            assert sorted(found) == sorted([*done, *done])

    simulate(story, seed=seed, settings=SETTINGS)


def test_what_is_misused_says_so() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as writer:
            with pytest.raises(RuntimeError, match="not yet initialised"):
                writer.begin()
            await writer.init()
            with pytest.raises(RuntimeError, match="between two transactions"):
                await writer.send("t", b"a")
            with pytest.raises(RuntimeError, match="between two transactions"):
                await writer.commit()

    simulate(story, settings=SETTINGS)


def test_a_record_that_is_refused_spoils_the_transaction_and_not_the_next() -> None:
    async def story(sim: Sim) -> None:
        async with sim.client() as client, producer(sim, client) as writer:
            await writer.init()
            writer.begin()
            refused = await writer.send("t", bytes(2_000_000), partition=0)
            with pytest.raises(MustAbort):
                await writer.commit()
            assert isinstance(refused.exception(), Refused)
            await writer.abort()
            async with writer.transaction():
                await writer.send("t", b"small", partition=0)
            assert await contents(client, committed=True) == [b"small"]

    simulate(story, settings=SETTINGS)


def test_who_aborts_need_not_ask_each_record() -> None:
    async def story(sim: Sim) -> None:
        forgotten: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: forgotten.append(context))
        async with sim.client() as client, producer(sim, client) as writer:
            await writer.init()
            writer.begin()
            await writer.send("t", b"never sent", partition=0)
            await writer.abort()
        gc.collect()
        assert forgotten == []

    simulate(story, settings=SETTINGS)


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (Unreachable("gone"), Severity.RETRIABLE),
        (Refused(ErrorCode.CONCURRENT_TRANSACTIONS, ""), Severity.RETRIABLE),
        (Refused(ErrorCode.NOT_COORDINATOR, ""), Severity.RETRIABLE),
        (Refused(ErrorCode.TRANSACTION_ABORTABLE, ""), Severity.ABORTABLE),
        (Refused(ErrorCode.ILLEGAL_GENERATION, ""), Severity.ABORTABLE),
        (Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ""), Severity.ABORTABLE),
        (Refused(ErrorCode.INVALID_PRODUCER_EPOCH, ""), Severity.ABORTABLE),
        (Refused(ErrorCode.PRODUCER_FENCED, ""), Severity.FATAL),
        (Refused(ErrorCode.INVALID_TXN_STATE, ""), Severity.FATAL),
    ],
)
def test_how_bad_a_problem_is(problem: Exception, kind: Severity) -> None:
    assert severity(problem) is kind
