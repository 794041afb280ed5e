"""Clients that keep a broker busy, and write down what it promised them.

They live through every outage: what got no answer is sent again.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine
from functools import partial
from random import Random
from typing import Any, Final, final

from confluent_kafka import KafkaError, Message
from confluent_kafka import Producer as Librdkafka
from tests.system.ledger import Ledger
from tests.system.reading import landed

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.group_offsets import Member, commit_offsets, fetch_offsets
from millstream.client.producer import Producer
from millstream.client.send_queue import Delivered
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused

PATIENCE: Final = 60.0
_UNDER_WAY: Final = 200
_BATCH_BYTES: Final = 20_000  # so that small segments hold a few
_FILLER: Final = bytes(range(256)) * 8

Work = Coroutine[Any, Any, None]


@final
class Load:
    """Use as `async with Load(...) as load`; *stop* returns when all that was sent was acknowledged."""

    def __init__(
        self, bootstrap: str, ledger: Ledger, partitions: list[TopicPartition], seed: int = 0
    ) -> None:
        self.bootstrap = bootstrap
        self.ledger = ledger
        self.partitions = partitions
        self.random = Random(seed)
        self.stopping = asyncio.Event()
        self.abandoned = threading.Event()
        self.writers: list[str] = []
        self.undelivered: list[BaseException] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *work: Work) -> None:
        self._tasks += [asyncio.create_task(each) for each in work]

    async def stop(self) -> None:
        self.stopping.set()
        await asyncio.gather(*self._tasks)

    def check_delivery(self) -> None:
        if self.undelivered:
            raise self.undelivered[0]

    def check_alive(self) -> None:
        """Raise what a client has died of, if one has."""
        for task in self._tasks:
            if task.done():
                task.result()
        assert not self.ledger.faults, self.ledger.faults[0]

    async def more(self, count: int) -> None:
        """Return when *count* more records were acknowledged, and some to each writer.

        Raises what a client has died of.
        """
        async with asyncio.timeout(PATIENCE):
            progress = asyncio.create_task(self.ledger.more(count, self.writers))
            try:
                await asyncio.wait([progress, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
                self.check_alive()
                await progress
            finally:
                progress.cancel()

    async def __aenter__(self) -> "Load":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.abandoned.set()
        self.stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def connected(bootstrap: str) -> AsyncIterator[Client]:
    """A client of a broker that may be away just now."""
    client = Client(bootstrap, timeout=10.0, patience=PATIENCE)
    try:
        await client.retry(client.start)
        yield client
    finally:
        await client.close()


# Kinds of work


async def write(load: Load, name: str) -> None:
    """Our own idempotent producer, to all partitions in turn."""
    random = Random(load.random.random())
    load.writers.append(name)
    async with (
        connected(load.bootstrap) as client,
        Producer(client, delivery_timeout=PATIENCE, batch_bytes=_BATCH_BYTES) as producer,
    ):
        pending: set[asyncio.Future[Delivered]] = set()
        number = 0
        while not load.stopping.is_set():
            for _ in range(random.randint(1, 20)):
                partition = random.choice(load.partitions)
                value = _value(name, number, random)
                number += 1
                promise = await producer.send(partition.topic, value, partition=partition.partition)
                promise.add_done_callback(partial(_noted, load, value))
                pending.add(promise)
            if len(pending) > _UNDER_WAY:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(0)
            load.check_delivery()
        await asyncio.wait(pending)
        load.check_delivery()


async def write_with_librdkafka(load: Load, name: str) -> None:
    """The producer most programs use, idempotent, with five requests under way."""
    loop = asyncio.get_running_loop()
    load.writers.append(name)
    stopping = threading.Event()
    done = loop.run_in_executor(None, _run_librdkafka, load, name, loop, stopping)
    try:
        await load.stopping.wait()
    finally:
        stopping.set()
        await asyncio.shield(done)


async def commit(load: Load, group: str) -> None:
    """Rising offsets, committed one by one."""
    ledger = load.ledger
    async with connected(load.bootstrap) as client:
        offset = 0
        while not load.stopping.is_set():
            offset += 1
            partition = load.partitions[offset % len(load.partitions)]
            ledger.tried_commits[group, partition] = offset
            await commit_offset(client, group, partition, offset)
            ledger.commits[group, partition] = offset


async def trim(load: Load, partition: TopicPartition) -> None:
    """Delete the older half of *partition*, again and again."""
    ledger = load.ledger
    async with connected(load.bootstrap) as client:
        while not load.stopping.is_set():
            start = ledger.starts.get(partition, 0)
            end = max(ledger.records.get(partition, {}), default=0)
            offset = start + (end - start) // 2
            ledger.tried_starts[partition] = offset
            ledger.starts.update(await Admin(client).trim({partition: offset}))


async def found(load: Load, name: str) -> None:
    """Create topics, write to most of them, and delete every other one."""
    ledger = load.ledger
    async with connected(load.bootstrap) as client, Producer(client, delivery_timeout=PATIENCE) as producer:
        number = 0
        while not load.stopping.is_set():
            number += 1
            topic = f"{name}-{number}"
            ledger.unsure_topics.add(topic)
            await create_topic(client, topic, 1, {"segment.bytes": "1024"})
            ledger.topics.add(topic)
            ledger.unsure_topics.discard(topic)
            value = f"{name}:{number}:".encode()
            place = await producer.deliver(topic, value, partition=0) if number % 3 else None
            if number % 2 == 0:
                ledger.unsure_topics.add(topic)
                await delete_topic(client, topic)
                ledger.topics.discard(topic)
                ledger.unsure_topics.discard(topic)
            elif place is not None:
                ledger.delivered(TopicPartition(topic, 0), place.offset, value)


async def replace(load: Load, name: str) -> None:
    """Delete a topic and make it anew, under the same name; what was in it must not come back."""
    async with connected(load.bootstrap) as client, Producer(client, delivery_timeout=PATIENCE) as producer:
        load.ledger.unsure_topics.add(name)
        while not load.stopping.is_set():
            await create_topic(client, name, 1, {"segment.bytes": "1024"})
            for number in range(3):
                place = await producer.deliver(name, bytes(500), partition=0)
                if place.offset != number:
                    load.ledger.faults.append(f"{name}: its record {number} came to lie at {place.offset}")
            await delete_topic(client, name)
            client.forget()


async def set_keys(load: Load, topic: str) -> None:
    """Set a few keys in a compacted topic, again and again."""
    random = Random(load.random.random())
    async with connected(load.bootstrap) as client, Producer(client, delivery_timeout=PATIENCE) as producer:
        number = 0
        while not load.stopping.is_set():
            number += 1
            key = b"key-%d" % random.randrange(10)
            value = b"%b:%d:" % (key, number) + _FILLER[: random.randrange(1500)]
            await producer.deliver(topic, value, key=key, partition=0)
            load.ledger.keys[key] = value


# Single steps, tried until they are answered


async def create_topic(
    client: Client, topic: str, partitions: int, configs: dict[str, str] | None = None
) -> None:
    try:
        await Admin(client).create_topic(topic, partitions=partitions, configs=configs)
    except Refused as refusal:
        if refusal.code is not ErrorCode.TOPIC_ALREADY_EXISTS:  # the answer to an earlier try was lost
            raise


async def delete_topic(client: Client, topic: str) -> None:
    try:
        await Admin(client).delete_topic(topic)
    except Refused as refusal:
        if refusal.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise


async def commit_offset(client: Client, group: str, partition: TopicPartition, offset: int) -> None:
    async def attempt() -> None:
        connection = await client.to(await client.coordinator(group))
        await commit_offsets(connection, Member(group), {partition: offset}, timeout=client.timeout)

    await client.retry(attempt, group=group)


async def committed(client: Client, group: str) -> dict[TopicPartition, int]:
    async def attempt() -> dict[TopicPartition, int]:
        connection = await client.to(await client.coordinator(group))
        return await fetch_offsets(connection, group, None, timeout=client.timeout)

    return await client.retry(attempt, group=group)


def _noted(load: Load, value: bytes, promise: "asyncio.Future[Delivered]") -> None:
    if promise.cancelled():
        return
    problem = promise.exception()
    if problem is not None:
        load.undelivered.append(problem)
        return
    place = promise.result()
    load.ledger.delivered(TopicPartition(place.topic, place.partition), place.offset, value)


def _value(name: str, number: int, random: Random) -> bytes:
    return f"{name}:{number}:".encode() + _FILLER[: random.randrange(1500)]


def _run_librdkafka(
    load: Load, name: str, loop: asyncio.AbstractEventLoop, stopping: threading.Event
) -> None:
    random = Random(name)
    failures: list[KafkaError] = []
    producer = Librdkafka(
        {
            "bootstrap.servers": load.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 1,
            "batch.size": _BATCH_BYTES,
            "delivery.timeout.ms": int(PATIENCE * 1000),
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 50,
            "log_level": 0,
        }
    )

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
            return
        loop.call_soon_threadsafe(load.ledger.delivered, *landed(message))

    number = 0
    while not stopping.is_set() and not failures:
        if len(producer) < _UNDER_WAY:
            for _ in range(random.randint(1, 20)):
                partition = random.choice(load.partitions)
                value = _value(name, number, random)
                number += 1
                producer.produce(partition.topic, value, partition=partition.partition, on_delivery=delivered)
        producer.poll(0.002)
    if load.abandoned.is_set():
        producer.purge()
        return
    unsent = producer.flush(PATIENCE)
    assert not failures, failures[0]
    assert not unsent, f"{unsent} records were never answered"
