"""kafka-python: python -m tests.compat.python.kafkapython bootstrap prefix scenario..."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, final

import kafka
from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaConnectionError
from kafka.structs import OffsetAndMetadata
from tests.compat.python.client import SECONDS, Reading, Record, Writing
from tests.compat.python.pump import Pump
from tests.compat.python.scenarios import main

_ASSIGNORS: Final = {"eager": RoundRobinPartitionAssignor, "cooperative": CooperativeStickyAssignor}
# In a group long ones: kafka-python 3.0 forgets a rebalance that is completed between two polls.
_POLL_MS: Final = {True: 1_000, False: 50}
_QUICK: Final = {"retry_backoff_ms": 20, "reconnect_backoff_ms": 20, "reconnect_backoff_max_ms": 200}


@final
class PythonProducer:
    def __init__(self, bootstrap: str, how: Writing) -> None:
        self.client = KafkaProducer(
            bootstrap_servers=bootstrap,
            acks=how.acks if how.acks == "all" else int(how.acks),
            compression_type=None if how.codec == "none" else how.codec,
            enable_idempotence=how.idempotent or bool(how.transactional),
            transactional_id=how.transactional or None,
            max_request_size=2_000_000,
            **_QUICK,
        )
        self._by_key = how.by_key
        if how.transactional:
            self.client.init_transactions()

    def send(self, topic: str, records: Sequence[Record]) -> list[int]:
        futures = [
            self.client.send(
                topic,
                record.value,
                record.key,
                headers=list(record.headers),
                partition=None if self._by_key else record.partition,
                timestamp_ms=record.time,
            )
            for record in records
        ]
        return [future.get(SECONDS).offset for future in futures]

    def begin(self) -> None:
        self.client.begin_transaction()

    def commit(self) -> None:
        self.client.commit_transaction()

    def abort(self) -> None:
        self.client.abort_transaction()

    def close(self) -> None:
        self.client.close(timeout=5)


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    def __init__(self) -> None:
        self.owned: set[int] = set()
        self.revoked: list[int] = []
        self.lock = threading.Lock()

    def on_partitions_revoked(self, revoked: Any) -> None:
        with self.lock:
            self.owned -= {place.partition for place in revoked}
            self.revoked += [place.partition for place in revoked]

    def on_partitions_assigned(self, assigned: Any) -> None:
        with self.lock:
            self.owned |= {place.partition for place in assigned}


@final
class PythonConsumer:
    def __init__(self, bootstrap: str, how: Reading) -> None:
        self._topic = how.topic
        self._listener = Listener()
        self._poll_ms = _POLL_MS[bool(how.group)]
        self._client = _consumer(bootstrap, how)
        if how.group:
            self._client.subscribe([how.topic], listener=self._listener)
        else:
            partitions = self._client.partitions_for_topic(how.topic)
            self._client.assign([TopicPartition(how.topic, i) for i in partitions])
        self._pump = Pump(self._next, self._client.close)

    def _next(self) -> list[Record]:
        try:
            polled = self._client.poll(timeout_ms=self._poll_ms)
        except KafkaConnectionError:  # told to the application, which polls on
            time.sleep(0.02)
            return []
        return [_record(message) for messages in polled.values() for message in messages]

    def poll(self) -> list[Record]:
        return self._pump.take()

    def owned(self) -> list[int]:
        with self._listener.lock:
            return sorted(self._listener.owned)

    def revoked(self) -> list[int]:
        with self._listener.lock:
            return list(self._listener.revoked)

    def commit(self) -> None:
        self._pump.call(self._client.commit)

    def seek(self, partition: int, offset: int) -> None:
        self._pump.call(lambda: self._client.seek(TopicPartition(self._topic, partition), offset))

    def seek_time(self, partition: int, time: int) -> None:
        place = TopicPartition(self._topic, partition)
        found = self._pump.call(lambda: self._client.offsets_for_times({place: time}))
        self.seek(partition, found[place].offset)

    def pause(self, partition: int) -> None:
        self._pump.call(lambda: self._client.pause(TopicPartition(self._topic, partition)))

    def resume(self, partition: int) -> None:
        self._pump.call(lambda: self._client.resume(TopicPartition(self._topic, partition)))

    def close(self) -> None:
        self._pump.close()


def _consumer(bootstrap: str, how: Reading) -> Any:
    return KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=how.group or None,
        group_instance_id=how.instance or None,
        partition_assignment_strategy=[_ASSIGNORS[how.protocol]],
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed" if how.committed else "read_uncommitted",
        fetch_max_wait_ms=100,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=200,
        **_QUICK,
    )


def _record(message: Any) -> Record:
    return Record(
        message.value,
        message.key,
        message.partition,
        tuple(message.headers),
        message.timestamp,
        message.offset,
    )


@final
class PythonAdmin:
    def __init__(self, bootstrap: str) -> None:
        self._client = KafkaAdminClient(bootstrap_servers=bootstrap, **_QUICK)

    def create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        self._client.create_topics({topic: {"num_partitions": partitions, "configs": dict(configs)}})

    def delete(self, topic: str) -> None:
        self._client.delete_topics([topic])

    def grow(self, topic: str, partitions: int) -> None:
        self._client.create_partitions({topic: partitions})

    def partitions(self, topic: str) -> int:
        if topic not in self._client.list_topics():
            return 0
        (told,) = self._client.describe_topics([topic])
        return len(told["partitions"])

    def configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        told = self._client.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: entry["value"] for name, entry in told.items()}

    def set_config(self, topic: str, name: str, value: str) -> None:
        change = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        told = self._client.alter_configs([change])["topic"][topic]
        if told != "OK":
            raise RuntimeError(told)

    def offset(self, topic: str, partition: int, time: int) -> int:
        place = TopicPartition(topic, partition)
        spec = {-1: OffsetSpec.LATEST, -2: OffsetSpec.EARLIEST}.get(time, time)
        return int(self._client.list_partition_offsets({place: spec})[place].offset)

    def groups(self) -> list[str]:
        return [each["group_id"] for each in self._client.list_groups()]

    def modern_groups(self) -> list[str]:
        raise NotImplementedError

    def group(self, group: str) -> tuple[str, int]:
        told = self._client.describe_groups([group])[group]
        return told["group_state"], len(told["members"])

    def delete_group(self, group: str) -> None:
        told = self._client.delete_groups([group])[group]
        if told != "OK":
            raise RuntimeError(told)

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        place = TopicPartition(topic, partition)
        self._client.alter_group_offsets(group, {place: OffsetAndMetadata(offset, "", -1)})

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        place = TopicPartition(topic, partition)
        return int(self._client.list_group_offsets({group: [place]})[group][place].offset)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._client.delete_records({TopicPartition(topic, partition): before})

    def log_dirs(self, topic: str) -> int:
        told = [each["log_dirs"] for each in self._client.describe_log_dirs([topic])]
        topics = [one for dirs in told for each in dirs for one in each["topics"]]
        return sum(place["partition_size"] for one in topics for place in one["partitions"])


@final
class Python:
    version = kafka.__version__
    a_command: ClassVar = False
    not_applicable: ClassVar[Mapping[str, str]] = {
        "modern-group": "kafka-python's members speak the classic protocol only",
    }

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.admin = PythonAdmin(bootstrap)

    def producer(self, how: Writing) -> PythonProducer:
        return PythonProducer(self._bootstrap, how)

    def consumer(self, how: Reading) -> PythonConsumer:
        return PythonConsumer(self._bootstrap, how)

    def transform(self, source: str, to: str, group: str, transactional: str, commit: bool) -> None:
        place = TopicPartition(source, 0)
        producer = self.producer(Writing(transactional=transactional))
        reader = _consumer(self._bootstrap, Reading(source, group, committed=True))
        reader.subscribe([source])
        messages: list[Any] = []
        while len(messages) < 10:
            messages += reader.poll(timeout_ms=1000).get(place, [])
        producer.begin()
        producer.send(to, [Record(message.value) for message in messages])
        offsets = {place: OffsetAndMetadata(messages[-1].offset + 1, "", -1)}
        producer.client.send_offsets_to_transaction(offsets, reader.group_metadata())
        (producer.commit if commit else producer.abort)()
        reader.close()
        producer.close()


if __name__ == "__main__":
    main(Python)
