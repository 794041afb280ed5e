"""What each config of transactions does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.broker.support import SESSION
from tests.configs.showing import Stage, Way, refused, shows

from millstream.cluster.image import TRANSACTIONS_TOPIC
from millstream.errors import ErrorCode
from millstream.transactions.transaction import Identity, Place, State

T = TypeVar("T")
EXPIRY = {
    "transactional.id.expiration.ms": "60000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "10000",
}


def seen(
    way: Way,
    look: Callable[[Stage], Awaitable[T]],
    values: dict[str, str],
    settings: dict[str, str] | None = None,
) -> T:
    async def once_there(stage: Stage) -> T:
        await stage.broker.transactions.available(SESSION)
        await stage.broker.transactions.coordinator.ready()
        return await look(stage)

    besides = {name: value for name, value in (settings or {}).items() if name not in values}
    return way.seen(once_there, values, settings=besides)


async def begun(stage: Stage, id: str = "id", timeout_ms: int = 1000) -> Identity:
    return await stage.broker.transactions.begin(SESSION, id, timeout_ms, None)


async def opened(stage: Stage, timeout_ms: int) -> None:
    by = await begun(stage, timeout_ms=timeout_ms)
    joined = stage.broker.transactions.join(SESSION, "id", by, {Place("t", 0)}, 0)
    assert joined is not None
    await joined


@shows("transaction.max.timeout.ms")
def test_how_long_a_transaction_may_ask_to_take(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        return await refused(begun(stage, timeout_ms=5001))

    limit = {"transaction.max.timeout.ms": "5000"}
    assert seen(way, code, limit) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert seen(way, code, {"transaction.max.timeout.ms": "5001"}) is ErrorCode.NONE


@shows("transactional.id.max.count")
def test_how_many_ids_are_kept(way: Way) -> None:
    async def code(stage: Stage) -> ErrorCode:
        for number in range(3):
            await begun(stage, f"id-{number}")
        return await refused(begun(stage, "one-more"))

    assert seen(way, code, {"transactional.id.max.count": "3"}) is ErrorCode.POLICY_VIOLATION
    assert seen(way, code, {"transactional.id.max.count": "4"}) is ErrorCode.NONE


@shows("transactional.id.expiration.ms")
def test_how_long_an_id_is_kept(way: Way) -> None:
    async def kept(stage: Stage) -> int:
        await begun(stage)
        await asyncio.sleep(4000)  # the clock is not trusted before it has run steadily for a while
        return len(stage.broker.transactions.coordinator)

    assert seen(way, kept, {"transactional.id.expiration.ms": "3000000"}, EXPIRY) == 0
    assert seen(way, kept, {"transactional.id.expiration.ms": "5000000"}, EXPIRY) == 1


@shows("transaction.remove.expired.transaction.cleanup.interval.ms")
def test_how_often_old_ids_are_looked_for(way: Way) -> None:
    async def kept(stage: Stage) -> int:
        await begun(stage)
        await asyncio.sleep(16000)
        return len(stage.broker.transactions.coordinator)

    name = "transaction.remove.expired.transaction.cleanup.interval.ms"
    assert seen(way, kept, {name: "5000000"}, EXPIRY) == 0
    assert seen(way, kept, {name: "20000000"}, EXPIRY) == 1


@shows("transaction.abort.timed.out.transaction.cleanup.interval.ms")
def test_how_often_open_transactions_are_looked_at(way: Way) -> None:
    async def state(stage: Stage) -> State:
        await opened(stage, timeout_ms=1000)
        await asyncio.sleep(5)
        return stage.broker.transactions.describe(SESSION, "id").state

    name = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    assert seen(way, state, {name: "2000"}) is State.COMPLETE_ABORT
    assert seen(way, state, {name: "20000"}) is State.ONGOING


@shows("transaction.state.log.num.partitions")
def test_how_many_partitions_the_state_topic_has(way: Way) -> None:
    async def partitions(stage: Stage) -> int:
        await begun(stage)
        return stage.broker.topics.topic(TRANSACTIONS_TOPIC).partitions

    assert seen(way, partitions, {"transaction.state.log.num.partitions": "3"}) == 3
    assert seen(way, partitions, {}) == 50


@shows("transaction.state.log.segment.bytes")
def test_how_large_the_state_topics_segments_are(way: Way) -> None:
    async def size(stage: Stage) -> int:
        return stage.broker.topics.hosted(TRANSACTIONS_TOPIC, 0).partition.log.config.segment_bytes

    assert seen(way, size, {"transaction.state.log.segment.bytes": "2000000"}) == 2_000_000
    assert seen(way, size, {}) == 104_857_600
