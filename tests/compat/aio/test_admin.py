"""aiokafka administers: all that its admin client has."""

from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidPartitionsError
from tests.compat.aio.clients import admin, consumer, create, poll_until, producer, read, run, send

from millstream.errors import ErrorCode


def configs(answers: list[Any]) -> dict[str, str]:
    """Name and value of every config of the one resource asked for."""
    ((error, _, _, _, entries),) = answers[0].resources
    assert error == 0
    return {entry[0]: entry[1] for entry in entries}


def test_topics(bootstrap: str, name: str) -> None:
    async def story() -> None:
        async with admin(bootstrap) as client:
            made = await client.create_topics([NewTopic(name, 3, 1), NewTopic("not/a/name", 1, 1)])
            assert [(each[0], each[1]) for each in made.topic_errors] == [
                (name, 0),
                ("not/a/name", ErrorCode.INVALID_TOPIC_EXCEPTION),
            ]
            assert name in await client.list_topics()

            grown = await client.create_partitions({name: NewPartitions(5)})
            assert [each[1] for each in grown.topic_errors] == [0]
            with pytest.raises(InvalidPartitionsError):
                await client.create_partitions({name: NewPartitions(2)})
            (told,) = await client.describe_topics([name])
            assert (told["topic"], len(told["partitions"])) == (name, 5)

            gone = await client.delete_topics([name])
            assert list(gone.topic_error_codes) == [(name, 0)]
            assert name not in await client.list_topics()

    run(story())


def test_configs(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name, retention_bytes="200000")
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        async with admin(bootstrap) as client:
            told = configs(await client.describe_configs([resource]))
            assert (told["retention.bytes"], told["segment.bytes"]) == ("200000", "1073741824")

            change = ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": "5"})
            assert [each[0] for each in (await client.alter_configs([change]))[0].resources] == [0]
            told = configs(await client.describe_configs([resource], include_synonyms=True))
            assert (told["retention.ms"], told["retention.bytes"]) == ("5", "-1")

            broker = ConfigResource(ConfigResourceType.BROKER, "1")
            assert configs(await client.describe_configs([broker]))["node.id"] == "1"

    run(story())


def test_records(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name)
        place = TopicPartition(name, 0)
        async with producer(bootstrap) as one, admin(bootstrap) as client:
            await send(one, name, *[b"x"] * 10)
            assert await client.delete_records({place: RecordsToDelete(before_offset=4)}) == {place: 4}
            assert await client.delete_records({place: RecordsToDelete(before_offset=-1)}) == {place: 10}

    run(story())


def test_groups(bootstrap: str, name: str) -> None:
    async def story() -> None:
        await create(bootstrap, name)
        place = TopicPartition(name, 0)
        async with producer(bootstrap) as one:
            await send(one, name, *[b"x"] * 10)
        async with admin(bootstrap) as client:
            async with consumer(bootstrap, name, group_id=name) as reader:
                await read(reader, 7)
                await reader.commit()
                await poll_until([reader], lambda: bool(reader.assignment()))
                (told,) = (await client.describe_consumer_groups([name]))[0].groups
                assert told[:4] == (0, name, "Stable", "consumer")
                assert len(told[5]) == 1
            assert (name, "consumer") in await client.list_consumer_groups()
            assert await client.find_coordinator(name) == 1
            offsets = await client.list_consumer_group_offsets(name)
            assert offsets[place].offset == 7
            asked = await client.list_consumer_group_offsets(name, partitions=[TopicPartition(name, 9)])
            assert asked[TopicPartition(name, 9)].offset == -1

    run(story())


def test_the_cluster(bootstrap: str) -> None:
    async def story() -> None:
        async with admin(bootstrap) as client:
            told = await client.describe_cluster()
        assert told["controller_id"] == 1
        assert [f"{each['host']}:{each['port']}" for each in told["brokers"]] == [bootstrap]
        assert told["cluster_id"]

    run(story())
