"""Topics: created, grown, configured and deleted, and all of it still so after a restart."""

import asyncio
from random import Random
from typing import Any

import pytest
from tests.broker.support import SESSION, batch, running

from millstream.broker.configs import Change, Operation
from millstream.broker.live_config import Source
from millstream.broker.topics import NewTopic
from millstream.cluster.image import INTERNAL_TOPICS, OFFSETS_TOPIC, Topic
from millstream.errors import ErrorCode, Refused
from millstream.sim.disk import SimDisk


def code_of(result: Topic | Refused) -> ErrorCode:
    return result.code if isinstance(result, Refused) else ErrorCode.NONE


async def refusal(call: Any) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        await call
    return refused.value.code


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewTopic("ok"), ErrorCode.NONE),
        (NewTopic("a" * 249), ErrorCode.NONE),
        (NewTopic("a" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("../x"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a\x00"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("ä"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a\n"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("col_lision"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("p", 0), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("p", -2), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("p", 1001), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("p", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("p", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("p", assignments={0: [1], 1: [1]}), ErrorCode.NONE),
        (NewTopic("p", assignments={0: [2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("p", assignments={1: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("p", 2, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
        (NewTopic("p", configs={"retention.ms": "5"}), ErrorCode.NONE),
        (NewTopic("p", configs={"retention.m": "5"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("p", configs={"retention.ms": "x"}), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_topic_is_created_or_refused_by_name(new: NewTopic, code: ErrorCode) -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1)), {"max.partitions": 1000}) as broker:
            await broker.create_topics(SESSION, [NewTopic("there"), NewTopic("col.lision")])
            (checked,) = await broker.create_topics(SESSION, [new], validate_only=True)
            assert code_of(checked) is code
            assert len(broker.topics.image.topics) == 2
            (made,) = await broker.create_topics(SESSION, [new])
            assert code_of(made) is code
            assert len(broker.topics.image.topics) == (3 if code is ErrorCode.NONE else 2)

    asyncio.run(story())


def test_one_bad_topic_does_not_spoil_its_neighbours_and_twice_is_refused() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            asked = [NewTopic("a"), NewTopic("b", 0), NewTopic("c"), NewTopic("c")]
            results = await broker.create_topics(SESSION, asked)
            assert [code_of(result) for result in results] == [
                ErrorCode.NONE,
                ErrorCode.INVALID_PARTITIONS,
                ErrorCode.INVALID_REQUEST,
                ErrorCode.INVALID_REQUEST,
            ]

    asyncio.run(story())


def test_topics_their_ids_configs_and_records_are_there_after_a_restart() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with running(disk, {"num.partitions": 2}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs={"retention.ms": "77"})])
            await broker.grow_topic(SESSION, "t", 4)
            accepted = broker.produce(SESSION, "t", 3, batch(), -1)
            assert accepted.safe is not None
            await accepted.safe
            before = broker.topics.topic("t")
        async with running(disk) as broker:
            assert broker.topics.topic("t") == before
            assert before.partitions == 4
            partition = broker.topics.hosted("t", 3).partition
            assert (partition.high_watermark, partition.log.config.retention_ms) == (1, 77)

    asyncio.run(story())


def test_growing_only_grows() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1)), {"max.partitions": 10}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", 3)])
            assert await refusal(broker.grow_topic(SESSION, "t", 3)) is ErrorCode.INVALID_PARTITIONS
            assert await refusal(broker.grow_topic(SESSION, "t", 2)) is ErrorCode.INVALID_PARTITIONS
            assert await refusal(broker.grow_topic(SESSION, "t", 11)) is ErrorCode.INVALID_PARTITIONS
            assert await refusal(broker.grow_topic(SESSION, "u", 5)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            await broker.grow_topic(SESSION, "t", 5, validate_only=True)
            assert broker.topics.topic("t").partitions == 3

    asyncio.run(story())


def test_a_deleted_topic_is_gone_and_a_new_one_of_its_name_starts_empty() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with running(disk) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            broker.produce(SESSION, "t", 0, batch(), -1)
            old = broker.topics.topic("t")
            await broker.delete_topic(SESSION, "t")
            assert await refusal(broker.delete_topic(SESSION, "t")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            await broker.create_topics(SESSION, [NewTopic("t")])
            assert broker.topics.topic("t").id != old.id
            assert broker.topics.hosted("t", 0).partition.log.end_offset == 0
        async with running(disk) as broker:
            assert broker.topics.hosted("t", 0).partition.log.end_offset == 0
            with pytest.raises(Refused) as refused:
                broker.topics.name_of(old.id.bytes)
            assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_ID

    asyncio.run(story())


def test_a_client_that_goes_away_does_not_leave_half_a_topic() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1))) as broker:
            task = asyncio.create_task(broker.create_topics(SESSION, [NewTopic("t", 3)]))
            await asyncio.sleep(0)
            task.cancel()
            await broker.create_topics(SESSION, [NewTopic("u")])
            assert broker.topics.topic("t").partitions == 3
            assert broker.topics.hosted("t", 2).partition.index == 2

    asyncio.run(story())


def test_deleting_can_be_forbidden_and_auto_creation_too() -> None:
    async def story() -> None:
        settings = {"delete.topic.enable": "false", "auto.create.topics.enable": "false"}
        async with running(SimDisk(Random(1)), settings) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            assert await refusal(broker.delete_topic(SESSION, "t")) is ErrorCode.TOPIC_DELETION_DISABLED
            assert (
                await refusal(broker.auto_create_topic(SESSION, "u")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )

    asyncio.run(story())


def test_a_topics_config_is_set_appended_to_deleted_and_followed_at_once() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with running(disk, {"log.cleanup.policy": "delete"}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t")])
            log = broker.topics.hosted("t", 0).partition.log
            set_ = [
                Change("retention.ms", Operation.SET, "5"),
                Change("cleanup.policy", Operation.APPEND, "compact"),
            ]
            await broker.change_topic_configs(SESSION, "t", set_, True)
            assert log.config.retention_ms != 5
            await broker.change_topic_configs(SESSION, "t", set_, False)
            assert log.config.retention_ms == 5
            assert list(log.config.cleanup_policy) == ["delete", "compact"]
            change = [
                Change("cleanup.policy", Operation.SUBTRACT, "delete"),
                Change("retention.ms", Operation.DELETE, None),
            ]
            await broker.change_topic_configs(SESSION, "t", change, False)
            assert list(log.config.cleanup_policy) == ["compact"]
            assert log.config.retention_ms == 604_800_000
            for bad in (
                Change("retention.ms", Operation.APPEND, "5"),
                Change("retention.mss", Operation.SET, "5"),
                Change("retention.ms", Operation.SET, None),
                Change("retention.ms", Operation.SET, "x"),
            ):
                assert (
                    await refusal(broker.change_topic_configs(SESSION, "t", [bad], False))
                    is ErrorCode.INVALID_CONFIG
                )
            await broker.replace_topic_configs(SESSION, "t", {"segment.ms": "9"}, False)
        async with running(disk) as broker:
            assert broker.topics.topic("t").configs == {"segment.ms": "9"}

    asyncio.run(story())


def test_the_brokers_defaults_reach_topics_that_have_no_value_of_their_own() -> None:
    async def story() -> None:
        disk = SimDisk(Random(1))
        async with running(disk, {"log.retention.ms": "100"}) as broker:
            await broker.create_topics(
                SESSION, [NewTopic("t"), NewTopic("own", configs={"retention.ms": "1"})]
            )
            log, own = (broker.topics.hosted(name, 0).partition.log for name in ("t", "own"))
            assert log.config.retention_ms == 100
            await broker.change_broker_configs(
                SESSION, [Change("log.retention.ms", Operation.SET, "200")], False
            )
            assert (log.config.retention_ms, own.config.retention_ms) == (200, 1)
            (shown,) = [
                each
                for each in broker.describe_topic_configs(SESSION, "t")
                if each.entry.name == "retention.ms"
            ]
            assert (shown.entry.value, shown.entry.source) == ("200", Source.DYNAMIC_BROKER)
            fixed = [Change("node.id", Operation.SET, "9")]
            assert (
                await refusal(broker.change_broker_configs(SESSION, fixed, False)) is ErrorCode.INVALID_CONFIG
            )
        async with running(disk, {"log.retention.ms": "100"}) as broker:
            assert broker.topics.hosted("t", 0).partition.log.config.retention_ms == 200
            await broker.replace_broker_configs(SESSION, {}, False)
            assert broker.topics.hosted("t", 0).partition.log.config.retention_ms == 100

    asyncio.run(story())


def test_every_config_is_described_with_its_sources() -> None:
    async def story() -> None:
        async with running(SimDisk(Random(1)), {"log.segment.bytes": "2000000"}) as broker:
            await broker.create_topics(SESSION, [NewTopic("t", configs={"segment.bytes": "1000000"})])
            described = {each.entry.name: each for each in broker.describe_topic_configs(SESSION, "t")}
            segment = described["segment.bytes"]
            assert [(each.name, each.value, each.source) for each in segment.synonyms] == [
                ("segment.bytes", "1000000", Source.TOPIC),
                ("log.segment.bytes", "2000000", Source.STATIC_BROKER),
                ("log.segment.bytes", "1073741824", Source.DEFAULT),
            ]
            defaults = {name: each.entry.value for name, each in described.items()}
            assert defaults["retention.ms"] == "604800000"
            assert defaults["max.message.bytes"] == "1048588"
            assert defaults["cleanup.policy"] == "delete"
            assert defaults["compression.type"] == "producer"
            assert "num.partitions" in {each.entry.name for each in broker.describe_broker_configs(SESSION)}

    asyncio.run(story())


@pytest.mark.parametrize("name", sorted(INTERNAL_TOPICS))
def test_the_brokers_own_topics_are_nobody_elses(name: str) -> None:
    async def main() -> None:
        async with running(SimDisk(Random(1))) as broker:
            refused, made = await broker.create_topics(SESSION, [NewTopic(name), NewTopic("theirs")])
            assert isinstance(refused, Refused)
            assert refused.code is ErrorCode.POLICY_VIOLATION
            assert isinstance(made, Topic)
            await broker.coordinator(SESSION)
            with pytest.raises(Refused) as refusal:
                await broker.delete_topic(SESSION, name)
            assert refusal.value.code is ErrorCode.POLICY_VIOLATION
            assert OFFSETS_TOPIC in broker.topics

    asyncio.run(main())
