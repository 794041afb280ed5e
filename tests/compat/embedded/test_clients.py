"""The embedded broker under the clients that people have, two brokers at a time."""

import asyncio
import uuid
from collections.abc import Callable, Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from millstream.embedded import Broker

Story = Callable[[str, str, list[bytes]], list[bytes]]
VALUES = [b"%d" % number for number in range(20)]


@pytest.fixture
def brokers() -> Iterator[tuple[Broker, Broker]]:
    with Broker() as one, Broker() as other:
        yield one, other


def confluent(bootstrap: str, topic: str, values: list[bytes]) -> list[bytes]:
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(20) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    while len(found) < len(values):
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        found.append(message.value() or b"")
    consumer.close()
    return found


def kafka_python(bootstrap: str, topic: str, values: list[bytes]) -> list[bytes]:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for value in values:
        producer.send(topic, value)
    producer.flush(20)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=uuid.uuid4().hex,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    found = [next(consumer).value for _ in values]
    consumer.close()
    return found


def aiokafka(bootstrap: str, topic: str, values: list[bytes]) -> list[bytes]:
    async def story() -> list[bytes]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for value in values:
                await producer.send_and_wait(topic, value)
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=uuid.uuid4().hex, auto_offset_reset="earliest"
        )
        async with consumer:
            return [(await consumer.getone()).value for _ in values]

    return asyncio.run(asyncio.wait_for(story(), 40))


@pytest.mark.parametrize("client", [confluent, kafka_python, aiokafka])
def test_each_client_writes_and_reads_as_a_group_on_two_brokers(
    brokers: tuple[Broker, Broker], client: Story
) -> None:
    for number, broker in enumerate(brokers):
        broker.create_topic("t")
        mine = [b"%d: " % number + value for value in VALUES]
        assert client(broker.bootstrap_servers, "t", mine) == mine


def test_a_directory_is_found_again_by_another_client(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("data")
    settings = {"group.initial.rebalance.delay.ms": 0, "log.dir.ballast.bytes": 0}
    with Broker(directory, settings) as broker:
        broker.create_topic("t")
        confluent(broker.bootstrap_servers, "t", VALUES)
    with Broker(directory, settings) as broker:
        assert kafka_python(broker.bootstrap_servers, "t", [b"more"]) == VALUES[:1]
        assert aiokafka(broker.bootstrap_servers, "t", VALUES)[: len(VALUES)] == VALUES


def test_librdkafka_takes_planned_faults_in_its_stride(brokers: tuple[Broker, Broker]) -> None:
    broker = brokers[0]
    broker.create_topic("t")
    failed = broker.faults.fail_produces(3, "NOT_LEADER_OR_FOLLOWER")
    lost = broker.faults.lose_replies("Produce")
    fetched = broker.faults.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", times=2)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for value in VALUES:
        producer.produce("t", value)
    assert producer.flush(20) == 0

    assert (failed.met, lost.met) == (3, 1)
    assert confluent(broker.bootstrap_servers, "t", [b"more"]) == VALUES[:1]
    assert fetched.met == 2


def test_librdkafka_tells_its_application_of_a_final_error(brokers: tuple[Broker, Broker]) -> None:
    broker = brokers[0]
    broker.create_topic("t")
    broker.faults.fail_produces(error="TOPIC_AUTHORIZATION_FAILED")
    errors: list[str] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("t", b"a", on_delivery=lambda error, _: errors.append(error.name() if error else ""))
    producer.flush(20)

    assert errors == ["TOPIC_AUTHORIZATION_FAILED"]
