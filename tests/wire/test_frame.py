"""Frames out of a stream, and messages into frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ErrorCode, Refused
from millstream.wire.apis import RequestHeader, read_response_header
from millstream.wire.frame import FrameBuffer, check_size, request_frame, response_frame
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.wire.primitives import Reader


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4) + payload


@given(st.lists(st.binary(max_size=20), max_size=5), st.lists(st.integers(1, 9)))
def test_frames_come_out_however_they_are_cut(payloads: list[bytes], steps: list[int]) -> None:
    stream = b"".join(map(framed, payloads))
    buffer, found = FrameBuffer(), []
    while stream:
        step = steps.pop() if steps else len(stream)
        buffer.feed(stream[:step])
        stream = stream[step:]
        while (frame := buffer.next()) is not None:
            found.append(frame)
    assert found == payloads


def test_a_frame_cut_at_every_byte() -> None:
    stream = framed(b"one") + framed(b"") + framed(b"three")
    for cut in range(len(stream) + 1):
        buffer = FrameBuffer()
        buffer.feed(stream[:cut])
        first = list(iter(buffer.next, None))
        buffer.feed(stream[cut:])
        assert first + list(iter(buffer.next, None)) == [b"one", b"", b"three"]


def test_a_frame_stays_as_it_was_while_others_arrive() -> None:
    buffer = FrameBuffer()
    buffer.feed(framed(b"first") + b"\0")
    found = [buffer.next()]
    buffer.feed(b"\0\0\x01x" + framed(b"third"))
    found.append(buffer.next())
    assert list(map(bytes, filter(None, found))) == [b"first", b"x"]


@pytest.mark.parametrize(
    ("start", "cause"),
    [
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /topics", "HTTP"),
        (b"PUT /x", "HTTP"),
        (b"HEAD /", "HTTP"),
        (b"DELETE /", "HTTP"),
        (b"OPTIONS *", "HTTP"),
        (b"PRI * HTTP/2.0", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"\x16\x03\x03\x00", "TLS"),
        (b"\xff\xff\xff\xff", "not negative"),
        (b"\x80\x00\x00\x00", "not negative"),
        (b"\x00\x10\x00\x01", "the limit is 1048576"),
        (b"\x7f\xff\xff\xff", "the limit is 1048576"),
    ],
)
def test_a_size_that_cannot_be_meant_is_refused_with_its_likely_cause(start: bytes, cause: str) -> None:
    buffer = FrameBuffer(max_size=1 << 20)
    buffer.feed(start[:3])
    assert buffer.next() is None
    buffer.feed(start[3:])
    with pytest.raises(Refused, match=cause) as refusal:
        buffer.next()
    assert refusal.value.code == ErrorCode.INVALID_REQUEST


def test_the_largest_size_allowed() -> None:
    assert check_size(b"\x00\x10\x00\x00", 1 << 20) == 1 << 20
    assert check_size(b"\x00\x00\x00\x00", 1 << 20) == 0


@pytest.mark.parametrize("version", [0, 4])
def test_a_request_goes_into_a_frame_and_out(version: int) -> None:
    sent = HeartbeatRequest(group_id="g", generation_id=5, member_id="m")
    buffer = FrameBuffer()
    buffer.feed(request_frame(RequestHeader(12, version, 42, "me"), sent))

    frame = buffer.next()
    assert frame is not None
    reader = Reader(frame)
    header = RequestHeader.read(reader)
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (
        12,
        version,
        42,
        "me",
    )
    assert HeartbeatRequest.read(reader, version) == sent
    reader.finish()


@pytest.mark.parametrize("version", [1, 4])
def test_a_response_goes_into_a_frame_and_out(version: int) -> None:
    sent = HeartbeatResponse(throttle_time_ms=3, error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    buffer = FrameBuffer()
    buffer.feed(response_frame(sent, version, 42))

    frame = buffer.next()
    assert frame is not None
    reader = Reader(frame)
    assert read_response_header(reader, 12, version) == 42
    assert HeartbeatResponse.read(reader, version) == sent
    reader.finish()
