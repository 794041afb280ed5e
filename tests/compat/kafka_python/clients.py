"""kafka-python as an application would set it up, and the loops every test needs."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

SECONDS = 60.0
# Until something comes: kafka-python 3.0 forgets a rebalance that is completed while nobody polls.
POLL_MS = 10_000


@contextmanager
def producer(bootstrap: str, **config: Any) -> Iterator[Any]:
    with closing(KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, **config)) as made:
        yield made


@contextmanager
def consumer(bootstrap: str, *topics: str, **config: Any) -> Iterator[Any]:
    settings = {
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 100,
        "session_timeout_ms": 6000,
        "fetch_max_wait_ms": 100,
        "retry_backoff_ms": 20,
        **config,
    }
    with closing(KafkaConsumer(*topics, bootstrap_servers=bootstrap, **settings)) as made:
        yield made


@contextmanager
def admin(bootstrap: str) -> Iterator[Any]:
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as made:
        yield made


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    configs = {name.replace("_", "."): value for name, value in config.items()}
    with admin(bootstrap) as client:
        client.create_topics({topic: {"num_partitions": partitions, "configs": configs}})


def send(producer: Any, topic: str, *values: bytes, partition: int = 0) -> list[Any]:
    """Produce *values* and wait until each is acknowledged; where they went, in that order."""
    futures = [producer.send(topic, value, partition=partition) for value in values]
    return [future.get(SECONDS) for future in futures]


def read(consumer: Any, count: int) -> list[Any]:
    """The next *count* messages."""
    deadline = time.monotonic() + SECONDS
    messages: list[Any] = []
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} messages came"
        polled = consumer.poll(timeout_ms=POLL_MS, max_records=count - len(messages))
        messages += [message for some in polled.values() for message in some]
    return messages


def read_from(bootstrap: str, topic: str, offset: int, count: int, **config: Any) -> list[Any]:
    """*count* messages of partition 0, from *offset*."""
    place = TopicPartition(topic, 0)
    with consumer(bootstrap, **config) as reader:
        reader.assign([place])
        reader.seek(place, offset)
        return read(reader, count)
