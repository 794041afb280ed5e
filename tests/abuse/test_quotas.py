"""Quotas at the Kafka door: told to wait, and made to, while others go on; and kept across a restart."""

import time
from pathlib import Path

import pytest
from tests.abuse.raw import Raw, batch, create, produce_request
from tests.support.server import Server

from millstream.errors import ErrorCode
from millstream.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntity,
    AlterClientQuotasRequestEntry,
    AlterClientQuotasRequestOp,
    AlterClientQuotasResponse,
)
from millstream.wire.messages.api_versions import ApiVersionsRequest
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasRequestComponent,
    DescribeClientQuotasResponse,
)
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from millstream.wire.messages.produce import ProduceResponse

pytestmark = pytest.mark.system


def set_quota(raw: Raw, kind: str, name: str | None, **values: float) -> ErrorCode:
    entity = [AlterClientQuotasRequestEntity(kind, name)]
    ops = [AlterClientQuotasRequestOp(key, value) for key, value in values.items()]
    response = raw.ask(AlterClientQuotasRequest([AlterClientQuotasRequestEntry(entity, ops)]), 1)
    assert isinstance(response, AlterClientQuotasResponse)
    return ErrorCode(response.entries[0].error_code)


@pytest.mark.rule("5.12.4")
def test_a_producer_over_its_rate_waits_and_others_do_not(tmp_path: Path) -> None:
    with (
        Server(tmp_path, {"flush.policy": "os"}) as server,
        Raw(server.port) as raw,
        Raw(server.port) as other,
    ):
        create(raw, "t")
        assert set_quota(raw, "client-id", "raw", producer_byte_rate=50_000) is ErrorCode.NONE
        waits = []
        started = time.monotonic()
        for _ in range(3):
            response = raw.ask(produce_request("t", batch(b"x" * 50_000)), 9)
            assert isinstance(response, ProduceResponse)
            assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
            waits.append(response.throttle_time_ms)
            other.ask(ApiVersionsRequest("a", "1"), 3)
        raw.ask(ApiVersionsRequest("a", "1"), 3)
        assert waits[0] < 50
        assert all(500 < wait < 2500 for wait in waits[1:])
        assert time.monotonic() - started > 1.8, "it was told to wait, but not made to"


@pytest.mark.rule("5.12.4")
def test_a_consumer_over_its_rate_waits(tmp_path: Path) -> None:
    with Server(tmp_path, {"flush.policy": "os"}) as server, Raw(server.port) as raw:
        create(raw, "t")
        for _ in range(3):
            raw.ask(produce_request("t", batch(b"x" * 50_000)), 9)
        assert set_quota(raw, "user", "ANONYMOUS", consumer_byte_rate=100_000) is ErrorCode.NONE
        asked = FetchRequestPartition(0, partition_max_bytes=1 << 20)
        fetch = FetchRequest(max_bytes=1 << 20, topics=[FetchRequestTopic("t", partitions=[asked])])
        first = raw.ask(fetch, 11)
        assert isinstance(first, FetchResponse)
        assert 400 < first.throttle_time_ms < 700


@pytest.mark.rule("5.12.4")
def test_changes_of_topics_are_refused_over_their_rate(tmp_path: Path) -> None:
    with Server(tmp_path) as server, Raw(server.port) as raw:
        assert set_quota(raw, "user", None, controller_mutation_rate=5) is ErrorCode.NONE

        def made(name: str, partitions: int, version: int) -> tuple[ErrorCode, int]:
            response = raw.ask(CreateTopicsRequest([CreateTopicsRequestTopic(name, partitions, 1)]), version)
            assert isinstance(response, CreateTopicsResponse)
            return ErrorCode(response.topics[0].error_code), response.throttle_time_ms

        assert made("a", 5, 7) == (ErrorCode.NONE, 0)
        code, wait_ms = made("b", 5, 7)
        assert code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert wait_ms > 500
        code, wait_ms = made("c", 5, 5)  # an old client would not understand: it is let in, and waits
        assert code is ErrorCode.NONE
        assert wait_ms > 500


@pytest.mark.rule("5.12.4")
def test_quotas_are_described_checked_and_kept_across_a_restart(tmp_path: Path) -> None:
    question = DescribeClientQuotasRequest(
        [DescribeClientQuotasRequestComponent("user", 2, None)], strict=True
    )
    with Server(tmp_path) as server, Raw(server.port) as raw:
        assert set_quota(raw, "user", "ann", producer_byte_rate=1000, request_percentage=50) is ErrorCode.NONE
        assert set_quota(raw, "user", "ann", no_such_quota=1) is ErrorCode.INVALID_REQUEST
        assert set_quota(raw, "user", "ann", producer_byte_rate=-1) is ErrorCode.INVALID_REQUEST
        assert set_quota(raw, "planet", "x", producer_byte_rate=1) is ErrorCode.INVALID_REQUEST
        empty = raw.ask(DescribeClientQuotasRequest([DescribeClientQuotasRequestComponent("ip", 2, None)]), 1)
        assert isinstance(empty, DescribeClientQuotasResponse)
        assert empty.entries == []
    with Server(tmp_path) as server, Raw(server.port) as raw:
        response = raw.ask(question, 1)
        assert isinstance(response, DescribeClientQuotasResponse)
        assert response.entries is not None
        (entry,) = response.entries
        assert [(part.entity_type, part.entity_name) for part in entry.entity] == [("user", "ann")]
        assert {value.key: value.value for value in entry.values} == {
            "producer_byte_rate": 1000.0,
            "request_percentage": 50.0,
        }
