"""Metadata and topics: kafka-compat §5.1, by its numbers, and what §4 says of their answers."""

from pathlib import Path

import pytest
from tests.compat.node import Node, unique
from tests.compat.protocol.asking import batch, create, describe, fetching, part, produce, producing
from tests.compat.protocol.line import Line, line

from millstream.errors import ErrorCode
from millstream.gateways.kafka.operations import NOT_TOLD, ON_CLUSTER, ON_TOPIC
from millstream.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsRequestTopic,
    CreatePartitionsResponse,
)
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestAssignment,
    CreateTopicsRequestConfig,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsRequestTopic,
    DeleteTopicsResponse,
)
from millstream.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from millstream.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestTopic,
    DescribeTopicPartitionsResponse,
)
from millstream.wire.messages.fetch import FetchResponse
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from millstream.wire.messages.produce import ProduceResponse

BAD_NAMES = ["", ".", "..", "a" * 250, "a/b", "ü", "a b", "a\0"]


def named(*names: str | None) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def delete(wire: Line, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicsRequestTopic(name)])
    assert wire.ask(request, DeleteTopicsResponse, 6).responses[0].error_code == 0


def create_errors(wire: Line, *topics: CreateTopicsRequestTopic, version: int = 7) -> list[int]:
    answer = wire.ask(CreateTopicsRequest(list(topics)), CreateTopicsResponse, version)
    assert [each.name for each in answer.topics] == [each.name for each in topics]  # one each, in order
    return [each.error_code for each in answer.topics]


def test_5_1_1_what_stands_for_all_topics(wire: Line, name: str) -> None:
    create(wire, name)

    def listed(request: MetadataRequest, version: int) -> set[str | None]:
        return {each.name for each in wire.ask(request, MetadataResponse, version).topics}

    assert name in listed(MetadataRequest([]), 0)
    for version in range(1, 14):
        assert listed(MetadataRequest([]), version) == set()
        assert name in listed(MetadataRequest(None), version)


def test_5_1_2_an_unknown_topic_is_created_if_the_client_allows(wire: Line, name: str) -> None:
    for version in (4, 13):
        asked = MetadataRequest(named(name), allow_auto_topic_creation=False)
        (topic,) = wire.ask(asked, MetadataResponse, version).topics
        assert (topic.error_code, topic.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    (topic,) = wire.ask(MetadataRequest(named(name)), MetadataResponse, 3).topics
    assert topic.error_code == 0
    assert [(each.partition_index, each.leader_id) for each in topic.partitions] == [(0, 1)]


def test_5_1_2_or_not_if_the_broker_does_not(tmp_path: Path, name: str) -> None:
    node = Node(tmp_path / "data", {"auto.create.topics.enable": "false"})
    with line(node) as wire:
        (topic,) = wire.ask(MetadataRequest(named(name)), MetadataResponse, 13).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    node.close()


def test_5_1_3_illegal_names(wire: Line) -> None:
    for version in (0, 9, 13):
        for topic in wire.ask(MetadataRequest(named(*BAD_NAMES)), MetadataResponse, version).topics:
            assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION, topic.name
    created = create_errors(wire, *(CreateTopicsRequestTopic(name, 1, 1) for name in BAD_NAMES))
    assert set(created) == {ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_5_1_3_names_that_differ_in_dots_only_collide(wire: Line, name: str) -> None:
    create(wire, f"{name}.a_b")
    assert create_errors(wire, CreateTopicsRequestTopic(f"{name}_a.b", 1, 1)) == [
        ErrorCode.INVALID_TOPIC_EXCEPTION
    ]


def test_5_1_4_by_id(wire: Line, name: str) -> None:
    id = create(wire, name)
    asked = [MetadataRequestTopic(topic_id=id), MetadataRequestTopic(topic_id=b"\x07" * 16)]
    for version in (12, 13):
        known, unknown = wire.ask(MetadataRequest(asked), MetadataResponse, version).topics
        assert (known.error_code, known.name) == (0, name)
        assert (unknown.error_code, unknown.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)


@pytest.mark.parametrize("version", [10, 11])
def test_5_1_4_ids_and_null_names_are_for_later_versions(wire: Line, name: str, version: int) -> None:
    id = create(wire, name)
    for topic in (MetadataRequestTopic(topic_id=id), MetadataRequestTopic(name=None)):
        (answer,) = wire.ask(MetadataRequest([topic]), MetadataResponse, version).topics
        assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_5_1_6_a_topic_made_again_is_another(wire: Line, name: str) -> None:
    old = create(wire, name)
    produce(wire, name, batch(b"x"))
    delete(wire, name)
    new = create(wire, name)

    assert new != old
    assert produce(wire, name, batch(b"y")).base_offset == 0
    (topic,) = wire.ask(fetching(old, part()), FetchResponse, 13).responses
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    by_id = producing("", {0: batch(b"z")})
    by_id.topic_data[0].topic_id = old
    (answer,) = wire.ask(by_id, ProduceResponse, 13).responses
    assert answer.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_5_1_7_every_way_to_be_refused(wire: Line, name: str) -> None:
    create(wire, name)
    bad_config = CreateTopicsRequestConfig("retention.ms", "soon")
    elsewhere, here = CreateTopicsRequestAssignment(0, [9]), CreateTopicsRequestAssignment(0, [1])
    refused = [
        (CreateTopicsRequestTopic(name, 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
        (CreateTopicsRequestTopic(f"{name}-a", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (CreateTopicsRequestTopic(f"{name}-b", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreateTopicsRequestTopic(f"{name}-c", 1, 1, configs=[bad_config]), ErrorCode.INVALID_CONFIG),
        (CreateTopicsRequestTopic(f"{name}-d", -1, -1, [elsewhere]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreateTopicsRequestTopic(f"{name}-e", 1, 1, [here]), ErrorCode.INVALID_REQUEST),
        (CreateTopicsRequestTopic(f"{name}-f", 1, 1), ErrorCode.INVALID_REQUEST),
        (CreateTopicsRequestTopic(f"{name}-f", 2, 1), ErrorCode.INVALID_REQUEST),
    ]
    for version in range(2, 8):
        asked = [CreateTopicsRequestTopic(unique(name), 1, 1), *(topic for topic, _ in refused)]
        assert create_errors(wire, *asked, version=version) == [0, *(code for _, code in refused)]


def test_5_1_7_the_broker_knows_what_is_left_open(wire: Line, name: str) -> None:
    assert create_errors(wire, CreateTopicsRequestTopic(name, -1, -1), version=4) == [0]
    assert len(describe(wire, name).partitions) == 1


def test_5_1_7_a_trial_does_everything_but_create(wire: Line, name: str) -> None:
    asked = CreateTopicsRequest([CreateTopicsRequestTopic(name, 3, 1)], validate_only=True)
    for _ in range(2):
        (answer,) = wire.ask(asked, CreateTopicsResponse, 7).topics
        assert (answer.error_code, answer.num_partitions) == (0, 3)
    create(wire, name)
    (answer,) = wire.ask(asked, CreateTopicsResponse, 7).topics
    assert answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_5_1_8_partitions_grow_only(wire: Line, name: str) -> None:
    create(wire, name, 2)
    for version in range(4):
        counts = (2, 1, 0, -1, 3 + version)
        answers = [
            wire.ask(
                CreatePartitionsRequest([CreatePartitionsRequestTopic(name, count)], 1000),
                CreatePartitionsResponse,
                version,
            ).results[0]
            for count in counts
        ]
        assert [each.error_code for each in answers] == [ErrorCode.INVALID_PARTITIONS] * 4 + [0]
    assert len(describe(wire, name).partitions) == 6


def test_5_1_8_deletion_may_be_forbidden(tmp_path: Path, name: str) -> None:
    node = Node(tmp_path / "data", {"delete.topic.enable": "false"})
    with line(node) as wire:
        create(wire, name)
        asked = DeleteTopicsRequest(topics=[DeleteTopicsRequestTopic(name)])
        (answer,) = wire.ask(asked, DeleteTopicsResponse, 6).responses
        assert answer.error_code == ErrorCode.TOPIC_DELETION_DISABLED
        assert describe(wire, name).error_code == 0
    node.close()


def test_4_1_create_topics_tells_configs_with_their_sources(wire: Line, name: str) -> None:
    """Never null, and no source below 0: Java's admin client and Connect fail on both."""
    topic = CreateTopicsRequestTopic(name, 2, 1, configs=[CreateTopicsRequestConfig("retention.ms", "5")])
    for validate_only in (True, False):
        (answer,) = wire.ask(CreateTopicsRequest([topic], 0, validate_only), CreateTopicsResponse, 7).topics
        assert (answer.num_partitions, answer.replication_factor) == (2, 1)
        assert answer.configs is not None
        told = {config.name: config for config in answer.configs}
        assert (told["retention.ms"].value, told["retention.ms"].config_source) == ("5", 1)
        assert min(config.config_source for config in answer.configs) > 0
        assert len(told) >= 20


def test_4_5_deleted_topics_are_answered_in_order(wire: Line, name: str) -> None:
    names = [f"{name}-{i}" for i in range(5)]
    for each in names[::2]:
        create(wire, each)
    for version in (1, 5):
        answer = wire.ask(DeleteTopicsRequest(topic_names=names), DeleteTopicsResponse, version)
        assert [each.name for each in answer.responses] == names
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        there = 0 if version == 1 else unknown
        assert [each.error_code for each in answer.responses] == [there, unknown, there, unknown, there]


def test_4_5_grown_topics_are_answered_in_order(wire: Line, name: str) -> None:
    names = [f"{name}-{i}" for i in range(5)]
    for each in names[::2]:
        create(wire, each)
    for version in range(4):
        asked = [CreatePartitionsRequestTopic(each, 2 + version) for each in names]
        answer = wire.ask(CreatePartitionsRequest(asked, 1000), CreatePartitionsResponse, version)
        assert [each.name for each in answer.results] == names
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [each.error_code for each in answer.results] == [0, unknown, 0, unknown, 0]


def test_4_2_described_partitions_have_no_null_lists(wire: Line, name: str) -> None:
    create(wire, name, 3)
    asked = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequestTopic(name)])
    (topic,) = wire.ask(asked, DescribeTopicPartitionsResponse, 0).topics
    assert [(each.eligible_leader_replicas, each.last_known_elr) for each in topic.partitions] == [
        ([], [])
    ] * 3


def test_5_1_4_what_one_may_do_is_told_if_asked(wire: Line, name: str) -> None:
    """Everything: Java shows null, and some consoles nothing at all, where nothing is told."""
    create(wire, name)
    for version in range(8, 14):
        asked = MetadataRequest(named(name, "no-such-topic"), False, version <= 10, True)
        answer = wire.ask(asked, MetadataResponse, version)
        known, unknown = answer.topics
        assert known.topic_authorized_operations == ON_TOPIC
        assert unknown.topic_authorized_operations == NOT_TOLD
        assert answer.cluster_authorized_operations == (ON_CLUSTER if version <= 10 else NOT_TOLD)
        silent = wire.ask(MetadataRequest(named(name)), MetadataResponse, version)
        assert silent.topics[0].topic_authorized_operations == NOT_TOLD
    for version in range(3):
        told = wire.ask(DescribeClusterRequest(True), DescribeClusterResponse, version)
        assert told.cluster_authorized_operations == ON_CLUSTER
