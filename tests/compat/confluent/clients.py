"""confluent-kafka as an application would set it up, and the loops every test needs."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

SECONDS = 60.0


def producer(bootstrap: str, **config: Any) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **_dotted(config)})


@contextmanager
def consumer(bootstrap: str, **config: Any) -> Iterator[Consumer]:
    made = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 100,
            "session.timeout.ms": 6000,
            "fetch.wait.max.ms": 100,
            **_dotted(config),
        }
    )
    try:
        yield made
    finally:
        made.close()


def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    new = NewTopic(topic, num_partitions=partitions, config=_dotted(config))
    client = admin(bootstrap)
    client.create_topics([new])[topic].result(SECONDS)


def send(producer: Producer, topic: str, messages: Sequence[dict[str, Any]]) -> list[Message]:
    """Produce *messages* and wait until each is delivered; the reports, in that order."""
    reports: list[Message] = []
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, report: Message) -> None:
        if error is not None:
            errors.append(error)
        reports.append(report)

    for message in messages:
        producer.produce(topic, on_delivery=delivered, **message)
    assert producer.flush(SECONDS) == 0
    if errors:
        raise KafkaException(errors[0])
    return reports


def values(*values: str, partition: int = 0) -> list[dict[str, Any]]:
    return [{"value": value, "partition": partition} for value in values]


def read(consumer: Consumer, count: int, seconds: float = SECONDS) -> list[Any]:
    """The next *count* messages; an error is raised."""
    deadline = time.monotonic() + seconds
    messages: list[Any] = []
    while len(messages) < count:
        message = consumer.poll(max(0.0, deadline - time.monotonic()))
        assert message is not None, f"{len(messages)} of {count} messages came"
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        messages.append(message)
    return messages


def event(consumer: Consumer) -> Any:
    """Whatever comes next, a message or an error."""
    found = consumer.poll(SECONDS)
    assert found is not None, "nothing came"
    return found


def read_from(consumer: Consumer, topic: str, offset: int, count: int) -> list[Any]:
    """*count* messages of partition 0, from *offset*."""
    consumer.assign([TopicPartition(topic, 0, offset)])
    return read(consumer, count)


def poll_until(
    consumers: Sequence[Consumer], condition: Callable[[], bool], seconds: float = SECONDS
) -> None:
    """Let all *consumers* go on, as their applications would, until *condition* holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        for each in consumers:
            message = each.poll(0.02)
            if message is not None and message.error() is not None:
                raise KafkaException(message.error())


def _dotted(config: dict[str, Any]) -> dict[str, Any]:
    """Python's names for arguments as Kafka's names for settings."""
    return {name.replace("_", "."): value for name, value in config.items()}
