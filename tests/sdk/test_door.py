"""The SDK against the real door."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from tests.embedded.asking import write

from millstream.embedded import Broker
from millstream.sdk import (
    AsyncConsumer,
    AsyncProducer,
    Consumer,
    InvalidOffset,
    NoPartitionAvailable,
    Produced,
    Producer,
    Rejected,
    Retry,
    TopicNotFound,
)

QUICK = Retry(attempts=2, first_delay=0.01)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(doors=["http.queue"]) as running:
        yield running


def test_what_is_produced_is_consumed_until_it_is_committed(broker: Broker) -> None:
    topic = broker.create_topic("sync")
    contents = [{"a": [1, None, "ü"]}, "text", 0, False, "", [], 1.5]
    with (
        Producer("broker_1", broker.http_url, topic) as producer,
        Consumer(broker.http_url, "broker_1", "c", topic) as consumer,
    ):
        assert consumer.partition == 0
        assert consumer.consume().message is None
        for number, content in enumerate(contents):
            done = producer.produce({"messageId": f"m{number}", "content": content})
            assert (done.topic, done.message_id) == (topic, f"m{number}")
            assert done.timestamp.tzinfo is not None
        for _ in range(2):
            first = consumer.consume()
            assert first.message is not None
            assert (first.message.message_id, first.message.content) == ("m0", contents[0])
            assert (first.start_offset, first.end_offset) == (0, 1)
        assert consumer.commit_offset(first.end_offset).read_offset == 1

        rest = consumer.batch_consume()
        assert [message.content for message in rest] == contents[1:]
        committed = consumer.commit_offset(rest.end_offset)
        assert (committed.read_offset, committed.log_end_offset) == (7, 7)
        assert len(consumer.batch_consume()) == 0
        with pytest.raises(InvalidOffset):
            consumer.commit_offset(8)


def test_the_same_in_a_loop(broker: Broker) -> None:
    topic = broker.create_topic("async")

    async def story() -> list[object]:
        async with AsyncProducer("broker_1", broker.http_url, topic) as producer:
            await asyncio.gather(*(producer.produce({"content": number}) for number in range(50)))
        async with AsyncConsumer(broker.http_url, "broker_1", "c", topic) as consumer:
            batch = await consumer.batch_consume()
            await consumer.commit_offset(batch.end_offset)
            assert (await consumer.consume()).message is None
            return [message.content for message in batch]

    found = asyncio.run(story())
    assert sorted(found, key=str) == sorted(range(50), key=str)


def test_a_consumer_comes_back_to_its_partition(broker: Broker) -> None:
    topic = broker.create_topic("two", partitions=2)
    for consumer_id, partition in (("a", 0), ("b", 1), ("a", 0)):
        with Consumer(broker.http_url, "broker_1", consumer_id, topic) as consumer:
            assert consumer.partition == partition
    with pytest.raises(NoPartitionAvailable):
        Consumer(broker.http_url, "broker_1", "c", topic, retry=QUICK)


def test_refusals_of_the_door_have_their_exceptions(broker: Broker) -> None:
    with (
        Producer("broker_1", broker.http_url, "nobody", retry=QUICK) as producer,
        pytest.raises(TopicNotFound) as problem,
    ):
        producer.produce({"content": 1})
    assert problem.value.status == 404
    with pytest.raises(TopicNotFound):
        Consumer(broker.http_url, "broker_1", "c", "nobody", retry=QUICK)
    topic = broker.create_topic("small", configs={"max.message.bytes": 1000})
    with Producer("broker_1", broker.http_url, topic, retry=QUICK) as producer, pytest.raises(Rejected):
        producer.produce({"content": "x" * 5000})


def test_bytes_of_another_door_come_as_bytes(broker: Broker) -> None:
    topic = broker.create_topic("binary")
    write(broker, topic, b"\xff\x00", b'{"json": true}')
    with Consumer(broker.http_url, "broker_1", "c", topic) as consumer:
        assert [message.content for message in consumer.batch_consume()] == [b"\xff\x00", {"json": True}]


def test_many_at_once_are_each_answered_for(broker: Broker) -> None:
    topic = broker.create_topic("many", configs={"max.message.bytes": 2000})
    with (
        Producer("broker_1", broker.http_url, topic, retry=QUICK) as producer,
        Consumer(broker.http_url, "broker_1", "c", topic) as consumer,
    ):
        assert producer.produce_many([]) == []
        good, large, last = producer.produce_many(
            [
                {"messageId": "a", "content": 1, "headers": {"trace": "42"}},
                {"messageId": "b", "content": "x" * 5000},
                {"content": 2, "ttlMs": 60_000},
            ]
        )
        assert isinstance(good, Produced)
        assert good.message_id == "a"
        assert isinstance(large, Rejected)
        assert large.code == "MESSAGE_TOO_LARGE"
        assert isinstance(last, Produced)
        assert [message.content for message in consumer.batch_consume(most=1)] == [1]
        assert [message.content for message in consumer.batch_consume()] == [1, 2]
        assert len(producer.produce_many({"content": n} for n in range(10_001))) == 10_001


def test_a_consumer_waits_for_what_comes(broker: Broker) -> None:
    topic = broker.create_topic("waiting")

    async def story() -> tuple[int, object]:
        async with (
            AsyncConsumer(broker.http_url, "broker_1", "c", topic, timeout=60) as consumer,
            AsyncProducer("broker_1", broker.http_url, topic) as producer,
        ):
            nothing = await consumer.batch_consume(wait=0.05)
            waiting = asyncio.create_task(consumer.consume(wait=30))
            await asyncio.sleep(0.05)
            (done,) = await producer.produce_many([{"content": "late"}])
            assert isinstance(done, Produced)
            message = (await waiting).message
            return len(nothing), message and message.content

    assert asyncio.run(story()) == (0, "late")


def test_a_broker_that_is_started_again_is_found_again(tmp_path: Path) -> None:
    first = Broker(tmp_path, doors=["http.queue"]).start()
    first.create_topic("t")
    url = first.http_url
    with (
        Producer("broker_1", url, "t", retry=Retry(attempts=30)) as producer,
        Consumer(url, "broker_1", "c", "t", retry=Retry(attempts=30)) as consumer,
    ):
        producer.produce({"messageId": "before", "content": 1})
        assert len(consumer.consume()) == 1
        first.stop()
        second = Broker(tmp_path, {"http.queue.listener": url.removeprefix("http://")})
        starting = Timer(0.3, second.start)
        starting.start()
        try:
            producer.produce({"messageId": "after", "content": 2})
            batch = consumer.batch_consume()
            assert [message.message_id for message in batch] == ["before", "after"]
            assert consumer.commit_offset(batch.end_offset).read_offset == 2
        finally:
            starting.join()
            second.stop()
