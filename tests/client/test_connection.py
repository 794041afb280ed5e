"""One connection: versions, order, deadlines, and what is said when it breaks."""

import asyncio
from typing import Any

import pytest
from tests.client.peer import Peer, play

from millstream.client.connection import Connection
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused
from millstream.wire.frame import response_frame
from millstream.wire.message import Message
from millstream.wire.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ApiVersionsResponseApiKey,
)
from millstream.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def beat(request: HeartbeatRequest) -> HeartbeatResponse:
    """Says back what was asked, so that answers can be told apart."""
    return HeartbeatResponse(throttle_time_ms=request.generation_id)


def test_speaks_the_newest_version_that_both_know() -> None:
    async def story() -> None:
        peer = Peer({"Heartbeat": beat}, versions={"Heartbeat": (1, 2)})
        async with peer.connected() as connection:
            await connection.request(HeartbeatRequest(generation_id=7), HeartbeatResponse)
            await connection.request(HeartbeatRequest(generation_id=7), HeartbeatResponse, at_most=1)
            await connection.request(HeartbeatRequest(generation_id=7), HeartbeatResponse, version=0)

        assert [version for name, version, _ in peer.heard if name == "Heartbeat"] == [2, 1, 0]

    play(story())


def test_says_so_when_no_version_is_common() -> None:
    async def story() -> None:
        async with Peer({}, versions={"Heartbeat": (9, 12)}).connected() as connection:
            with pytest.raises(Refused, match="serves Heartbeat 9 to 12, we speak 0 to 4"):
                await connection.request(HeartbeatRequest(), HeartbeatResponse)
            connection.versions.pop(DeleteGroupsRequest.KEY)
            with pytest.raises(Refused, match="does not serve DeleteGroups"):
                await connection.request(DeleteGroupsRequest(), DeleteGroupsResponse)

    play(story())


def test_asks_again_in_an_older_tongue_if_the_broker_is_older() -> None:
    """It answers what it does not know in version 0, with the range that it knows."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        known = [ApiVersionsResponseApiKey(18, 0, 2), ApiVersionsResponseApiKey(12, 0, 3)]
        writer.write(response_frame(ApiVersionsResponse(error_code=35, api_keys=known[:1]), 0, 1))
        second = await reader.read(4096)
        assert second[4:8] == b"\x00\x12\x00\x02"
        writer.write(response_frame(ApiVersionsResponse(api_keys=known), 2, 2))

    async def story() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        connection = await Connection.open("127.0.0.1", server.sockets[0].getsockname()[1], timeout=5)
        assert connection.versions == {18: (0, 2), 12: (0, 3)}
        await connection.close()
        server.close()

    play(story())


def test_many_requests_are_under_way_at_once_and_answered_in_order() -> None:
    async def story() -> None:
        async with Peer({"Heartbeat": beat}).connected() as connection:
            sent = [
                connection.send(HeartbeatRequest(generation_id=n), HeartbeatResponse, 4) for n in range(100)
            ]
            answers = await asyncio.gather(*sent)

        assert [answer.throttle_time_ms for answer in answers] == list(range(100))

    play(story())


def test_one_that_gave_up_waiting_does_not_disturb_the_next() -> None:
    async def story() -> None:
        async with Peer({"Heartbeat": beat}).connected() as connection:
            given_up = connection.send(HeartbeatRequest(generation_id=1), HeartbeatResponse, 4)
            given_up.cancel()
            answer = await connection.request(HeartbeatRequest(generation_id=2), HeartbeatResponse)

        assert answer.throttle_time_ms == 2

    play(story())


def test_no_answer_in_time_closes_the_connection_for_all() -> None:
    async def story() -> None:
        async with Peer({"Heartbeat": lambda _: None}).connected() as connection:
            other = connection.send(HeartbeatRequest(), HeartbeatResponse, 4)
            with pytest.raises(Unreachable, match=r"did not answer Heartbeat within 0.05 s"):
                await connection.request(HeartbeatRequest(), HeartbeatResponse, timeout=0.05)
            with pytest.raises(Unreachable):
                await other
            assert connection.closed
            with pytest.raises(Unreachable):
                await connection.request(HeartbeatRequest(), HeartbeatResponse)

    play(story())


def test_a_broker_that_hangs_up_fails_what_was_under_way() -> None:
    async def story() -> None:
        peer = Peer({"Heartbeat": lambda _: None})
        async with peer.connected() as connection:
            asked = connection.send(HeartbeatRequest(), HeartbeatResponse, 4)
            peer.hang_up()
            with pytest.raises(Unreachable, match="closed the connection"):
                await asked

    play(story())


def test_nobody_listening_is_said_in_plain_words() -> None:
    async def story() -> None:
        async with Peer({}).serving() as peer:
            port = peer.port
        with pytest.raises(Unreachable, match=rf"^cannot connect to 127.0.0.1:{port}: Connection refused$"):
            await Connection.open("127.0.0.1", port)

    play(story())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "looks like HTTP"),
        (b"\x16\x03\x01\x02\x00", "looks like TLS"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x63", "nothing we asked"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x7f\xff", "not a Kafka broker"),
        (b"", "closed the connection"),
        (None, "did not answer within 0.2 s"),
    ],
)
def test_something_that_is_not_a_broker_is_called_so(said: bytes | None, expected: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        if said is not None:
            writer.write(said)
            writer.close()

    async def story() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        with pytest.raises((Unreachable, Refused), match=expected):
            await Connection.open("127.0.0.1", server.sockets[0].getsockname()[1], timeout=0.2)
        server.close()

    play(story())


def test_a_slow_reader_holds_up_whoever_sends() -> None:
    """The broker reads nothing for a while: what we hold for it stays bounded, and in the end all arrives."""

    async def story() -> None:
        go = asyncio.Event()

        async def slowly(request: Any) -> Message:
            await go.wait()
            return HeartbeatResponse(throttle_time_ms=len(request.member_id))

        async with Peer({"Heartbeat": slowly}).connected() as connection:
            big = HeartbeatRequest(member_id="x" * 30_000)
            asked = [
                asyncio.create_task(connection.request(big, HeartbeatResponse, version=0)) for _ in range(200)
            ]
            for _ in range(50):
                await asyncio.sleep(0)
            assert connection.under_way < 100
            go.set()
            assert len(await asyncio.gather(*asked)) == 200

    play(story())


def test_the_software_is_named_as_kafka_demands() -> None:
    async def story() -> None:
        peer = Peer({})
        async with peer.connected():
            pass
        request = peer.asked("ApiVersions")[0]
        assert isinstance(request, ApiVersionsRequest)
        assert (request.client_software_name, request.client_software_version) == ("millstream", "1")

    play(story())


def test_error_codes_are_known_by_name() -> None:
    async def story() -> None:
        refused = ApiVersionsResponse(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        async with Peer({"ApiVersions": lambda _: refused}).serving() as peer:
            with pytest.raises(Refused, match="CLUSTER_AUTHORIZATION_FAILED"):
                await Connection.open("127.0.0.1", peer.port)

    play(story())
