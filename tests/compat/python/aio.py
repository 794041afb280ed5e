"""aiokafka: python -m tests.compat.python.aio bootstrap prefix scenario..."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar, final

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from tests.compat.python.client import MOMENT, SECONDS, Reading, Record, Writing
from tests.compat.python.scenarios import main

_CLASSIC: Final = "aiokafka's members speak the classic protocol only"
T = TypeVar("T")


@final
class Loop:
    """One that runs in a thread of its own; what is asked of it is waited for."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def do(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(SECONDS)


@final
class AioProducer:
    def __init__(self, loop: Loop, bootstrap: str, how: Writing) -> None:
        self._do = loop.do
        self._by_key = how.by_key
        self.client = loop.do(self._open(bootstrap, how))

    async def _open(self, bootstrap: str, how: Writing) -> Any:
        client = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            acks=how.acks if how.acks == "all" else int(how.acks),
            compression_type=None if how.codec == "none" else how.codec,
            enable_idempotence=how.idempotent or bool(how.transactional),
            transactional_id=how.transactional or None,
            max_request_size=2_000_000,
            retry_backoff_ms=20,
        )
        await client.start()
        return client

    def send(self, topic: str, records: Sequence[Record]) -> list[int]:
        return self._do(self.write(topic, records))

    async def write(self, topic: str, records: Sequence[Record]) -> list[int]:
        futures = [
            await self.client.send(
                topic,
                record.value,
                record.key,
                partition=None if self._by_key else record.partition,
                timestamp_ms=record.time,
                headers=list(record.headers),
            )
            for record in records
        ]
        return [told.offset if told else -1 for told in await asyncio.gather(*futures)]

    def begin(self) -> None:
        self._do(self.client.begin_transaction())

    def commit(self) -> None:
        self._do(self.client.commit_transaction())

    def abort(self) -> None:
        self._do(self.client.abort_transaction())

    def close(self) -> None:
        self._do(self.client.stop())


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka's types are not looked at
    def __init__(self, revoked: list[int]) -> None:
        self._revoked = revoked

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._revoked += [place.partition for place in revoked]

    def on_partitions_assigned(self, assigned: Any) -> None:
        pass


@final
class AioConsumer:
    def __init__(self, loop: Loop, bootstrap: str, how: Reading) -> None:
        self._do = loop.do
        self._topic = how.topic
        self._revoked: list[int] = []
        self._consumer = loop.do(self._open(bootstrap, how))

    async def _open(self, bootstrap: str, how: Reading) -> Any:
        client = aio_consumer(bootstrap, how)
        if how.group:
            client.subscribe([how.topic], listener=Listener(self._revoked))
            await client.start()
        else:
            await client.start()
            found = await client._client.fetch_all_metadata()
            places = [TopicPartition(how.topic, i) for i in found.partitions_for_topic(how.topic)]
            client.assign(places)
            await client.seek_to_beginning(*places)
        return client

    def poll(self) -> list[Record]:
        polled = self._do(self._consumer.getmany(timeout_ms=int(MOMENT * 1000)))
        return [_record(message) for messages in polled.values() for message in messages]

    def owned(self) -> list[int]:
        return [place.partition for place in self._consumer.assignment()]

    def revoked(self) -> list[int]:
        return list(self._revoked)

    def commit(self) -> None:
        self._do(self._consumer.commit())

    def seek(self, partition: int, offset: int) -> None:
        self._do(self._later(self._consumer.seek, TopicPartition(self._topic, partition), offset))

    def seek_time(self, partition: int, time: int) -> None:
        place = TopicPartition(self._topic, partition)
        self.seek(partition, self._do(self._consumer.offsets_for_times({place: time}))[place].offset)

    def pause(self, partition: int) -> None:
        self._do(self._later(self._consumer.pause, TopicPartition(self._topic, partition)))

    def resume(self, partition: int) -> None:
        self._do(self._later(self._consumer.resume, TopicPartition(self._topic, partition)))

    def close(self) -> None:
        self._do(self._consumer.stop())

    async def _later(self, what: Callable[..., None], *arguments: object) -> None:
        """What is no coroutine must be called in the loop nevertheless."""
        what(*arguments)


def aio_consumer(bootstrap: str, how: Reading) -> Any:
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=how.group or None,
        group_instance_id=how.instance or None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed" if how.committed else "read_uncommitted",
        fetch_max_wait_ms=100,
        retry_backoff_ms=20,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=200,
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
class AioAdmin:
    """A client for each question: aiokafka's does not find a broker again that was restarted."""

    def __init__(self, loop: Loop, bootstrap: str) -> None:
        self._loop = loop
        self._bootstrap = bootstrap

    def _ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        async def ask() -> Any:
            client = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await client.start()
            try:
                return await getattr(client, method)(*arguments, **options)
            finally:
                await client.close()

        return self._loop.do(ask())

    def _read(self, group: str | None, method: str, *arguments: Any) -> Any:
        async def ask() -> Any:
            client = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, group_id=group)
            await client.start()
            try:
                return await getattr(client, method)(*arguments)
            finally:
                await client.stop()

        return self._loop.do(ask())

    def create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        told = self._ask("create_topics", [NewTopic(topic, partitions, 1, topic_configs=dict(configs))])
        _accepted(told.topic_errors)

    def delete(self, topic: str) -> None:
        _accepted(self._ask("delete_topics", [topic]).topic_error_codes)

    def grow(self, topic: str, partitions: int) -> None:
        _accepted(self._ask("create_partitions", {topic: NewPartitions(partitions)}).topic_errors)

    def partitions(self, topic: str) -> int:
        if topic not in self._ask("list_topics"):
            return 0
        (told,) = self._ask("describe_topics", [topic])
        return len(told["partitions"])

    def configs(self, topic: str) -> dict[str, str]:
        told = self._ask("describe_configs", [ConfigResource(ConfigResourceType.TOPIC, topic)])
        return {entry[0]: entry[1] for entry in told[0].resources[0][4]}

    def set_config(self, topic: str, name: str, value: str) -> None:
        change = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        told = self._ask("alter_configs", [change])
        _accepted([(topic, error, said) for error, said, *_ in told[0].resources])

    def offset(self, topic: str, partition: int, time: int) -> int:
        place = TopicPartition(topic, partition)
        if time == -1:
            return int(self._read(None, "end_offsets", [place])[place])
        if time == -2:
            return int(self._read(None, "beginning_offsets", [place])[place])
        return int(self._read(None, "offsets_for_times", {place: time})[place].offset)

    def groups(self) -> list[str]:
        return [name for name, _ in self._ask("list_consumer_groups")]

    def modern_groups(self) -> list[str]:
        raise NotImplementedError

    def group(self, group: str) -> tuple[str, int]:
        (told,) = self._ask("describe_consumer_groups", [group])[0].groups
        return told[2], len(told[5])

    def delete_group(self, group: str) -> None:
        raise NotImplementedError(group)

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        raise NotImplementedError(group)

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        place = TopicPartition(topic, partition)
        return int(self._ask("list_consumer_group_offsets", group, partitions=[place])[place].offset)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._ask("delete_records", {TopicPartition(topic, partition): RecordsToDelete(before_offset=before)})

    def log_dirs(self, topic: str) -> int:
        raise NotImplementedError(topic)


def _accepted(errors: Sequence[Any]) -> None:
    ((topic, error, *said),) = errors
    if error:
        raise RuntimeError(f"{topic} is refused: {error} {said}")


@final
class Aio:
    version = aiokafka.__version__
    a_command: ClassVar = False
    not_applicable: ClassVar[Mapping[str, str]] = {
        "cooperative": "aiokafka rebalances eagerly only",
        "modern-group": _CLASSIC,
        "admin-groups": "aiokafka's admin client neither deletes groups nor sets their offsets",
        "admin-log-dirs": "aiokafka has no DescribeLogDirs",
    }

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._loop = Loop()
        self.admin = AioAdmin(self._loop, bootstrap)

    def producer(self, how: Writing) -> AioProducer:
        return AioProducer(self._loop, self._bootstrap, how)

    def consumer(self, how: Reading) -> AioConsumer:
        return AioConsumer(self._loop, self._bootstrap, how)

    def transform(self, source: str, to: str, group: str, transactional: str, commit: bool) -> None:
        producer = self.producer(Writing(transactional=transactional))
        self._loop.do(self._transform(producer, source, to, group, commit))
        producer.close()

    async def _transform(self, producer: AioProducer, source: str, to: str, group: str, commit: bool) -> None:
        place = TopicPartition(source, 0)
        reader = aio_consumer(self._bootstrap, Reading(source, group, committed=True))
        reader.subscribe([source])
        await reader.start()
        messages = [await reader.getone() for _ in range(10)]
        await producer.client.begin_transaction()
        await producer.write(to, [Record(message.value) for message in messages])
        await producer.client.send_offsets_to_transaction({place: messages[-1].offset + 1}, group)
        await (producer.client.commit_transaction() if commit else producer.client.abort_transaction())
        await reader.stop()


if __name__ == "__main__":
    main(Aio)
