"""confluent-kafka administers: topics, partitions, configs, records, the cluster."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewPartitions, NewTopic
from tests.compat.confluent.clients import SECONDS, admin, create, producer, send

TOPIC = ConfigResource.Type.TOPIC
BROKER = ConfigResource.Type.BROKER
OFFSETS: Any = OffsetSpec  # whose ways to make one have no types


@pytest.fixture
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    """What became of each."""
    return {key: future.result(SECONDS) for key, future in futures.items()}


def refusal(future: Any) -> int:
    with pytest.raises(KafkaException) as refused:
        future.result(SECONDS)
    code: int = refused.value.args[0].code()
    return code


def configs(client: AdminClient, resource: ConfigResource) -> dict[str, Any]:
    (described,) = done(client.describe_configs([resource])).values()
    return dict(described)


def test_topics_are_created_listed_and_deleted(client: AdminClient, name: str) -> None:
    done(client.create_topics([NewTopic(f"{name}-a", 3), NewTopic(f"{name}-b", 1, 1)]))
    listed = client.list_topics(timeout=SECONDS)
    assert len(listed.topics[f"{name}-a"].partitions) == 3
    assert listed.topics[f"{name}-b"].partitions[0].leader == 1
    assert listed.topics[f"{name}-b"].partitions[0].isrs == [1]

    done(client.delete_topics([f"{name}-a", f"{name}-b"]))
    assert not {f"{name}-a", f"{name}-b"} & client.list_topics(timeout=SECONDS).topics.keys()


def test_one_bad_topic_does_not_spoil_the_others(client: AdminClient, name: str) -> None:
    asked = [
        NewTopic(f"{name}-good", 1),
        NewTopic("not/a/name", 1),
        NewTopic(f"{name}-wide", 1, 5),
        NewTopic(f"{name}-odd", 1, config={"no.such.config": "1"}),
        NewTopic(f"{name}-bad", 1, config={"retention.ms": "soon"}),
    ]
    futures = client.create_topics(asked)
    futures[f"{name}-good"].result(SECONDS)
    assert refusal(futures["not/a/name"]) == KafkaError.TOPIC_EXCEPTION
    assert refusal(futures[f"{name}-wide"]) == KafkaError.INVALID_REPLICATION_FACTOR
    assert refusal(futures[f"{name}-odd"]) == KafkaError.INVALID_CONFIG
    assert refusal(futures[f"{name}-bad"]) == KafkaError.INVALID_CONFIG
    again = client.create_topics([NewTopic(f"{name}-good", 1)])
    assert refusal(again[f"{name}-good"]) == KafkaError.TOPIC_ALREADY_EXISTS


def test_a_trial_creates_nothing(client: AdminClient, name: str) -> None:
    done(client.create_topics([NewTopic(name, 1)], validate_only=True))
    assert refusal(client.delete_topics([name])[name]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_partitions_may_be_assigned_by_hand(client: AdminClient, name: str) -> None:
    done(client.create_topics([NewTopic(name, 2, replica_assignment=[[1], [1]])]))
    assert len(client.list_topics(name, timeout=SECONDS).topics[name].partitions) == 2
    elsewhere = client.create_topics([NewTopic(f"{name}-x", 1, replica_assignment=[[7]])])
    assert refusal(elsewhere[f"{name}-x"]) == KafkaError.INVALID_REPLICA_ASSIGNMENT


def test_topics_grow_but_do_not_shrink(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    done(client.create_partitions([NewPartitions(name, 5)]))
    assert len(client.list_topics(name, timeout=SECONDS).topics[name].partitions) == 5
    assert send(producer(bootstrap), name, [{"value": "x", "partition": 4}])[0].offset() == 0

    assert refusal(client.create_partitions([NewPartitions(name, 3)])[name]) == KafkaError.INVALID_PARTITIONS
    nowhere = client.create_partitions([NewPartitions("no-such-topic", 3)])["no-such-topic"]
    assert refusal(nowhere) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_topics_are_described_with_their_ids(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    (first,) = done(client.describe_topics(TopicCollection([name]))).values()
    assert (first.name, first.is_internal, len(first.partitions)) == (name, False, 2)
    assert first.partitions[1].leader.id == 1

    done(client.delete_topics([name]))
    create(bootstrap, name, 1)
    (second,) = done(client.describe_topics(TopicCollection([name]))).values()
    assert str(second.topic_id) != str(first.topic_id)


def test_every_config_of_a_topic_is_told(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, retention_ms="100000")
    told = configs(client, ConfigResource(TOPIC, name))

    assert told["retention.ms"].value == "100000"
    assert told["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert list(told["retention.ms"].synonyms) == ["retention.ms", "log.retention.ms"]
    assert told["segment.bytes"].value == "1073741824"
    assert told["segment.bytes"].is_default
    assert len(told) >= 20


def test_some_configs_are_changed_and_the_others_stay(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, retention_ms="100000", retention_bytes="200000")
    change = ConfigResource(
        TOPIC,
        name,
        incremental_configs=[
            ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
            ConfigEntry("segment.ms", "5000", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
        ],
    )
    done(client.incremental_alter_configs([change]))

    told = configs(client, ConfigResource(TOPIC, name))
    assert told["retention.ms"].is_default
    assert told["retention.bytes"].value == "200000"
    assert told["segment.ms"].value == "5000"
    assert told["cleanup.policy"].value == "delete,compact"


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_all_configs_are_replaced(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, retention_ms="100000", retention_bytes="200000")
    done(client.alter_configs([ConfigResource(TOPIC, name, set_config={"retention.ms": "5"})]))

    told = configs(client, ConfigResource(TOPIC, name))
    assert told["retention.ms"].value == "5"
    assert told["retention.bytes"].is_default


def test_configs_that_make_no_sense_are_refused(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    for config, value in (("no.such.config", "1"), ("retention.ms", "soon"), ("cleanup.policy", "burn")):
        entry = ConfigEntry(config, value, incremental_operation=AlterConfigOpType.SET)
        (future,) = client.incremental_alter_configs(
            [ConfigResource(TOPIC, name, incremental_configs=[entry])]
        ).values()
        assert refusal(future) == KafkaError.INVALID_CONFIG
    (future,) = client.describe_configs([ConfigResource(TOPIC, "no-such-topic")]).values()
    assert refusal(future) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_the_brokers_configs_are_told_and_changed(client: AdminClient) -> None:
    broker = ConfigResource(BROKER, "1")
    told = configs(client, broker)
    assert told["node.id"].value == "1"
    assert told["node.id"].is_read_only
    assert told["group.initial.rebalance.delay.ms"].source == ConfigSource.STATIC_BROKER_CONFIG.value

    def change(operation: AlterConfigOpType, value: str | None) -> Any:
        entry = ConfigEntry("log.retention.bytes", value, incremental_operation=operation)
        done(client.incremental_alter_configs([ConfigResource(BROKER, "1", incremental_configs=[entry])]))
        return configs(client, broker)["log.retention.bytes"]

    changed = change(AlterConfigOpType.SET, "123456789")
    assert (changed.value, changed.source) == ("123456789", ConfigSource.DYNAMIC_BROKER_CONFIG.value)
    assert change(AlterConfigOpType.DELETE, None).is_default


def test_records_are_deleted(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name, 2)
    send(producer(bootstrap), name, [{"value": "x", "partition": 0}] * 10)
    places = [TopicPartition(name, 0, 4), TopicPartition(name, 1, -1)]
    told = done(client.delete_records(places))
    assert [told[place].low_watermark for place in places] == [4, 0]

    beyond = TopicPartition(name, 0, 11)
    assert refusal(client.delete_records([beyond])[beyond]) == KafkaError.OFFSET_OUT_OF_RANGE


def test_offsets_are_listed(client: AdminClient, bootstrap: str, name: str) -> None:
    create(bootstrap, name)
    times = [5000, 9000, 7000]
    send(producer(bootstrap), name, [{"value": "x", "partition": 0, "timestamp": time} for time in times])
    place = TopicPartition(name, 0)
    wanted: dict[Any, tuple[int, int]] = {
        OFFSETS.earliest(): (0, -1),
        OFFSETS.latest(): (3, -1),
        OFFSETS.max_timestamp(): (1, 9000),
        OFFSETS.for_timestamp(6000): (1, 9000),
        OFFSETS.for_timestamp(9001): (-1, -1),
    }
    for spec, expected in wanted.items():
        (found,) = done(client.list_offsets({place: spec})).values()
        assert (found.offset, found.timestamp) == expected


def test_the_cluster_is_described(client: AdminClient, bootstrap: str) -> None:
    told = client.describe_cluster().result(SECONDS)
    assert told.cluster_id
    assert told.controller.id == 1
    assert [f"{node.host}:{node.port}" for node in told.nodes] == [bootstrap]


def test_there_are_no_users_yet(client: AdminClient) -> None:
    assert done({None: client.describe_user_scram_credentials()}) == {None: {}}
