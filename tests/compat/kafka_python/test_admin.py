"""kafka-python administers: all of its admin client that a node without transactions serves."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from kafka import TopicPartition
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType, MemberToRemove, OffsetSpec
from kafka.errors import (
    InvalidPartitionsError,
    InvalidTopicError,
    NoError,
    NonEmptyGroupError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
)
from kafka.structs import OffsetAndMetadata
from tests.compat.kafka_python.clients import SECONDS, admin, consumer, create, producer, read, send
from tests.compat.node import Node

TOPIC = ConfigResourceType.TOPIC
BROKER = ConfigResourceType.BROKER


@pytest.fixture
def client(bootstrap: str) -> Iterator[Any]:
    with admin(bootstrap) as made:
        yield made


def described(client: Any, resource: ConfigResource) -> dict[str, Any]:
    told = client.describe_configs([resource], include_synonyms=True, config_filter="all")
    configs: dict[str, Any] = told[resource.resource_type.name.lower()][resource.name]
    return configs


def test_topics(client: Any, name: str) -> None:
    made = client.create_topics({name: {"num_partitions": 3, "configs": {"retention.ms": "5"}}})
    (topic,) = made["topics"]
    assert (topic["num_partitions"], topic["replication_factor"]) == (3, 1)
    with pytest.raises(TopicAlreadyExistsError):
        client.create_topics([name])
    with pytest.raises(InvalidTopicError):
        client.create_topics(["not/a/name"])
    client.create_topics([f"{name}-trial"], validate_only=True)
    assert name in client.list_topics()
    assert f"{name}-trial" not in client.list_topics()

    client.create_partitions({name: 5})
    with pytest.raises(InvalidPartitionsError):
        client.create_partitions({name: 2})
    (told,) = client.describe_topics([name])
    assert len(told["partitions"]) == 5

    (by_id,) = client.describe_topics([UUID(str(told["topic_id"]))])
    assert by_id["name"] == name
    client.delete_topics([name])
    assert name not in client.list_topics()


def test_pages_of_partitions(client: Any, name: str) -> None:
    client.create_topics({f"{name}-a": {"num_partitions": 3}, f"{name}-b": {"num_partitions": 2}})
    first = client.describe_topic_partitions([f"{name}-a", f"{name}-b"], response_partition_limit=4)
    assert [len(each["partitions"]) for each in first["topics"]] == [3, 1]
    rest = client.describe_topic_partitions(
        [f"{name}-a", f"{name}-b"], response_partition_limit=4, cursor=first["next_cursor"]
    )
    assert [(each["name"], len(each["partitions"])) for each in rest["topics"]] == [(f"{name}-b", 1)]
    assert rest["next_cursor"] is None


def test_configs_of_topics(client: Any, bootstrap: str, name: str) -> None:
    create(bootstrap, name, retention_bytes="200000")
    resource = ConfigResource(TOPIC, name)
    told = described(client, resource)
    assert told["retention.bytes"]["value"] == "200000"
    assert told["segment.bytes"]["value"] == "1073741824"

    changes = {"retention.ms": "5", "cleanup.policy": (AlterConfigOp.APPEND, "compact")}
    assert client.alter_configs([ConfigResource(TOPIC, name, changes)]) == {"topic": {name: "OK"}}
    told = described(client, resource)
    assert (told["retention.ms"]["value"], told["cleanup.policy"]["value"]) == ("5", "delete,compact")
    assert told["retention.bytes"]["value"] == "200000"

    client.alter_configs([ConfigResource(TOPIC, name, {"retention.ms": "7"})], incremental=False)
    assert described(client, resource)["retention.ms"]["value"] == "7"
    client.reset_configs([ConfigResource(TOPIC, name, {"retention.ms": None})])
    assert described(client, resource)["retention.ms"]["value"] == "604800000"

    bad = client.alter_configs([ConfigResource(TOPIC, name, {"retention.ms": "soon"})])
    assert "InvalidConfig" in bad["topic"][name]


def test_configs_of_the_broker(client: Any) -> None:
    told = described(client, ConfigResource(BROKER, "1"))
    assert told["node.id"]["value"] == "1"
    listed = client.list_config_resources([ConfigResourceType.BROKER])
    assert listed == {"broker": ["1"]}


def test_records_and_offsets(client: Any, bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    place = TopicPartition(name, 0)
    with producer(bootstrap) as one:
        for time in (5000, 9000, 7000):
            one.send(name, b"x", partition=0, timestamp_ms=time).get(SECONDS)

    wanted = {
        OffsetSpec.EARLIEST: (0, -1),
        OffsetSpec.LATEST: (3, -1),
        OffsetSpec.MAX_TIMESTAMP: (1, 9000),
        OffsetSpec.EARLIEST_LOCAL: (0, -1),
        OffsetSpec.LATEST_TIERED: (-1, -1),
        6000: (1, 9000),
    }
    for spec, expected in wanted.items():
        found = client.list_partition_offsets({place: spec})[place]
        assert (found.offset, found.timestamp) == expected
    assert client.delete_records({place: 2})[place]["low_watermark"] == 2
    with pytest.raises(OffsetOutOfRangeError):
        client.delete_records({place: 9})


def test_the_cluster(client: Any, node: Node, bootstrap: str, name: str) -> None:
    told = client.describe_cluster()
    assert told["controller_id"] == 1
    assert [f"{each['host']}:{each['port']}" for each in told["brokers"]] == [bootstrap]
    create(bootstrap, name, 2)
    with producer(bootstrap) as one:
        send(one, name, b"x" * 500)
    ((directory,),) = [each["log_dirs"] for each in client.describe_log_dirs([name])]
    assert directory["log_dir"] == str(node.data)
    ((first, second),) = [each["partitions"] for each in directory["topics"]]
    assert first["partition_size"] > 500
    assert second["partition_size"] == 0
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    client.describe_features()


def test_groups_at_work(client: Any, bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    with producer(bootstrap) as one:
        send(one, name, b"x")
    with consumer(bootstrap, name, group_id=name, group_instance_id="w1") as reader:
        read(reader, 1)
        told = client.describe_groups([name])[name]
        assert (told["error"], told["group_state"], told["protocol_type"]) == (None, "Stable", "consumer")
        (member,) = told["members"]
        assert member["group_instance_id"] == "w1"
        assert [group for group in client.list_groups(states_filter=["Stable"]) if group["group_id"] == name]
        assert client.delete_groups([name])[name] == NonEmptyGroupError.__name__

        gone = client.remove_group_members(name, [MemberToRemove(group_instance_id="w1")])
        assert list(gone.values()) == [NoError]
    assert client.describe_groups([name])[name]["members"] == []


def test_groups_at_rest(client: Any, bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    with producer(bootstrap) as one:
        send(one, name, *[b"x"] * 10)
    with consumer(bootstrap, name, group_id=name) as reader:
        read(reader, 7)
        reader.commit()
    zero, one_ = TopicPartition(name, 0), TopicPartition(name, 1)
    assert client.list_group_offsets({name: None})[name][zero].offset == 7

    moved = client.alter_group_offsets(name, {zero: OffsetAndMetadata(2, "moved", -1)})
    assert moved == {zero: NoError}
    assert client.list_group_offsets({name: [zero]})[name][zero].metadata == "moved"
    assert client.reset_group_offsets(name, {zero: OffsetSpec.LATEST})[zero]["offset"] == 10

    assert client.delete_group_offsets(name, [zero]) == {zero: NoError}
    assert client.list_group_offsets({name: [zero, one_]})[name][zero].offset == -1
    assert client.delete_groups([name])[name] == "OK"
