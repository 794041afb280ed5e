"""confluent-kafka: python -m tests.compat.python.confluent bootstrap prefix scenario..."""

import threading
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any, ClassVar, Final, final

import confluent_kafka
from confluent_kafka import ConsumerGroupTopicPartitions, ConsumerGroupType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewPartitions, NewTopic
from tests.compat.python.client import SECONDS, Reading, Record, Writing
from tests.compat.python.pump import Pump
from tests.compat.python.scenarios import main

_TOPIC: Final = ConfigResource.Type.TOPIC
_OFFSETS: Final[Any] = OffsetSpec  # whose ways to make one have no types
_ASSIGNORS: Final = {"eager": "roundrobin", "cooperative": "cooperative-sticky"}
_QUICK: Final[dict[str, Any]] = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}
# When its only broker was away, librdkafka 2.11 and later starts again from its bootstrap servers. Its admin
# client then still asks the coordinator of before, gets no answer for a minute, and may abort the process.
_SAME_BROKERS: Final[dict[str, Any]] = {"metadata.recovery.strategy": "none"}


@final
class ConfluentProducer:
    def __init__(self, bootstrap: str, how: Writing) -> None:
        config: dict[str, Any] = {
            **_QUICK,
            "bootstrap.servers": bootstrap,
            "acks": how.acks,
            "compression.type": how.codec,
            "enable.idempotence": how.idempotent or bool(how.transactional),
            "message.max.bytes": 2_000_000,
        }
        if how.transactional:
            config["transactional.id"] = how.transactional
        self._producer = confluent_kafka.Producer(config)
        self._by_key = how.by_key
        if how.transactional:
            self._producer.init_transactions(SECONDS)

    def send(self, topic: str, records: Sequence[Record]) -> list[int]:
        offsets: list[int] = []
        errors: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            (offsets if error is None else errors).append(error or message.offset())

        for record in records:
            place: dict[str, Any] = {} if self._by_key else {"partition": record.partition}
            self._producer.produce(
                topic,
                record.value,
                record.key,
                on_delivery=delivered,
                headers=list(record.headers),
                timestamp=record.time or 0,
                **place,
            )
        left = self._producer.flush(SECONDS)
        if errors or left:
            raise KafkaException(errors[0] if errors else f"{left} records are still on their way")
        return offsets

    def begin(self) -> None:
        self._producer.begin_transaction()

    def commit(self) -> None:
        self._producer.commit_transaction(SECONDS)

    def abort(self) -> None:
        self._producer.abort_transaction(SECONDS)

    def send_offsets(self, consumer: Any) -> None:
        offsets = consumer.position(consumer.assignment())
        self._producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), SECONDS)

    def close(self) -> None:
        self._producer.flush(0)


@final
class ConfluentConsumer:
    def __init__(self, bootstrap: str, how: Reading) -> None:
        self._topic = how.topic
        self._owned: set[int] = set()
        self._revoked: list[int] = []
        self._lock = threading.Lock()
        self.client = confluent_kafka.Consumer(_config(bootstrap, how))
        if how.group:
            self.client.subscribe(
                [how.topic], on_assign=self._given, on_revoke=self._taken, on_lost=self._taken
            )
        else:
            partitions = self.client.list_topics(how.topic, SECONDS).topics[how.topic].partitions
            self.client.assign(
                [TopicPartition(how.topic, i, confluent_kafka.OFFSET_BEGINNING) for i in partitions]
            )
        self._pump = Pump(self._next, self.client.close)

    def _next(self) -> list[Record]:
        messages = self.client.consume(500, 0.05)
        for message in messages:
            error = message.error()
            if error is not None and not error.retriable():
                raise KafkaException(error)
        return [_record(message) for message in messages if message.error() is None]

    def _given(self, _: object, places: list[TopicPartition]) -> None:
        with self._lock:
            self._owned |= {place.partition for place in places}

    def _taken(self, _: object, places: list[TopicPartition]) -> None:
        with self._lock:
            self._owned -= {place.partition for place in places}
            self._revoked += [place.partition for place in places]

    def poll(self) -> list[Record]:
        return self._pump.take()

    def owned(self) -> list[int]:
        with self._lock:
            return sorted(self._owned)

    def revoked(self) -> list[int]:
        with self._lock:
            return list(self._revoked)

    def commit(self) -> None:
        def commit() -> None:
            places = [each for each in self.client.position(self.client.assignment()) if each.offset >= 0]
            if places:
                self.client.commit(offsets=places, asynchronous=False)

        self._pump.call(commit)

    def seek(self, partition: int, offset: int) -> None:
        self._pump.call(lambda: self.client.seek(TopicPartition(self._topic, partition, offset)))

    def seek_time(self, partition: int, time: int) -> None:
        asked = TopicPartition(self._topic, partition, time)
        (place,) = self._pump.call(lambda: self.client.offsets_for_times([asked], SECONDS))
        self.seek(partition, place.offset)

    def pause(self, partition: int) -> None:
        self._pump.call(lambda: self.client.pause([TopicPartition(self._topic, partition)]))

    def resume(self, partition: int) -> None:
        self._pump.call(lambda: self.client.resume([TopicPartition(self._topic, partition)]))

    def close(self) -> None:
        self._pump.close()


def _config(bootstrap: str, how: Reading) -> dict[str, Any]:
    config: dict[str, Any] = {
        **_QUICK,
        "bootstrap.servers": bootstrap,
        "group.id": how.group or "none",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 100,
        "isolation.level": "read_committed" if how.committed else "read_uncommitted",
    }
    if how.instance:
        config["group.instance.id"] = how.instance
    if how.protocol == "modern":
        return {**config, "group.protocol": "consumer"}
    classic = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 200}
    return {**config, **classic, "partition.assignment.strategy": _ASSIGNORS[how.protocol]}


def _record(message: Any) -> Record:
    return Record(
        message.value(),
        message.key(),
        message.partition(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
        message.offset(),
    )


@final
class ConfluentAdmin:
    def __init__(self, bootstrap: str) -> None:
        self._client = AdminClient({**_QUICK, **_SAME_BROKERS, "bootstrap.servers": bootstrap})

    def create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        _one(self._client.create_topics([NewTopic(topic, partitions, config=dict(configs))]))

    def delete(self, topic: str) -> None:
        _one(self._client.delete_topics([topic]))

    def grow(self, topic: str, partitions: int) -> None:
        _one(self._client.create_partitions([NewPartitions(topic, partitions)]))

    def partitions(self, topic: str) -> int:
        found = self._client.list_topics(timeout=SECONDS).topics.get(topic)
        return 0 if found is None else len(found.partitions)

    def configs(self, topic: str) -> dict[str, str]:
        told = _one(self._client.describe_configs([ConfigResource(_TOPIC, topic)]))
        return {name: entry.value for name, entry in told.items()}

    def set_config(self, topic: str, name: str, value: str) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(_TOPIC, topic, incremental_configs=[entry])
        _one(self._client.incremental_alter_configs([resource]))

    def offset(self, topic: str, partition: int, time: int) -> int:
        special = {-1: _OFFSETS.latest(), -2: _OFFSETS.earliest()}
        spec = special.get(time) or _OFFSETS.for_timestamp(time)
        return int(_one(self._client.list_offsets({TopicPartition(topic, partition): spec})).offset)

    def groups(self) -> list[str]:
        return [each.group_id for each in self._client.list_consumer_groups().result(SECONDS).valid]

    def modern_groups(self) -> list[str]:
        asked = self._client.list_consumer_groups(types={ConsumerGroupType.CONSUMER})
        return [each.group_id for each in asked.result(SECONDS).valid]

    def group(self, group: str) -> tuple[str, int]:
        told = _one(self._client.describe_consumer_groups([group]))
        return told.state.name, len(told.members)

    def delete_group(self, group: str) -> None:
        _one(self._client.delete_consumer_groups([group]))

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        place = TopicPartition(topic, partition, offset)
        _one(self._client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [place])]))

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])
        (place,) = _one(self._client.list_consumer_group_offsets([asked])).topic_partitions
        return int(max(-1, place.offset))  # "invalid" is -1001

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        _one(self._client.delete_records([TopicPartition(topic, partition, before)]))

    def log_dirs(self, topic: str) -> int:
        raise NotImplementedError(topic)


def _one(futures: dict[Any, Any]) -> Any:
    (future,) = futures.values()
    return future.result(SECONDS)


@final
class Confluent:
    version = metadata.version("confluent-kafka")
    a_command: ClassVar = False
    not_applicable: ClassVar[Mapping[str, str]] = {
        "admin-log-dirs": "confluent-kafka has no DescribeLogDirs",
    }

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.admin = ConfluentAdmin(bootstrap)

    def producer(self, how: Writing) -> ConfluentProducer:
        return ConfluentProducer(self._bootstrap, how)

    def consumer(self, how: Reading) -> ConfluentConsumer:
        return ConfluentConsumer(self._bootstrap, how)

    def transform(self, source: str, to: str, group: str, transactional: str, commit: bool) -> None:
        producer = self.producer(Writing(transactional=transactional))
        reader = confluent_kafka.Consumer(_config(self._bootstrap, Reading(source, group, committed=True)))
        reader.subscribe([source])
        messages: list[Any] = []
        while not messages:
            messages = reader.consume(10, 1.0)
        while len(messages) < 10:
            messages += reader.consume(10 - len(messages), 1.0)
        producer.begin()
        producer.send(to, [Record(message.value()) for message in messages])
        producer.send_offsets(reader)
        (producer.commit if commit else producer.abort)()
        reader.close()


if __name__ == "__main__":
    main(Confluent)
