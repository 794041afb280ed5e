"""Transactions that meet trouble on their way to the end."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from tests.broker.support import NOW_MS, SESSION, running

from millstream.broker.broker import Broker
from millstream.broker.produce import Produce
from millstream.broker.topics import NewTopic
from millstream.errors import ErrorCode, Refused
from millstream.records.build import NewRecord, build
from millstream.sim.disk import SimDisk
from millstream.sim.loop import SimLoop
from millstream.transactions.transaction import Identity, Place, State

ID = "id"
PLACES = frozenset({Place("t", 0), Place("t", 1)})


def play(story: Callable[[], Awaitable[None]]) -> None:
    loop = SimLoop(1)
    loop.run_until_complete(story())


async def written(broker: Broker) -> Identity:
    """A transaction with a record in each of two partitions; who wrote them."""
    await broker.create_topics(SESSION, [NewTopic("t", 2)])
    by = await begun(broker)
    joined = broker.transactions.join(SESSION, ID, by, PLACES, 0)
    assert joined is not None
    await joined
    for place in sorted(PLACES):
        batch = build(
            [NewRecord(None, b"v")],
            now_ms=NOW_MS,
            producer_id=by.producer_id,
            producer_epoch=by.epoch,
            base_sequence=0,
            transactional=True,
        )
        sent = broker.produce(
            SESSION, place.topic, place.partition, memoryview(batch), -1, in_transaction=True
        )
        if sent.safe is not None:
            await sent.safe
    return by


async def begun(broker: Broker) -> Identity:
    await broker.transactions.available(SESSION)
    await broker.transactions.coordinator.ready()
    return await broker.transactions.begin(SESSION, ID, 60_000, None)


def stable(broker: Broker) -> list[int]:
    return [broker.topics.hosted("t", index).partition.last_stable_offset for index in range(2)]


def test_a_marker_that_cannot_be_written_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [2]
    as_ever = Produce.append_marker

    def sometimes(self: Produce, hosted: Any, *rest: Any) -> Any:
        if hosted.partition.index == 1 and refusals[0]:
            refusals[0] -= 1
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "not now")
        return as_ever(self, hosted, *rest)

    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            by = await written(broker)
            assert stable(broker) == [0, 0]
            monkeypatch.setattr(Produce, "append_marker", sometimes)
            await broker.transactions.end(SESSION, ID, by, True, 0)
            assert stable(broker) == [2, 2]
            assert broker.transactions.describe(SESSION, ID).state is State.COMPLETE_COMMIT

    play(story)
    assert refusals == [0]


@pytest.mark.parametrize("commit", [True, False])
def test_what_was_decided_is_done_at_the_next_start(monkeypatch: pytest.MonkeyPatch, commit: bool) -> None:
    """The process ends when the end is written and no marker is."""
    disk = SimDisk(Random(1))

    def never(self: Produce, *_: Any) -> Any:
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "not in this life")

    async def first_life() -> None:
        async with running(disk) as broker:
            by = await written(broker)
            await broker.transactions.end(SESSION, ID, by, commit, 0)
            assert broker.transactions.describe(SESSION, ID).is_prepared
            assert stable(broker) == [0, 0]

    async def second_life() -> None:
        async with running(disk) as broker:
            await broker.transactions.coordinator.ready()
            await asyncio.sleep(1)
            wanted = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
            assert broker.transactions.describe(SESSION, ID).state is wanted
            assert stable(broker) == [2, 2]
            partition = broker.topics.hosted("t", 0).partition
            assert len(partition.aborted(0, 2)) == (not commit)

    with monkeypatch.context() as patched:
        patched.setattr(Produce, "append_marker", never)
        play(first_life)
    play(second_life)


def test_a_topic_that_is_deleted_does_not_keep_its_transactions_from_ending() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            by = await written(broker)
            await broker.delete_topic(SESSION, "t")
            await broker.transactions.end(SESSION, ID, by, True, 0)
            assert broker.transactions.describe(SESSION, ID).state is State.COMPLETE_COMMIT

    play(story)
