"""Too many clients, slow ones, and ones that vanish (lists 9 to 13)."""

import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.abuse.raw import Raw, batch, create, produce_request, produced
from tests.support.server import Server

from millstream.errors import ErrorCode
from millstream.wire.apis import RequestHeader
from millstream.wire.frame import request_frame
from millstream.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.wire.messages.fetch import FetchRequest, FetchRequestPartition, FetchRequestTopic

pytestmark = pytest.mark.system


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)  # another process's state: nothing to await
    return False


def descriptors(server: Server) -> int:
    return int(psutil.Process(server.process.pid).num_fds())


def is_served(raw: Raw) -> bool:
    response = raw.ask(ApiVersionsRequest("probe", "1"), 3)
    return isinstance(response, ApiVersionsResponse) and response.error_code == ErrorCode.NONE


def test_9_beyond_the_limit_of_one_address_connections_are_closed_at_once(server: Server) -> None:
    with Raw(server.port) as first:
        assert is_served(first)
        raws = []
        refused = 0
        for _ in range(400):
            raw = Raw(server.port)
            raws.append(raw)
        for raw in raws[320:]:
            refused += raw.is_closed()
        assert refused >= 70
        assert is_served(first)
        for raw in raws:
            raw.socket.close()
    assert until(lambda: _connects(server))


def _connects(server: Server) -> bool:
    try:
        with Raw(server.port) as raw:
            return is_served(raw)
    except (AssertionError, OSError):
        return False


def test_9_running_out_of_descriptors_hurts_no_one_who_is_connected(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Server(
        tmp_path, {"flush.policy": "os"}, command=("prlimit", "--nofile=200:200", *_python())
    ) as server:
        with Raw(server.port) as probe:
            create(probe, "t")
            raws = [Raw(server.port) for _ in range(300)]
            for _ in range(50):
                assert produced(probe, "t", batch())[0] == ErrorCode.NONE
            for raw in raws:
                raw.socket.close()
            assert until(lambda: _connects(server))
            cpu = psutil.Process(server.process.pid).cpu_times()
            assert cpu.user < 30, "a busy loop"
        assert server.stop() == 0
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def _python() -> tuple[str, ...]:
    return (sys.executable, "-m", "millstream")


@pytest.mark.parametrize(
    "part", [b"\x00", b"\x00\x00\x00", b"\x00\x00\x00\x20\x00\x12", b"\x00\x10\x00\x00" + bytes(100)]
)
def test_10_a_request_that_never_arrives_whole_is_closed(server: Server, part: bytes) -> None:
    with Raw(server.port) as raw:
        raw.send(part)
        started = time.monotonic()
        assert raw.is_closed()
        assert time.monotonic() - started > 1


def test_10_a_slow_but_steady_client_of_small_frames_is_served(server: Server) -> None:
    with Raw(server.port) as raw:
        for _ in range(4):
            assert is_served(raw)
            assert not until(lambda: False, 0.6)


def test_10_an_idle_connection_is_closed(tmp_path: Path) -> None:
    with Server(tmp_path, {"connections.max.idle.ms": 1000}) as server, Raw(server.port) as raw:
        assert is_served(raw)
        assert raw.is_closed()


def test_11_a_reader_that_takes_nothing_is_closed_and_holds_little(server: Server) -> None:
    with Raw(server.port) as probe:
        create(probe, "big")
        for _ in range(30):
            assert produced(probe, "big", batch(b"x" * 1_000_000))[0] == ErrorCode.NONE
        before = psutil.Process(server.process.pid).memory_info().rss
        raws = [Raw(server.port) for _ in range(10)]
        fetch = FetchRequest(
            max_wait_ms=0,
            max_bytes=50 << 20,
            topics=[
                FetchRequestTopic("big", partitions=[FetchRequestPartition(0, partition_max_bytes=50 << 20)])
            ],
        )
        for raw in raws:
            for number in range(20):
                raw.send(bytes(request_frame(RequestHeader(1, 11, number, "slow"), fetch)))
        for _ in range(20):
            assert produced(probe, "big", batch())[0] == ErrorCode.NONE
        # At the most the answer being sent is in memory: not the twenty that were asked for.
        assert psutil.Process(server.process.pid).memory_info().rss - before < 10 * (40 << 20)
        assert until(lambda: any("took none of its replies" in line for line in server.log))
        for raw in raws:
            raw.socket.close()


def test_12_clients_that_vanish_leave_nothing_behind(server: Server) -> None:
    with Raw(server.port) as probe:
        create(probe, "vanish")
        assert produced(probe, "vanish", batch())[0] == ErrorCode.NONE
        before = descriptors(server)
        memory = psutil.Process(server.process.pid).memory_info().rss
        whole = bytes(
            request_frame(RequestHeader(0, 9, 1, "gone"), produce_request("vanish", batch(b"x" * 100_000)))
        )
        parked = FetchRequest(
            max_wait_ms=30_000,
            min_bytes=1 << 30,
            max_bytes=1 << 30,
            topics=[
                FetchRequestTopic(
                    "vanish", partitions=[FetchRequestPartition(0, fetch_offset=1, partition_max_bytes=1000)]
                )
            ],
        )
        for number in range(300):
            raw = Raw(server.port)
            if number % 3 == 0:
                raw.send(whole[: number * 300 + 5])
            elif number % 3 == 1:
                raw.send(bytes(request_frame(RequestHeader(1, 11, 1, "gone"), parked)))
            else:
                raw.send(whole)
            raw.reset()
        assert until(lambda: descriptors(server) <= before + 1), (before, descriptors(server))
        assert psutil.Process(server.process.pid).memory_info().rss - memory < 40 << 20
        assert is_served(probe)


def test_12_a_client_that_only_closes_its_own_side_still_gets_its_replies(server: Server) -> None:
    with Raw(server.port) as raw:
        create(raw, "half")
        raw.send(bytes(request_frame(RequestHeader(0, 9, 3, "half"), produce_request("half", batch()))))
        raw.socket.shutdown(socket.SHUT_WR)
        assert struct.unpack_from(">i", raw.frame())[0] == 3
        assert raw.is_closed()


def test_13_large_requests_share_a_budget_and_wait_for_their_turn(tmp_path: Path) -> None:
    """64 MiB for all: of ten requests of 20 MiB, three may be on their way; all are answered in the end."""
    limits = {"queued.max.request.bytes": 64 << 20, "flush.policy": "os", "log.dir.ballast.bytes": 0}
    with Server(tmp_path, limits) as server, Raw(server.port) as probe:
        create(probe, "large")
        before = psutil.Process(server.process.pid).memory_info().rss
        peak = [0]
        codes: list[int] = []

        def send() -> None:
            with Raw(server.port, timeout=120) as raw:
                codes.append(produced(raw, "large", bytearray(20 << 20))[0])

        threads = [threading.Thread(target=send) for _ in range(10)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            peak[0] = max(peak[0], psutil.Process(server.process.pid).memory_info().rss)
            assert is_served(probe)
        assert len(codes) == 10
        # Three buffers and one being copied to a larger one; all ten at once would be more than 200.
        assert peak[0] - before < 150 << 20
