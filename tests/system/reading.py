"""Everything a broker has, as an independent client reads it."""

from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as Place
from tests.system.ledger import Records

from millstream.client.topics import TopicPartition

_SECONDS = 60.0


def read_all(bootstrap: str, partitions: list[TopicPartition]) -> tuple[Records, dict[TopicPartition, int]]:
    """The records of *partitions*, (offset, value) each, and where each partition begins."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.wait.max.ms": 20,
        }
    )
    try:
        found: Records = {partition: [] for partition in partitions}
        starts: dict[TopicPartition, int] = {}
        ends: dict[TopicPartition, int] = {}
        for partition in partitions:
            place = Place(partition.topic, partition.partition)
            starts[partition], ends[partition] = consumer.get_watermark_offsets(place, timeout=_SECONDS)
        missing = sum(ends.values()) - sum(starts.values())
        consumer.assign([Place(each.topic, each.partition, starts[each]) for each in partitions])
        while missing > 0:
            messages = consumer.consume(min(missing, 5000), timeout=_SECONDS)
            assert messages, f"{missing} records can not be read"
            for message in messages:
                if message.error():
                    raise KafkaException(message.error())
                where, offset, value = landed(message)
                found[where].append((offset, value))
                missing -= 1
        return found, starts
    finally:
        consumer.close()


def landed(message: Message) -> tuple[TopicPartition, int, bytes]:
    """Where a record of librdkafka's lies, and what it is."""
    topic, partition, offset, value = message.topic(), message.partition(), message.offset(), message.value()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    assert value is not None
    return TopicPartition(topic, partition), offset, value
