"""Everything a broker has, as an independent client reads it."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
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
            "enable.partition.eof": True,
        }
    )
    try:
        found: Records = {partition: [] for partition in partitions}
        starts: dict[TopicPartition, int] = {}
        for partition in partitions:
            place = Place(partition.topic, partition.partition)
            starts[partition], _ = consumer.get_watermark_offsets(place, timeout=_SECONDS)
        consumer.assign([Place(each.topic, each.partition, starts[each]) for each in partitions])
        unread = set(partitions)
        while unread:
            messages = consumer.consume(1000, timeout=0.1) or consumer.consume(1, timeout=_SECONDS)
            assert messages, f"{sorted(unread)} can not be read to their ends"
            for message in messages:
                error = message.error()
                if error is None:
                    where, offset, value = landed(message)
                    found[where].append((offset, value))
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(TopicPartition(str(message.topic()), int(message.partition() or 0)))
                else:
                    raise KafkaException(error)
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
