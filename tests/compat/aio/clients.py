"""aiokafka as an application would set it up, and the loops every test needs."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

SECONDS = 60.0
STORY_SECONDS = 150.0


def run(story: Coroutine[Any, Any, None]) -> None:
    """Run *story*, in a thread of its own: aiokafka may never stop, and is then left to it."""
    done: Future[None] = Future()

    def tell() -> None:
        try:
            done.set_result(asyncio.run(story))
        except BaseException as problem:
            done.set_exception(problem)

    threading.Thread(target=tell, daemon=True).start()
    done.result(STORY_SECONDS)


@asynccontextmanager
async def producer(bootstrap: str, **config: Any) -> AsyncIterator[Any]:
    made = AIOKafkaProducer(bootstrap_servers=bootstrap, **config)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@asynccontextmanager
async def consumer(bootstrap: str, *topics: str, **config: Any) -> AsyncIterator[Any]:
    made = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        **{
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "heartbeat_interval_ms": 100,
            "session_timeout_ms": 6000,
            "fetch_max_wait_ms": 100,
            "retry_backoff_ms": 20,
            **config,
        },
    )
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@asynccontextmanager
async def admin(bootstrap: str) -> AsyncIterator[Any]:
    made = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await made.start()
    try:
        yield made
    finally:
        await made.close()


async def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    configs = {name.replace("_", "."): value for name, value in config.items()}
    async with admin(bootstrap) as client:
        answer = await client.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
    assert [each[1] for each in answer.topic_errors] == [0]


async def send(producer: Any, topic: str, *values: bytes, partition: int = 0) -> list[Any]:
    """Produce *values* and wait until each is acknowledged; where they went, in that order."""
    futures = [await producer.send(topic, value, partition=partition) for value in values]
    return list(await asyncio.wait_for(asyncio.gather(*futures), SECONDS))


async def read(consumer: Any, count: int) -> list[Any]:
    """The next *count* messages."""
    async with asyncio.timeout(SECONDS):
        return [await consumer.getone() for _ in range(count)]


async def read_from(bootstrap: str, topic: str, offset: int, count: int, **config: Any) -> list[Any]:
    """*count* messages of partition 0, from *offset*."""
    place = TopicPartition(topic, 0)
    async with consumer(bootstrap, **config) as reader:
        reader.assign([place])
        reader.seek(place, offset)
        return await read(reader, count)


async def poll_until(consumers: Sequence[Any], condition: Callable[[], bool]) -> None:
    """Let all *consumers* go on, as their applications would, until *condition* holds."""
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.gather(*(each.getmany(timeout_ms=20) for each in consumers))
