"""Configs: kafka-compat §5.1.9 and 10, and what §4 says of DescribeConfigs."""

import pytest
from tests.compat.protocol.asking import create
from tests.compat.protocol.line import Line

from millstream.errors import ErrorCode
from millstream.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsRequestConfig,
    AlterConfigsRequestResource,
    AlterConfigsResponse,
)
from millstream.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasRequestComponent,
    DescribeClientQuotasResponse,
)
from millstream.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsRequestResource,
    DescribeConfigsResponse,
    DescribeConfigsResponseConfig,
)
from millstream.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestConfig,
    IncrementalAlterConfigsRequestResource,
    IncrementalAlterConfigsResponse,
)

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}


def describe(
    wire: Line, name: str, type: int = TOPIC, keys: list[str] | None = None, version: int = 4
) -> dict[str, DescribeConfigsResponseConfig]:
    asked = DescribeConfigsRequestResource(type, name, keys)
    request = DescribeConfigsRequest([asked], include_synonyms=True, include_documentation=True)
    (answer,) = wire.ask(request, DescribeConfigsResponse, version).results
    assert answer.error_code == 0, answer.error_message
    return {config.name: config for config in answer.configs}


def change(wire: Line, name: str, *changes: tuple[str, int, str | None], version: int = 1) -> int:
    configs = [IncrementalAlterConfigsRequestConfig(*each) for each in changes]
    request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsRequestResource(TOPIC, name, configs)])
    (answer,) = wire.ask(request, IncrementalAlterConfigsResponse, version).responses
    assert bool(answer.error_message) == bool(answer.error_code)
    return answer.error_code


def value(wire: Line, name: str, config: str) -> str | None:
    return describe(wire, name, keys=[config])[config].value


def test_5_1_10_defaults_that_tools_look_at(wire: Line, name: str) -> None:
    create(wire, name)
    for version in range(1, 5):
        told = describe(wire, name, version=version)
        assert {config: told[config].value for config in DEFAULTS} == DEFAULTS
        assert all(config.config_source > 0 and not config.is_sensitive for config in told.values())
    assert all(config.documentation and config.config_type > 0 for config in told.values())


def test_4_10_every_config_is_told_where_it_comes_from(wire: Line, name: str) -> None:
    create(wire, name, configs={"retention.ms": "5"})
    told = describe(wire, name)
    assert [(each.name, each.value) for each in told["retention.ms"].synonyms] == [
        ("retention.ms", "5"),
        ("log.retention.ms", "604800000"),
    ]
    broker = describe(wire, "1", BROKER)
    assert broker["log.retention.ms"].value == "604800000"
    assert broker["group.initial.rebalance.delay.ms"].value == "0"
    assert broker["node.id"].read_only


def test_5_1_9_some_are_asked_for(wire: Line, name: str) -> None:
    create(wire, name)
    assert list(describe(wire, name, keys=["retention.ms", "no.such.config"])) == ["retention.ms"]
    assert len(describe(wire, name, keys=None)) == len(describe(wire, name, keys=[])) > 15


def test_5_1_9_what_makes_no_sense_changes_nothing(wire: Line, name: str) -> None:
    create(wire, name)
    good = ("segment.ms", SET, "5000")
    for bad in (
        ("no.such.config", SET, "1"),
        ("retention.ms", SET, "soon"),
        ("retention.ms", SET, None),
        ("retention.ms", APPEND, "5"),
        ("cleanup.policy", SET, "burn"),
        ("min.cleanable.dirty.ratio", SET, "1.5"),
    ):
        for version in (0, 1):
            assert change(wire, name, good, bad, version=version) == ErrorCode.INVALID_CONFIG, bad
    assert change(wire, name, good, good) == ErrorCode.INVALID_REQUEST
    assert change(wire, name, ("retention.ms", 9, "5")) == ErrorCode.INVALID_REQUEST
    assert change(wire, "no-such-topic", good) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert value(wire, name, "segment.ms") == DEFAULTS["segment.ms"]


def test_5_1_9_lists_grow_and_shrink(wire: Line, name: str) -> None:
    create(wire, name)
    steps: list[tuple[int, str | None, str]] = [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (DELETE, None, "delete"),
    ]
    for operation, given, expected in steps:
        assert change(wire, name, ("cleanup.policy", operation, given)) == 0
        assert value(wire, name, "cleanup.policy") == expected


@pytest.mark.parametrize("version", [0, 1, 2])
def test_5_1_9_alter_replaces_all(wire: Line, name: str, version: int) -> None:
    create(wire, name, configs={"retention.ms": "5", "segment.ms": "6"})

    def alter(config: str, value: str | None, validate_only: bool = False) -> int:
        given = AlterConfigsRequestResource(TOPIC, name, [AlterConfigsRequestConfig(config, value)])
        request = AlterConfigsRequest([given], validate_only)
        return wire.ask(request, AlterConfigsResponse, version).responses[0].error_code

    assert alter("retention.ms", "7", validate_only=True) == 0
    assert value(wire, name, "retention.ms") == "5"
    assert alter("no.such.config", "7") == ErrorCode.INVALID_CONFIG
    assert alter("retention.ms", "7") == 0
    assert (value(wire, name, "retention.ms"), value(wire, name, "segment.ms")) == ("7", "604800000")


def test_5_1_9_resources_that_have_no_configs_here(wire: Line) -> None:
    asked = [DescribeConfigsRequestResource(type, "x") for type in (0, 8, 16, 99)]
    answers = wire.ask(DescribeConfigsRequest(asked), DescribeConfigsResponse, 4).results
    assert {answer.error_code for answer in answers} == {ErrorCode.INVALID_REQUEST}
    (other,) = wire.ask(
        DescribeConfigsRequest([DescribeConfigsRequestResource(BROKER, "7")]), DescribeConfigsResponse, 4
    ).results
    assert other.error_code == ErrorCode.INVALID_REQUEST


def test_4_3_no_quotas_are_an_empty_list(wire: Line, name: str) -> None:
    """Null would say that something is wrong, and Java fails on it."""
    nobody = DescribeClientQuotasRequestComponent("client-id", match_type=0, match=name)
    for version in (0, 1):
        answer = wire.ask(DescribeClientQuotasRequest([nobody]), DescribeClientQuotasResponse, version)
        assert (answer.error_code, answer.entries) == (0, [])


def change_group(wire: Line, name: str, *changes: tuple[str, int, str | None]) -> int:
    configs = [IncrementalAlterConfigsRequestConfig(*each) for each in changes]
    request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsRequestResource(GROUP, name, configs)])
    return wire.ask(request, IncrementalAlterConfigsResponse, 1).responses[0].error_code


def test_5_8_6_groups_have_configs_of_their_own(wire: Line, name: str) -> None:
    """Also one that does not exist yet; within the bounds that the broker has for all."""
    session, interval = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
    told = describe(wire, name, GROUP)
    assert {each.name: each.value for each in told.values()} == {session: "45000", interval: "5000"}
    assert change_group(wire, name, (session, SET, "50000")) == 0
    told = describe(wire, name, GROUP)
    assert (told[session].value, told[session].config_source) == ("50000", 8)
    assert [each.name for each in told[session].synonyms] == [session, f"group.{session}"]
    for bad in ("44999", "60001", "soon"):
        assert change_group(wire, name, (session, SET, bad)) == ErrorCode.INVALID_CONFIG
    assert change_group(wire, name, ("retention.ms", SET, "1")) == ErrorCode.INVALID_CONFIG
    assert change_group(wire, "", (session, SET, "50000")) == ErrorCode.INVALID_REQUEST
    assert change_group(wire, name, (session, DELETE, None)) == 0
    assert describe(wire, name, GROUP)[session].value == "45000"


def test_a_config_that_was_never_heard_of_can_be_deleted(wire: Line, name: str) -> None:
    """MirrorMaker deletes what is default at its source, kafka-reassign-partitions deletes throttles."""
    create(wire, name, configs={"retention.ms": "1000"})
    assert change(wire, name, ("preallocate", DELETE, None), ("retention.ms", DELETE, None)) == 0
    assert value(wire, name, "retention.ms") == DEFAULTS["retention.ms"]
    assert change(wire, name, ("preallocate", SET, "true")) == ErrorCode.INVALID_CONFIG
