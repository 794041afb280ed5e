"""Frames, headers and versions: kafka-compat §3, by its numbers."""

import struct

import pytest
from tests.compat.node import Node
from tests.compat.protocol.asking import batch, create, fetching, part, producing
from tests.compat.protocol.line import Line, line

from millstream.errors import ErrorCode
from millstream.wire.apis import APIS
from millstream.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.wire.messages.fetch import FetchResponse
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.wire.messages.list_groups import ListGroupsRequest
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from millstream.wire.messages.produce import ProduceRequest

METADATA = 3
API_VERSIONS = 18
NO_TOPICS = MetadataRequest(topics=[])
# What librdkafka 2.16 sends to ask for all topics: the count of an array as four bytes, where one is due.
ALL_TOPICS_OF_LIBRDKAFKA = b"\x00\x00\x00\x00" + b"\x00\x00\x00"


def known(answer: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}


@pytest.mark.parametrize("size", [-1, 0, 7, 104857601, 2**31 - 1])
def test_3_1_a_frame_of_a_size_that_cannot_be_closes(wire: Line, size: int) -> None:
    wire.send_bytes(struct.pack(">i", size) + b"1234567")
    assert wire.is_closed()


def test_3_1_headers_differ_by_version_but_those_of_api_versions(wire: Line) -> None:
    """`ask` reads the header that is due and refuses stray bytes, so it is enough to be answered."""
    for version in range(5):
        asked = ApiVersionsRequest(client_software_name="line", client_software_version="1")
        assert wire.ask(asked, ApiVersionsResponse, version).error_code == 0
    for version in range(14):
        assert wire.ask(NO_TOPICS, MetadataResponse, version).brokers


def test_3_1_a_client_need_not_give_its_name(wire: Line) -> None:
    assert wire.answer(MetadataResponse, 9, wire.send(NO_TOPICS, 9, client_id=None)).brokers


def test_3_2_answers_leave_in_the_order_of_requests(wire: Line, name: str) -> None:
    """Requests that are answered at once stand behind one that waits."""
    create(wire, name)
    first = wire.send(fetching(name, part(), wait_ms=300), 11)
    others = [wire.send(NO_TOPICS, 9), wire.send(HeartbeatRequest(), 0), wire.send(NO_TOPICS, 1)]

    assert wire.answer(FetchResponse, 11, first).error_code == 0
    wire.answer(MetadataResponse, 9, others[0])
    wire.answer(HeartbeatResponse, 0, others[1])
    wire.answer(MetadataResponse, 1, others[2])


def test_3_3_a_version_of_api_versions_that_nobody_knows_is_answered_in_version_0(wire: Line) -> None:
    asked = wire.send_body(API_VERSIONS, 99, b"who knows what this is")
    answer = wire.answer(ApiVersionsResponse, 0, asked)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert known(answer)[API_VERSIONS] == (0, 4)

    again = ApiVersionsRequest(client_software_name="line", client_software_version="1")
    assert wire.ask(again, ApiVersionsResponse, 4).error_code == 0


@pytest.mark.parametrize(
    ("key", "version"), [(METADATA, 14), (METADATA, -1), (0, 2), (4, 0), (999, 0), (-1, 0)]
)
def test_3_3_any_other_unknown_key_or_version_closes(wire: Line, key: int, version: int) -> None:
    wire.send_body(key, version, bytes(16))
    assert wire.is_closed()


@pytest.mark.parametrize("software", ["", "-x", "x-", "x y", "ü", "a" * 10 + "\n"])
def test_3_4_the_name_of_the_clients_software_must_be_well_formed(wire: Line, software: str) -> None:
    for name, version in ((software, "1"), ("x", software)):
        asked = ApiVersionsRequest(client_software_name=name, client_software_version=version)
        assert wire.ask(asked, ApiVersionsResponse, 3).error_code == ErrorCode.INVALID_REQUEST
    good = ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.3.0")
    assert wire.ask(good, ApiVersionsResponse, 3).error_code == 0


def test_3_5_every_key_that_is_listed_is_served(node: Node) -> None:
    """A request with nothing in it is answered in each version, or its key would not be listed."""
    with line(node) as wire:
        listed = known(wire.ask(ApiVersionsRequest(), ApiVersionsResponse, 0))
    assert {key: each for key, each in listed.items() if key != 0} == {
        key: (APIS[key].min, APIS[key].max) for key in listed if key != 0
    }
    assert listed[0] == (0, 13)  # from 0, or old librdkafka stops to compress
    for key, (_, newest) in listed.items():
        for version in range(APIS[key].min, newest + 1):
            with line(node) as wire:
                request = APIS[key].request()
                if isinstance(request, ProduceRequest):
                    request.acks = 1
                wire.answer(APIS[key].response, version, wire.send(request, version))


def test_3_7_unknown_tagged_fields_are_skipped(wire: Line) -> None:
    tags = b"\x02" + b"\x2a\x03abc" + b"\xff\x01\x00"  # 42: three bytes, 255: none
    asked = wire.send_body(METADATA, 9, b"\x01" + b"\x00\x00\x00" + tags)
    assert wire.answer(MetadataResponse, 9, asked).brokers


def test_3_7_stray_bytes_close_but_those_of_librdkafka(wire: Line, name: str) -> None:
    create(wire, name)
    for version in (11, 12, 13):
        asked = wire.send_body(METADATA, version, ALL_TOPICS_OF_LIBRDKAFKA)
        assert name in {each.name for each in wire.answer(MetadataResponse, version, asked).topics}

    wire.send_body(ListGroupsRequest.KEY, 3, b"\x00" + b"\x00\x00\x00")
    assert wire.is_closed()


def test_3_9_acks_0_has_no_answer(wire: Line, name: str) -> None:
    create(wire, name)
    wire.send(producing(name, {0: batch(b"x")}, acks=0), 9)
    assert wire.ask(MetadataRequest([MetadataRequestTopic(name=name)]), MetadataResponse, 9).topics


def test_3_9_acks_0_with_an_error_closes(wire: Line, name: str) -> None:
    wire.send(producing(name, {0: batch(b"x")}, acks=0), 9)
    assert wire.is_closed()


def test_3_10_advertises_where_the_client_came_in(node: Node, wire: Line) -> None:
    (broker,) = wire.ask(NO_TOPICS, MetadataResponse, 9).brokers
    assert (broker.host, broker.port) == ("127.0.0.1", node.port)
