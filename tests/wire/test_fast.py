"""The shortcuts say what the generated code says."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.strategies import encode, filled, messages

from millstream.errors import Refused
from millstream.wire.apis import APIS, read_response_header
from millstream.wire.fast import Produced, fetch_frame_pieces, fetch_response_pieces, read_produce
from millstream.wire.message import read_message
from millstream.wire.messages.fetch import FetchResponse
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
)
from millstream.wire.primitives import Piece, Reader

PRODUCE, FETCH = APIS[0], APIS[1]

usual = st.builds(
    ProduceRequest,
    acks=st.sampled_from([0, 1, -1]),
    timeout_ms=st.integers(0, 60000),
    topic_data=st.lists(
        st.builds(
            ProduceRequestTopicData,
            name=st.text(max_size=5),
            partition_data=st.lists(
                st.builds(
                    ProduceRequestPartitionData,
                    index=st.integers(0, 9),
                    records=st.sampled_from([b"", b"x", bytes(126), bytes(127), bytes(16383), bytes(20000)]),
                ),
                min_size=1,
                max_size=4,
            ),
        ),
        min_size=1,
        max_size=1,
    ),
)


@pytest.mark.parametrize("version", range(PRODUCE.min, PRODUCE.max + 1))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_produce_request_reads_the_same_both_ways(version: int, data: st.DataObject) -> None:
    request = data.draw(usual | messages(PRODUCE, "request", version))
    body = encode(request, version)
    assert read_produce(memoryview(body), version) == slowly(body, version)


@pytest.mark.parametrize("version", [3, 8, 9, 12, 13])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_what_one_way_refuses_so_does_the_other(version: int, data: st.DataObject) -> None:
    body = bytearray(encode(data.draw(usual), version))
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=2)):
        body[place] = data.draw(st.sampled_from([0, 1, 2, 127, 128, 255]))
    del body[data.draw(st.integers(0, len(body))) :]
    body += data.draw(st.sampled_from([b"", b"\0"]))
    assert read_produce_or_none(bytes(body), version) == slowly_or_none(bytes(body), version)


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize("partitions", [0, 1, 2])
def test_one_byte_changed_is_read_or_refused_alike(version: int, partitions: int) -> None:
    parts = [ProduceRequestPartitionData(index, b"records") for index in range(partitions)]
    whole = encode(ProduceRequest(topic_data=[ProduceRequestTopicData("t", bytes(16), parts)]), version)
    for place in range(len(whole)):
        for byte in (0, 1, 2, 3, 127, 128, 255):
            body = whole[:place] + bytes([byte]) + whole[place + 1 :]
            assert read_produce_or_none(body, version) == slowly_or_none(body, version), (place, byte)


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize("count", [0, 126, 127, 128, 1000])
def test_many_partitions(version: int, count: int) -> None:
    parts = [ProduceRequestPartitionData(index, bytes(70)) for index in range(count)]
    body = encode(ProduceRequest(topic_data=[ProduceRequestTopicData("t", bytes(range(16)), parts)]), version)
    assert read_produce(memoryview(body), version) == slowly(body, version)


@pytest.mark.parametrize("version", [2, 14])
def test_versions_we_do_not_serve_are_refused(version: int) -> None:
    with pytest.raises(Refused):
        read_produce(memoryview(encode(filled(PRODUCE, "request", 3), 3)), version)


def test_records_are_not_copied() -> None:
    parts = [ProduceRequestPartitionData(0, b"records")]
    body = bytearray(
        encode(ProduceRequest(topic_data=[ProduceRequestTopicData("t", partition_data=parts)]), 9)
    )
    records = read_produce(memoryview(body), 9)[3][0][2]
    assert isinstance(records, memoryview)
    records[0:1] = b"R"
    assert b"Records" in body


@pytest.mark.parametrize("version", range(FETCH.min, FETCH.max + 1))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_pieces_joined_are_what_is_written_at_once(version: int, data: st.DataObject) -> None:
    response = data.draw(messages(FETCH, "response", version))
    assert isinstance(response, FetchResponse)
    whole = encode(response, version)
    put_elsewhere(response, data.draw(st.randoms(use_true_random=False)))

    assert joined(fetch_response_pieces(response, version)) == whole


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_a_frame_in_pieces_says_its_size(version: int) -> None:
    response = filled(FETCH, "response", version)
    assert isinstance(response, FetchResponse)
    whole = encode(response, version)
    for topic in response.responses:
        for partition in topic.partitions:
            assert isinstance(partition.records, bytes)
            partition.records = Range(partition.records)

    pieces = fetch_frame_pieces(response, version, 42)
    assert sum(isinstance(piece, Range) for piece in pieces) == 4
    frame = joined(pieces)
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    reader = Reader(frame, 4)
    assert read_response_header(reader, FETCH.key, version) == 42
    assert reader.data[reader.position :] == whole


def test_small_records_are_copied_and_large_ones_are_not() -> None:
    response = filled(FETCH, "response", 12)
    assert isinstance(response, FetchResponse)
    partition = response.responses[0].partitions[0]
    assert len(fetch_response_pieces(response, 12)) == 1
    partition.records = large = memoryview(bytes(100_000))
    assert any(piece is large for piece in fetch_response_pieces(response, 12))


class Range:
    """Stands for a range of a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)


def put_elsewhere(response: FetchResponse, random: Any) -> None:
    for topic in response.responses:
        for partition in topic.partitions:
            if isinstance(partition.records, bytes) and random.random() < 0.5:
                partition.records = Range(partition.records)


def joined(pieces: list[Piece]) -> bytes:
    return b"".join(piece.data if isinstance(piece, Range) else bytes(piece) for piece in pieces)  # type: ignore[arg-type]


def slowly(body: bytes, version: int) -> Produced:
    request = read_message(ProduceRequest, body, version)
    return (
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        [
            (topic.topic_id if version >= 13 else topic.name, partition.index, partition.records)
            for topic in request.topic_data
            for partition in topic.partition_data
        ],
    )


def slowly_or_none(body: bytes, version: int) -> Produced | None:
    try:
        return slowly(body, version)
    except Refused:
        return None


def read_produce_or_none(body: bytes, version: int) -> Produced | None:
    try:
        return read_produce(memoryview(body), version)
    except Refused:
        return None
