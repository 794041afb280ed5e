"""Our members and librdkafka's in one group: whoever leads, all understand each other."""

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer as Theirs
from tests.support.server import Server

from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.client.consumer import Consumer as Ours
from millstream.client.membership import GroupConfig

pytestmark = pytest.mark.compat

CONFIG = GroupConfig(session_timeout=10.0, rebalance_timeout=10.0, heartbeat_interval=0.2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), {"group.initial.rebalance.delay.ms": 0}) as running:
        yield running


class Member:
    """Either kind, polled until told to stop."""

    def __init__(self, server: Server, group: str, assignor: str, *, ours: bool, client: Client) -> None:
        self.held: list[int] = []
        self.polled = asyncio.Event()
        self._stop = False
        run = self._ours(client, group, assignor) if ours else self._theirs(server, group, assignor)
        self._task = asyncio.create_task(run)

    async def stop(self) -> None:
        self._stop = True
        await self._task

    async def _ours(self, client: Client, group: str, assignor: str) -> None:
        async with Ours(
            client, group=group, topics=["mixed"], assignors=[assignor], membership=CONFIG
        ) as consumer:
            while not self._stop:
                await consumer.poll(0.1)
                self.held = [each.partition for each in consumer.assignment]
                self.polled.set()

    async def _theirs(self, server: Server, group: str, assignor: str) -> None:
        consumer = Theirs(
            {
                "bootstrap.servers": server.bootstrap,
                "group.id": group,
                "partition.assignment.strategy": assignor,
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 200,
            }
        )
        consumer.subscribe(["mixed"])
        while not self._stop:
            await asyncio.to_thread(consumer.poll, 0.1)
            self.held = sorted(each.partition for each in consumer.assignment())
            self.polled.set()
        await asyncio.to_thread(consumer.close)


async def settle(members: list[Member], sizes: list[int]) -> None:
    """Wait until the members hold as many partitions as they should, and together all of them."""

    def settled() -> bool:
        together = sorted(partition for member in members for partition in member.held)
        return sorted(len(member.held) for member in members) == sizes and together == list(range(4))

    async with asyncio.timeout(60):
        while not settled():
            members[0].polled.clear()
            await members[0].polled.wait()


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_they_share_whoever_leads(server: Server, assignor: str, ours_first: bool) -> None:
    async def story() -> None:
        group = f"{assignor}-{ours_first}"
        async with Client(server.bootstrap) as client:
            if "mixed" not in (await client.metadata(None)).topics:
                await Admin(client).create_topic("mixed", partitions=4)
            first = Member(server, group, assignor, ours=ours_first, client=client)
            await settle([first], [4])
            second = Member(server, group, assignor, ours=not ours_first, client=client)
            await settle([first, second], [2, 2])
            await first.stop()
            await settle([second], [4])
            await second.stop()

    asyncio.run(story())
