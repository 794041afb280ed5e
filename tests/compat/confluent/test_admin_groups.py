"""confluent-kafka administers groups: listed, described, moved, deleted."""

from typing import Any

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from tests.compat.confluent.clients import SECONDS, admin, consumer, create, poll_until, producer, read, send


@pytest.fixture
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


@pytest.fixture
def left(bootstrap: str, name: str) -> str:
    """A group that has read eight of ten records of the topic of its name, and has no members any more."""
    create(bootstrap, name, 2)
    send(producer(bootstrap), name, [{"value": str(i), "partition": 0} for i in range(10)])
    with consumer(bootstrap, group_id=name) as reader:
        reader.subscribe([name])
        last = read(reader, 8)[-1]
        reader.commit(message=last, asynchronous=False)
    return name


def committed(client: AdminClient, group: str, *places: TopicPartition) -> dict[int, int]:
    asked = ConsumerGroupTopicPartitions(group, list(places) or None)
    (future,) = client.list_consumer_group_offsets([asked]).values()
    return {each.partition: each.offset for each in future.result(SECONDS).topic_partitions}


def refusal(future: Any) -> int:
    with pytest.raises(KafkaException) as refused:
        future.result(SECONDS)
    code: int = refused.value.args[0].code()
    return code


def test_groups_are_listed_by_state_and_type(client: AdminClient, left: str) -> None:
    def listed(**filters: Any) -> set[str]:
        result = client.list_consumer_groups(**filters).result(SECONDS)
        assert not result.errors
        return {each.group_id for each in result.valid}

    assert left in listed()
    assert left in listed(states={ConsumerGroupState.EMPTY})
    assert left not in listed(states={ConsumerGroupState.STABLE})
    assert left in listed(types={ConsumerGroupType.CLASSIC})
    assert left not in listed(types={ConsumerGroupType.CONSUMER})


def test_a_group_at_work_is_described(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    with consumer(bootstrap, group_id=name, client_id="worker", group_instance_id="w1") as reader:
        reader.subscribe([name])
        poll_until([reader], lambda: len(reader.assignment()) == 2)
        told = client.describe_consumer_groups([name])[name].result(SECONDS)

    assert told.state == ConsumerGroupState.STABLE
    assert told.partition_assignor == "range"
    assert not told.is_simple_consumer_group
    assert told.coordinator.id == 1
    (member,) = told.members
    assert (member.client_id, member.host, member.group_instance_id) == ("worker", "/127.0.0.1", "w1")
    assert {(each.topic, each.partition) for each in member.assignment.topic_partitions} == {
        (name, 0),
        (name, 1),
    }


def test_groups_without_members_and_without_existence_are_described(client: AdminClient, left: str) -> None:
    told = client.describe_consumer_groups([left, "no-such-group"])
    assert told[left].result(SECONDS).state == ConsumerGroupState.EMPTY
    nobody = told["no-such-group"].result(SECONDS)
    assert (nobody.state, nobody.members) == (ConsumerGroupState.DEAD, [])


def test_offsets_of_a_group_are_listed(client: AdminClient, left: str) -> None:
    assert committed(client, left) == {0: 8}
    assert committed(client, left, TopicPartition(left, 0), TopicPartition(left, 1)) == {0: 8, 1: -1001}


def test_offsets_of_a_group_without_members_are_moved(client: AdminClient, bootstrap: str, left: str) -> None:
    moved = ConsumerGroupTopicPartitions(left, [TopicPartition(left, 0, 2), TopicPartition(left, 1, 0)])
    (future,) = client.alter_consumer_group_offsets([moved]).values()
    assert all(each.error is None for each in future.result(SECONDS).topic_partitions)

    assert committed(client, left) == {0: 2, 1: 0}
    with consumer(bootstrap, group_id=left) as reader:
        reader.subscribe([left])
        assert read(reader, 1)[0].offset() == 2


def test_a_group_at_work_is_neither_moved_nor_deleted(client: AdminClient, bootstrap: str, left: str) -> None:
    with consumer(bootstrap, group_id=left) as reader:
        reader.subscribe([left])
        poll_until([reader], lambda: len(reader.assignment()) == 2)
        moved = ConsumerGroupTopicPartitions(left, [TopicPartition(left, 0, 2)])
        (future,) = client.alter_consumer_group_offsets([moved]).values()
        (refused,) = future.result(SECONDS).topic_partitions
        assert refused.error.code() == KafkaError.UNKNOWN_MEMBER_ID
        assert refusal(client.delete_consumer_groups([left])[left]) == KafkaError.NON_EMPTY_GROUP


def test_a_group_is_deleted_with_its_offsets(client: AdminClient, left: str) -> None:
    client.delete_consumer_groups([left])[left].result(SECONDS)
    assert committed(client, left) == {}
    assert refusal(client.delete_consumer_groups([left])[left]) == KafkaError.GROUP_ID_NOT_FOUND


def test_offsets_go_with_their_topic(client: AdminClient, left: str) -> None:
    client.delete_topics([left])[left].result(SECONDS)
    assert committed(client, left) == {}
