"""Our own client against an embedded broker, in a line or two."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from millstream.client.cluster import Client
from millstream.client.consumed import Consumed
from millstream.client.consumer import Consumer
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.embedded import Broker

T = TypeVar("T")


def ask(broker: Broker, story: Callable[[Client], Awaitable[T]], client_id: str = "asking") -> T:
    """What *story* gives with a client of *broker*."""

    async def run() -> T:
        async with Client(broker.bootstrap_servers, client_id=client_id, timeout=60) as client:
            return await story(client)

    return asyncio.run(run())


def write(
    broker: Broker,
    topic: str,
    *values: bytes,
    idempotent: bool = True,
    client_id: str = "w",
    patience: float = 10.0,
) -> None:
    async def story(client: Client) -> None:
        async with Producer(client, idempotent=idempotent, delivery_timeout=patience) as producer:
            for value in values:
                await producer.deliver(topic, value, partition=0)

    ask(broker, story, client_id)


def read(broker: Broker, topic: str, count: int, client_id: str = "r") -> list[Consumed]:
    """The first *count* records of partition 0."""

    async def story(client: Client) -> list[Consumed]:
        found: list[Consumed] = []
        async with Consumer(client) as consumer:
            consumer.assign({TopicPartition(topic, 0): 0})
            while len(found) < count:
                found += await consumer.poll()
        return found

    return ask(broker, story, client_id)


def values(broker: Broker, topic: str, count: int) -> list[bytes | None]:
    return [record.value for record in read(broker, topic, count)]
