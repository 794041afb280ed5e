"""Faults as a user of the embedded broker plans them, seen by a client that knows nothing of them."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest
from tests.embedded.asking import ask, read, values, write

from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client
from millstream.client.consumer import Consumer
from millstream.client.membership import GroupConfig
from millstream.client.offsets import EARLIEST, list_offsets
from millstream.client.topics import TopicPartition
from millstream.embedded import Broker
from millstream.errors import ErrorCode, Refused


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker, request: pytest.FixtureRequest) -> Iterator[Broker]:
    yield shared
    shared.faults.clear()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.originalname)


def test_produces_fail_so_many_times_and_then_succeed(broker: Broker, topic: str) -> None:
    fault = broker.faults.fail_produces(2, "NOT_LEADER_OR_FOLLOWER")

    write(broker, topic, b"a")

    assert (fault.met, fault.left) == (2, 0)
    assert values(broker, topic, 1) == [b"a"]


def test_an_error_that_is_final_reaches_the_application(broker: Broker, topic: str) -> None:
    broker.faults.fail_produces(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    with pytest.raises(Refused, match="TOPIC_AUTHORIZATION_FAILED"):
        write(broker, topic, b"a")
    write(broker, topic, b"b")

    assert values(broker, topic, 1) == [b"b"], "what was refused was not written"


def test_a_fault_can_be_limited_to_a_topic_or_a_client(broker: Broker, topic: str) -> None:
    other = broker.create_topic("other")
    by_topic = broker.faults.fail_produces(None, "TOPIC_AUTHORIZATION_FAILED", topic=other)
    by_client = broker.faults.fail_produces(None, "TOPIC_AUTHORIZATION_FAILED", client_id="unlucky")

    write(broker, topic, b"a")
    assert (by_topic.met, by_client.met) == (0, 0)
    with pytest.raises(Refused):
        write(broker, other, b"a")
    with pytest.raises(Refused):
        write(broker, topic, b"a", client_id="unlucky")
    assert (by_topic.met, by_client.met) == (1, 1)


def test_fetches_are_late(broker: Broker, topic: str) -> None:
    write(broker, topic, b"a")
    broker.faults.delay_fetches(0.3, client_id="slow")

    began = time.monotonic()
    read(broker, topic, 1, "quick")
    between = time.monotonic()
    read(broker, topic, 1, "slow")

    assert time.monotonic() - between >= 0.3
    assert between - began < time.monotonic() - between


def test_fetches_fail_until_they_do_not(broker: Broker, topic: str) -> None:
    write(broker, topic, b"a")
    fault = broker.faults.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", times=2)

    assert values(broker, topic, 1) == [b"a"]
    assert fault.met == 2


def test_a_lost_reply_makes_a_careless_producer_write_twice(broker: Broker, topic: str) -> None:
    broker.faults.lose_replies("Produce")
    write(broker, topic, b"a", idempotent=False)

    assert values(broker, topic, 2) == [b"a", b"a"]


def test_a_lost_reply_does_not_make_an_idempotent_one_write_twice(broker: Broker, topic: str) -> None:
    fault = broker.faults.lose_replies("Produce")
    write(broker, topic, b"a")
    write(broker, topic, b"b")

    assert fault.met == 1
    assert values(broker, topic, 2) == [b"a", b"b"]


def test_a_broker_that_hangs_up_has_done_nothing(broker: Broker, topic: str) -> None:
    fault = broker.faults.hang_up("Produce")
    write(broker, topic, b"a", idempotent=False)
    write(broker, topic, b"b")

    assert fault.met == 1
    assert values(broker, topic, 2) == [b"a", b"b"]


def test_connections_are_dropped_by_client(broker: Broker, topic: str) -> None:
    async def story(one: Client) -> None:
        async with Client(broker.bootstrap_servers, client_id="two", timeout=60) as two:
            for client in (one, two):
                await client.metadata(None)
            assert broker.faults.drop_connections("nobody") == 0
            assert broker.faults.drop_connections("two") == 1
            assert broker.faults.drop_connections("one") == 1
            for client in (one, two):
                await client.metadata(None)
            assert broker.faults.drop_connections() >= 2

    ask(broker, story, "one")


def test_time_passes_for_the_clock_and_for_all_who_wait(broker: Broker, topic: str) -> None:
    begun = threading.Event()

    async def wait(seconds: float) -> float:
        began = asyncio.get_running_loop().time()
        begun.set()
        await asyncio.sleep(seconds)
        return asyncio.get_running_loop().time() - began

    began = time.monotonic()
    stamped = broker.create_topic("stamped-later", configs={"message.timestamp.type": "LogAppendTime"})
    write(broker, stamped, b"a")
    waiting = broker.run(wait(3000.0))
    assert begun.wait(10)
    broker.faults.jump(3600.0)
    write(broker, stamped, b"b")

    assert waiting.result(10) >= 3000.0
    before, after = (record.timestamp_ms for record in read(broker, stamped, 2))
    assert after - before >= 3_600_000
    assert time.monotonic() - began < 30


def test_a_member_that_time_left_behind_is_no_longer_in_its_group(broker: Broker, topic: str) -> None:
    async def story(client: Client) -> list[list[str]]:
        membership = GroupConfig(heartbeat_interval=60.0)
        async with Consumer(client, group="g", topics=[topic], membership=membership) as consumer:
            while not consumer.assignment:
                await consumer.poll(timeout=0.1)
            before = [each.id for each in await GroupAdmin(client).groups()]
            await asyncio.to_thread(broker.faults.jump, 3600.0)
            return [before, [each.id for each in await GroupAdmin(client).groups()]]

    assert ask(broker, story) == [["g"], []]


def test_what_is_old_after_a_jump_is_deleted(broker: Broker) -> None:
    old = broker.create_topic("old", configs={"retention.ms": 600_000})
    write(broker, old, b"a", b"b")
    place = TopicPartition(old, 0)
    broker.faults.jump(7200)

    assert ask(broker, lambda client: list_offsets(client, {place: EARLIEST})) == {place: 2}


def test_the_clock_alone_can_be_set(broker: Broker, topic: str) -> None:
    stamped = broker.create_topic("stamped", configs={"message.timestamp.type": "LogAppendTime"})
    write(broker, stamped, b"a")
    broker.faults.set_clock_ahead(3600)
    write(broker, stamped, b"b")
    broker.faults.set_clock_back(7200)
    write(broker, stamped, b"c")
    broker.faults.set_clock_ahead(3600)
    times = [record.timestamp_ms for record in read(broker, stamped, 3)]

    assert 3_600_000 <= times[1] - times[0] < 3_700_000
    assert 7_100_000 < times[1] - times[2] <= 7_200_000


def test_a_full_disk_refuses_writes_until_it_is_freed(broker: Broker, topic: str) -> None:
    write(broker, topic, b"a")
    broker.faults.fill_disk()
    with pytest.raises(Refused, match="KAFKA_STORAGE_ERROR"):
        write(broker, topic, b"x", patience=0.5)
    assert values(broker, topic, 1) == [b"a"]
    broker.faults.free_disk()
    write(broker, topic, b"b")

    assert values(broker, topic, 2) == [b"a", b"b"]


def test_what_cannot_be_planned_is_told(broker: Broker) -> None:
    for wrong, match in (
        (lambda: broker.faults.fail("Produse", "NONE"), "no API 'Produse'"),
        (lambda: broker.faults.fail("Metadata", "UNKNOWN_SERVER_ERROR"), "no one place"),
        (lambda: broker.faults.fail_produces(error="NO_SUCH_ERROR"), "no error 'NO_SUCH_ERROR'"),
        (lambda: broker.faults.fail_produces(0), "at least one"),
        (lambda: broker.faults.fail("Fetch", "NONE", topic="t"), "only a fault of Produce"),
        (lambda: broker.faults.jump(-1), "backwards"),
    ):
        with pytest.raises(ValueError, match=match):
            wrong()


def test_other_apis_fail_too(broker: Broker) -> None:
    fault = broker.faults.fail("InitProducerId", "CLUSTER_AUTHORIZATION_FAILED")
    topic = broker.create_topic("init")
    with pytest.raises(Refused, match="CLUSTER_AUTHORIZATION_FAILED"):
        write(broker, topic, b"a")
    assert fault.met == 1


def test_commits_of_offsets_fail(broker: Broker, topic: str) -> None:
    broker.faults.fail("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")

    async def story(client: Client) -> None:
        await GroupAdmin(client).set_offsets("h", {TopicPartition(topic, 0): 5})

    with pytest.raises(Refused, match="GROUP_AUTHORIZATION_FAILED"):
        ask(broker, story)
    ask(broker, story)


def test_a_broker_without_faults_says_so() -> None:
    with Broker(faults=False) as broker, pytest.raises(ValueError, match="faults=True"):
        _ = broker.faults


def test_only_memory_can_be_filled(tmp_path: str) -> None:
    with Broker(tmp_path, faults=True) as broker, pytest.raises(ValueError, match="without a directory"):
        broker.faults.fill_disk()
