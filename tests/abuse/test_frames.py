"""Frames and requests that no client of good will sends: closed, named in the log, nobody else hurt."""

import struct
import threading
import time

import psutil
import pytest
from tests.abuse.raw import Raw, batch, create, produce_request, produced
from tests.support.server import Server

from millstream.errors import ErrorCode
from millstream.wire.apis import APIS, RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.message import read_message
from millstream.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsRequestResource
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

pytestmark = pytest.mark.system


def header(key: int, version: int, correlation_id: int = 1) -> bytes:
    out = bytearray()
    RequestHeader(key, version, correlation_id, "abuse").write(out)
    return bytes(out)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def rss(server: Server) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)


def logged(server: Server, text: str) -> bool:
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        if any(text in line for line in server.log):
            return True
        time.sleep(0.02)  # the log arrives through a pipe: there is nothing else to wait for
    return False


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 7, (32 << 20) + 1, 2**31 - 1])
def test_1_an_illegal_length_is_closed_before_anything_is_allocated(server: Server, size: int) -> None:
    before = rss(server)
    for _ in range(50):
        with Raw(server.port) as raw:
            raw.send(struct.pack(">i", size) + b"x" * 16)
            assert raw.is_closed()
    assert rss(server) - before < 20 << 20


def test_1_a_large_length_alone_costs_no_memory(server: Server) -> None:
    before = rss(server)
    raws = [Raw(server.port) for _ in range(50)]
    for raw in raws:
        raw.send(struct.pack(">i", 32 << 20) + b"\x00\x00\x00\x09")
    with Raw(server.port) as probe:
        create(probe, "probe")
        assert produced(probe, "probe", batch())[0] == ErrorCode.NONE
    grown = rss(server) - before
    for raw in raws:
        raw.socket.close()
    assert grown < 80 << 20  # a first megabyte each at the most, never the 32 that were announced


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "looks like HTTP"),
        (b"POST /topics HTTP/1.1\r\n\r\n", "looks like HTTP"),
        (bytes.fromhex("16030100c8010000c40303") + bytes(200), "looks like TLS"),
        (b"\xff\xfe\xfd\xfc garbage", "not negative"),
    ],
)
def test_2_other_protocols_are_closed_and_named(server: Server, data: bytes, cause: str) -> None:
    for _ in range(20):  # a flood of such lines is counted rather than logged: then ask again
        with Raw(server.port) as raw:
            raw.send(data)
            assert raw.is_closed()
        if logged(server, cause):
            return
    raise AssertionError(server.log[-5:])


def test_3_an_unknown_key_is_closed(server: Server) -> None:
    for key in (-1, 4, 17, 27, 48, 999, 32767):
        with Raw(server.port) as raw:
            raw.send(framed(header(key, 0)))
            assert raw.is_closed()


def test_3_an_unknown_version_is_closed_but_api_versions_answers_in_version_0(server: Server) -> None:
    for key in (0, 1, 3, 11):
        for version in (-1, APIS[key].max + 1, 32767):
            with Raw(server.port) as raw:
                raw.send(framed(header(key, version) + bytes(32)))
                assert raw.is_closed()
    with Raw(server.port) as raw:
        raw.send(framed(header(18, 99) + bytes(8)))
        response = read_message(ApiVersionsResponse, raw.frame()[4:], 0)
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
        (own,) = [api for api in response.api_keys if api.api_key == 18]
        assert (own.min_version, own.max_version) == (0, 4)
        again = raw.ask(ApiVersionsRequest("test", "1.0"), 4)  # and the connection lives on
        assert isinstance(again, ApiVersionsResponse)
        assert again.error_code == ErrorCode.NONE


def test_4_a_body_cut_short_or_too_long_is_closed(server: Server) -> None:
    whole = header(3, 9) + b"\x02\x02t\x00\x01\x00\x00\x00"
    for end in range(len(header(3, 9)), len(whole) - 1):
        with Raw(server.port) as raw:
            raw.send(framed(whole[:end]))
            assert raw.is_closed()
    with Raw(server.port) as raw:
        raw.send(framed(header(60, 0) + b"\x00\x00" + b"\x00"))
        assert raw.is_closed()


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xff\xff\xff\x0f",  # 2^32 - 2 topics
        b"\xff\xff\xff\xff\xff\x01",  # a varint of six bytes
        b"\x02\xff\xff\xff\x7f",  # a name of 2^28 bytes
        b"\x02\x03\xc3\x28\x00\x01\x00\x00\x00",  # a name that is no UTF-8
        b"\x02\x02t\x00\x01\x00\x00\x02\x05\x00\x05\x00",  # one tag twice
    ],
)
def test_4_lengths_are_not_believed(server: Server, body: bytes) -> None:
    before = rss(server)
    for _ in range(100):
        with Raw(server.port) as raw:
            raw.send(framed(header(3, 9) + body))
            assert raw.is_closed()
    assert rss(server) - before < 20 << 20


def test_4_unknown_tagged_fields_are_skipped(server: Server) -> None:
    with Raw(server.port) as raw:
        raw.send(framed(header(18, 3) + b"\x02a\x021" + b"\x01\x63\x03abc"))
        assert read_message(ApiVersionsResponse, raw.frame()[4:], 3).error_code == ErrorCode.NONE


def test_5_metadata_of_very_many_topics_is_answered_while_others_are_served(server: Server) -> None:
    many = MetadataRequest(
        topics=[MetadataRequestTopic(name=f"none-{n}") for n in range(100_000)],
        allow_auto_topic_creation=False,
    )
    with Raw(server.port, timeout=120) as raw, Raw(server.port) as probe:
        raw.send(request_frame(RequestHeader(3, 9, 7, "many"), many))
        create(probe, "probe5")
        for _ in range(20):
            assert produced(probe, "probe5", batch())[0] == ErrorCode.NONE
        response = read_message(MetadataResponse, raw.frame()[5:], 9)
        assert len(response.topics) == 100_000
        assert {topic.error_code for topic in response.topics} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_5_more_than_that_is_refused(server: Server) -> None:
    with Raw(server.port, timeout=120) as raw:
        many = MetadataRequest(topics=[MetadataRequestTopic(name=f"n{n}") for n in range(100_001)])
        raw.send(request_frame(RequestHeader(3, 9, 7, "many"), many))
        assert raw.is_closed()


def test_5_a_fetch_of_very_many_partitions_is_answered_while_others_are_served(server: Server) -> None:
    partitions = [FetchRequestPartition(index, partition_max_bytes=1) for index in range(200_000)]
    many = FetchRequest(max_wait_ms=100, topics=[FetchRequestTopic("none", partitions=partitions)])
    with Raw(server.port, timeout=120) as raw, Raw(server.port) as probe:
        raw.send(request_frame(RequestHeader(1, 11, 7, "many"), many))
        create(probe, "probe5")
        for _ in range(20):
            assert produced(probe, "probe5", batch())[0] == ErrorCode.NONE
        response = read_message(FetchResponse, raw.frame()[4:], 11)
        assert len(response.responses[0].partitions) == 200_000


def test_5_more_objects_than_any_request_has_are_refused(server: Server) -> None:
    partitions = struct.pack(">iiqqi", 0, -1, 0, -1, 1) * 1_000_001
    body = (
        struct.pack(">iiiibii", -1, 0, 0, 1, 0, 0, -1)
        + struct.pack(">ih1si", 1, 1, b"t", 1_000_001)
        + partitions
    )
    with Raw(server.port, timeout=120) as raw:
        raw.send(framed(header(1, 11) + body + struct.pack(">ih", 0, 0)))
        assert raw.is_closed()


def test_5_describing_everything_at_once_stays_bounded(server: Server) -> None:
    resources = [DescribeConfigsRequestResource(4, "1", None) for _ in range(1_000)]
    with Raw(server.port, timeout=120) as raw, Raw(server.port) as probe:
        raw.send(request_frame(RequestHeader(32, 4, 7, "many"), DescribeConfigsRequest(resources)))
        create(probe, "probe5")
        assert produced(probe, "probe5", batch())[0] == ErrorCode.NONE
        assert raw.frame()


def test_6_replies_nobody_reads_stop_the_reading(server: Server) -> None:
    before = rss(server)
    with Raw(server.port, timeout=2) as raw:
        request = bytes(request_frame(RequestHeader(18, 3, 1, "flood"), ApiVersionsRequest("a", "1")))
        sent = 0
        try:
            while sent < 400_000:
                raw.send(request * 100)
                sent += 100
        except (TimeoutError, ConnectionError):
            pass
        assert sent < 400_000, "the server read all of it"
        assert rss(server) - before < 40 << 20


def test_6_ten_thousand_pipelined_requests_are_answered_in_order(server: Server) -> None:
    with Raw(server.port) as raw:
        frames = bytearray()
        for number in range(10_000):
            frames += request_frame(RequestHeader(18, 0, number, "p"), ApiVersionsRequest())
        sender = threading.Thread(target=raw.send, args=(bytes(frames),))
        sender.start()
        numbers = [struct.unpack_from(">i", raw.frame())[0] for _ in range(10_000)]
        sender.join()
        assert numbers == list(range(10_000))


def test_a_frame_may_arrive_byte_by_byte(server: Server) -> None:
    with Raw(server.port) as raw:
        frame = request_frame(RequestHeader(18, 3, 5, "slow"), ApiVersionsRequest("a", "1"))
        for byte in bytes(frame):
            raw.send(bytes([byte]))
        assert struct.unpack_from(">i", raw.frame())[0] == 5


def test_frames_of_all_sizes_may_be_cut_anywhere(server: Server) -> None:
    """Small, middle and large frames back to back, sent in pieces that respect no boundary."""
    sizes = [10, 300_000, 1, 70_000, 5, 900_000, 262_130, 262_144, 20]
    with Raw(server.port) as raw:
        create(raw, "cut")
        stream = bytearray()
        for number, size in enumerate(sizes):
            stream += request_frame(
                RequestHeader(0, 9, number, "cut"), produce_request("cut", batch(b"x" * size))
            )
        at = 0
        for step in [1, 3, 1000, 65536, 262_144, 7, 500_000, len(stream)]:
            raw.send(bytes(stream[at : at + step]))
            at += step
        assert [struct.unpack_from(">i", raw.frame())[0] for _ in sizes] == list(range(len(sizes)))
