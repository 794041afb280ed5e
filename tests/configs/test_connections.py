"""What the configs of the doors do, and those that say who and where a node is."""

import asyncio
import logging
import struct
from itertools import count
from typing import Any

import pytest
from click.testing import CliRunner
from tests.configs.nodes import serving
from tests.configs.showing import Stage, Way, shows

from millstream.cli import serve
from millstream.client.connection import Connection
from millstream.client.unreachable import Unreachable
from millstream.env import busy_poll
from millstream.env.busy_poll import BusyPoll
from millstream.node.config import NodeConfig
from millstream.records import runs
from millstream.records.build import NewRecord, build
from millstream.sim.host import BROKER, PORT
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from millstream.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)

FETCH = 12  # the last versions that go by names
PRODUCE = 12


async def connect(port: int = PORT) -> Connection:
    return await Connection.open(BROKER, port)


async def first_broker(stage: Stage) -> MetadataResponseBroker:
    connection = await connect()
    return (await connection.request(MetadataRequest([]), MetadataResponse)).brokers[0]


def a_fetch(wait_ms: int = 0, **options: Any) -> FetchRequest:
    wanted = FetchRequestPartition(0, fetch_offset=0, partition_max_bytes=64 << 20)
    topics = [FetchRequestTopic("t", partitions=[wanted])]
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=64 << 20, topics=topics, **options)


def a_produce(stage: Stage, size: int, topic: str = "u") -> ProduceRequest:
    batch = build([NewRecord(b"k", bytes(size))], now_ms=stage.clock.now_ms())
    data = ProduceRequestTopicData(topic, partition_data=[ProduceRequestPartitionData(0, batch)])
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])


def end_of_u(stage: Stage) -> int:
    return stage.broker.topics.hosted("u", 0).partition.log.end_offset


@shows("node.id")
def test_the_number_clients_know_the_node_by(way: Way) -> None:
    assert serving(way, {"node.id": "42"}, first_broker).node_id == 42
    assert serving(way, {}, first_broker).node_id == 1


@shows("broker.rack")
def test_where_clients_are_told_the_node_stands(way: Way) -> None:
    assert serving(way, {"broker.rack": "here"}, first_broker).rack == "here"
    assert serving(way, {}, first_broker).rack is None


@shows("listeners")
def test_where_the_node_listens(way: Way) -> None:
    async def ports(stage: Stage) -> list[int]:
        found = []
        for port in (PORT, 7001, 7002):
            try:
                await (await connect(port)).close()
                found.append(port)
            except Unreachable:
                pass
        return found

    listeners = ",".join(f"PLAINTEXT://{BROKER}:{port}" for port in (7001, 7002))
    assert serving(way, {"listeners": listeners}, ports) == [7001, 7002]
    assert serving(way, {}, ports) == [PORT]


@shows("advertised.listeners")
def test_where_clients_are_told_to_go(way: Way) -> None:
    told = serving(way, {"advertised.listeners": "PLAINTEXT://elsewhere:1234"}, first_broker)
    assert (told.host, told.port) == ("elsewhere", 1234)
    told = serving(way, {}, first_broker)
    assert (told.host, told.port) == (BROKER, PORT)


async def answers(connection: Connection) -> bool:
    """Whether the connection is good for a request."""
    try:
        await connection.request(MetadataRequest([]), MetadataResponse, timeout=5)
        return True
    except Unreachable:
        return False


@shows("native.enable")
def test_whether_small_requests_are_joined_by_compiled_code(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[int] = []
    as_ever = runs.join

    def noted(*args: Any) -> Any:
        joined.append(1)
        return as_ever(*args)

    async def send(stage: Stage) -> int:
        joined.clear()
        connection = await connect()
        await asyncio.gather(
            *[connection.request(a_produce(stage, 10), ProduceResponse, at_most=PRODUCE) for _ in range(20)]
        )
        assert end_of_u(stage) == 20
        return len(joined)

    monkeypatch.setattr(runs, "join", noted)
    assert serving(way, {"native.enable": "false"}, send) > 0
    assert (serving(way, {}, send) == 0) == (runs.NATIVE is not None)


@shows("busy.poll.us")
def test_how_long_it_looks_for_the_next_request(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    polls: list[int] = []
    as_ever = BusyPoll._poll

    def noted(poll: BusyPoll) -> None:
        polls.append(1)
        as_ever(poll)

    async def exchange(stage: Stage) -> int:
        connection = await connect()
        await asyncio.gather(*[answers(connection) for _ in range(3)])
        polls.clear()
        await answers(connection)
        return len(polls)

    monkeypatch.setattr(BusyPoll, "_poll", noted)
    monkeypatch.setattr(busy_poll, "_processors", lambda: 2)
    monkeypatch.setattr(busy_poll, "monotonic", lambda: next(ticks) / 1_000_000)  # each look takes one
    assert 10 <= serving(way, {"busy.poll.us": "50"}, exchange) <= 100
    assert serving(way, {"busy.poll.us": "0"}, exchange) == 0


@shows("socket.request.max.bytes")
def test_how_large_a_request_may_be(way: Way) -> None:
    async def taken(stage: Stage) -> list[bool]:
        taken = []
        for size in (1000, 60_000):
            connection = await connect()
            try:
                await connection.request(a_produce(stage, size), ProduceResponse, at_most=PRODUCE)
                taken.append(True)
            except Unreachable:
                taken.append(False)
        return taken

    assert serving(way, {"socket.request.max.bytes": "50000"}, taken) == [True, False]
    assert serving(way, {}, taken) == [True, True]


@shows("queued.max.request.bytes")
def test_how_much_memory_requests_have_while_they_arrive(way: Way) -> None:
    async def waited(stage: Stage) -> bool:
        """Whether one request waits for another that will not come to its end."""
        _, slow = await asyncio.open_connection(BROKER, PORT)
        slow.write(struct.pack(">i", 900_000) + bytes(1000))
        await asyncio.sleep(1)
        connection = await connect()
        request = connection.request(a_produce(stage, 900_000), ProduceResponse, at_most=PRODUCE)
        task = asyncio.ensure_future(request)
        await asyncio.sleep(5)
        waits = not task.done()
        slow.transport.abort()
        await task
        return waits

    assert serving(way, {"queued.max.request.bytes": str(1 << 20)}, waited)
    assert not serving(way, {}, waited)


@shows("max.in.flight.requests")
def test_how_many_requests_of_a_client_are_handled_at_once(way: Way) -> None:
    async def overtakes(stage: Stage) -> bool:
        """Whether a write is done while the fetch before it waits."""
        connection = await connect()
        fetch = connection.send(a_fetch(20_000), FetchResponse, FETCH)
        write = connection.send(a_produce(stage, 10), ProduceResponse, PRODUCE)
        await asyncio.sleep(5)
        done = end_of_u(stage) == 1
        await asyncio.gather(fetch, write)
        assert end_of_u(stage) == 1
        return done

    assert not serving(way, {"max.in.flight.requests": "1"}, overtakes)
    assert serving(way, {}, overtakes)


@shows("max.connections", "max.connections.per.ip")
@pytest.mark.parametrize("name", ["max.connections", "max.connections.per.ip"])
def test_how_many_connections_there_may_be(way: Way, name: str) -> None:
    async def open(stage: Stage) -> int:
        count = 0
        for _ in range(5):
            try:
                await connect()
                count += 1
            except Unreachable:
                break
        return count

    assert serving(way, {name: "3"}, open) == 3
    assert serving(way, {}, open) == 5


@shows("connections.max.idle.ms")
def test_how_long_a_connection_may_be_idle(way: Way) -> None:
    async def lives(stage: Stage) -> bool:
        connection = await connect()
        await asyncio.sleep(10)
        return await answers(connection)

    assert not serving(way, {"connections.max.idle.ms": "5000"}, lives)
    assert serving(way, {}, lives)


@shows("connections.frame.timeout.ms")
def test_how_long_a_request_may_take_to_arrive(way: Way) -> None:
    async def lives(stage: Stage) -> bool:
        reader, writer = await asyncio.open_connection(BROKER, PORT)
        writer.write(struct.pack(">i", 100) + bytes(10))
        try:
            async with asyncio.timeout(10):
                await reader.read()
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        return False

    assert not serving(way, {"connections.frame.timeout.ms": "3000"}, lives)
    assert serving(way, {}, lives)


@shows("connections.write.timeout.ms")
def test_how_long_a_client_may_leave_its_replies(way: Way) -> None:
    async def lives(stage: Stage) -> bool:
        for _ in range(8):
            await stage.write(b"k", bytes(900_000))
        connection = await connect()
        answer = connection.send(a_fetch(), FetchResponse, FETCH)
        assert connection._transport is not None
        connection._transport.pause_reading()
        await asyncio.sleep(20)
        connection._transport.resume_reading()
        try:
            await answer
            return True
        except Unreachable:
            return False

    assert not serving(way, {"connections.write.timeout.ms": "5000"}, lives)
    assert serving(way, {}, lives)


@shows("max.incremental.fetch.session.cache.slots")
def test_how_many_fetch_sessions_are_kept(way: Way) -> None:
    async def has_session(stage: Stage) -> bool:
        connection = await connect()
        asked = a_fetch(session_id=0, session_epoch=0)
        return (await connection.request(asked, FetchResponse, at_most=FETCH)).session_id != 0

    assert not serving(way, {"max.incremental.fetch.session.cache.slots": "0"}, has_session)
    assert serving(way, {}, has_session)


@shows("log.level", "log.format", "log.dir")
def test_where_the_data_lie_and_what_is_logged(
    way: Way, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """As the command hands them on: to the log, and to the disk a node is given."""
    opened: list[str] = []

    async def in_stead(live: Any, panda: object) -> int:
        opened.append(live.get(NodeConfig).data_dir)
        logging.getLogger("millstream.test").warning("a warning")
        logging.getLogger("millstream.test").info("a note")
        return 0

    root = logging.getLogger()
    monkeypatch.setattr(serve, "_serve", in_stead)
    monkeypatch.setattr(root, "handlers", list(root.handlers))
    monkeypatch.setattr(root, "level", root.level)

    def said(*sets: str) -> str:
        return CliRunner().invoke(serve.command, [each for one in sets for each in ("--set", one)]).stderr

    assert "a note" in said()
    quiet = said("log.level=warning", "log.format=json", f"log.dir={tmp_path}")
    assert "a note" not in quiet
    assert quiet.startswith("{")
    assert '"a warning"' in quiet
    assert opened == ["millstream-data", str(tmp_path)]


def test_the_directory_is_told_to_clients_too() -> None:
    async def data_dir(stage: Stage) -> str:
        return stage.broker.data_dir

    assert serving(Way.STARTED, {"log.dir": "/elsewhere"}, data_dir) == "/elsewhere"
