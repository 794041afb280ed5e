"""Reads a topic, works on each record, writes the result to another: exactly once, with confluent-kafka.

Run as a program, it goes on until it is killed, or fenced. It says a line for
each transaction that it commits.

    python -m tests.system.copier BOOTSTRAP FROM TO GROUP TRANSACTIONAL_ID
"""

import sys

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

_BATCH = 50
_SECONDS = 30.0


def worked_on(value: bytes) -> bytes:
    """What becomes of a record."""
    return b"<" + value + b">"


def copy(bootstrap: str, source: str, target: str, group: str, id: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            "fetch.wait.max.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 2,  # that the broker is gone from time to time is no news
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": id,
            # Otherwise librdkafka 2.16 waits for ever for a broker object that it has given up, if the only
            # broker goes away between two steps of sending offsets.
            "metadata.recovery.strategy": "none",
            "transaction.timeout.ms": 5000,
            "linger.ms": 0,
            "reconnect.backoff.max.ms": 200,
            "log_level": 2,  # that the broker is gone from time to time is no news
        }
    )
    producer.init_transactions(_SECONDS)
    consumer.subscribe([source])
    while True:
        messages = [each for each in consumer.consume(_BATCH, timeout=0.1) if each.error() is None]
        if messages:
            _copy_some(consumer, producer, target, messages)


def _copy_some(consumer: Consumer, producer: Producer, target: str, messages: list[Message]) -> None:
    """One transaction. What fails for now is taken back, and read again."""
    try:
        producer.begin_transaction()
        for message in messages:
            value = message.value()
            assert isinstance(value, bytes)
            producer.produce(target, worked_on(value), key=message.key(), partition=message.partition() or 0)
        owned = consumer.position(consumer.assignment())
        read = [each for each in owned if each.offset >= 0]
        producer.send_offsets_to_transaction(read, consumer.consumer_group_metadata(), _SECONDS)
        producer.commit_transaction(_SECONDS)
    except KafkaException as error:
        reason = error.args[0]
        print(f"failed {reason}", flush=True)
        if not reason.txn_requires_abort():
            raise
        producer.abort_transaction(_SECONDS)
        _read_again(consumer)
    else:
        print(f"committed {len(messages)}", flush=True)


def _read_again(consumer: Consumer) -> None:
    for place in consumer.committed(consumer.assignment(), timeout=_SECONDS):
        offset = place.offset if place.offset >= 0 else 0
        consumer.seek(TopicPartition(place.topic, place.partition, offset))


if __name__ == "__main__":
    copy(*sys.argv[1:6])
