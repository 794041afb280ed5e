"""Finding one's way in a cluster of several brokers, some of which are wrong, old or gone."""

import asyncio
from random import Random
from typing import Any

import pytest
from tests.client.peer import Peer, play

from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client, worth_retrying
from millstream.client.offsets import LATEST, list_offsets
from millstream.client.producer import Producer
from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused
from millstream.wire.message import Message
from millstream.wire.messages.describe_groups import DescribeGroupsResponse, DescribeGroupsResponseGroup
from millstream.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    FindCoordinatorResponseCoordinator,
)
from millstream.wire.messages.init_producer_id import InitProducerIdResponse
from millstream.wire.messages.list_groups import ListGroupsResponse, ListGroupsResponseGroup
from millstream.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from millstream.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseGroupPartition,
    OffsetFetchResponseGroupTopic,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)

OLD = {"FindCoordinator": (0, 2), "OffsetFetch": (1, 5), "DescribeGroups": (0, 0), "Metadata": (0, 1)}


class Cluster:
    """Brokers one, two, ... of which *leaders* lead topic t's partitions; each answers as it believes."""

    def __init__(
        self, size: int, leaders: list[int], versions: dict[str, tuple[int, int]] | None = None
    ) -> None:
        self.leaders = leaders
        self.coordinator = 1
        self.peers = {id: Peer(self._answers(id), versions) for id in range(1, size + 1)}
        self.produced: list[tuple[int, int]] = []  # broker and partition
        self._open: dict[int, Any] = {}

    async def __aenter__(self) -> "Cluster":
        for id in self.peers:
            await self.start(id)
        return self

    async def __aexit__(self, *_: object) -> None:
        for id in list(self._open):
            await self.stop(id)

    async def start(self, id: int) -> None:
        self._open[id] = self.peers[id].serving(f"host{id}", 9092)
        await self._open[id].__aenter__()

    async def stop(self, id: int) -> None:
        await self._open.pop(id).__aexit__(None, None, None)

    def client(self, bootstrap: str = "host1", **options: Any) -> Client:
        return Client(bootstrap, **{"timeout": 2.0, "patience": 20.0, "random": Random(1), **options})

    def asked(self, name: str) -> list[int]:
        """The brokers that were asked so."""
        return [id for id, peer in self.peers.items() for _ in peer.asked(name)]

    def _answers(self, id: int) -> dict[str, Any]:
        return {
            "Metadata": self._metadata,
            "Produce": lambda request: self._produce(id, request),
            "ListOffsets": lambda request: self._list_offsets(id, request),
            "FindCoordinator": self._find,
            "InitProducerId": lambda _: InitProducerIdResponse(producer_id=7, producer_epoch=0),
            "DescribeGroups": lambda _: self._describe(id),
            "ListGroups": lambda _: ListGroupsResponse(groups=[ListGroupsResponseGroup(group_id=f"g{id}")]),
            "OffsetFetch": _offsets,
        }

    def _metadata(self, request: MetadataRequest) -> Message:
        partitions = [
            MetadataResponsePartition(
                partition_index=index, leader_id=leader, replica_nodes=[1], isr_nodes=[1]
            )
            for index, leader in enumerate(self.leaders)
        ]
        topic = MetadataResponseTopic(name="t", partitions=partitions)
        brokers = [MetadataResponseBroker(id, f"host{id}", 9092) for id in self.peers]
        return MetadataResponse(
            brokers=brokers, controller_id=2, topics=[topic] if request.topics != [] else []
        )

    def _produce(self, id: int, request: ProduceRequest) -> Message:
        index = request.topic_data[0].partition_data[0].index
        self.produced.append((id, index))
        code = 0 if self.leaders[index] == id else ErrorCode.NOT_LEADER_OR_FOLLOWER
        answer = ProduceResponsePartition(index=index, error_code=int(code), base_offset=5)
        return ProduceResponse(responses=[ProduceResponseTopic(name="t", partition_responses=[answer])])

    def _list_offsets(self, id: int, request: ListOffsetsRequest) -> Message:
        answers = [
            ListOffsetsResponsePartition(
                partition_index=each.partition_index,
                error_code=0 if self.leaders[each.partition_index] == id else 6,
                offset=id * 100 + each.partition_index,
            )
            for each in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsResponseTopic(name="t", partitions=answers)])

    def _find(self, request: FindCoordinatorRequest) -> Message:
        id = self.coordinator
        found = FindCoordinatorResponseCoordinator(node_id=id, host=f"host{id}", port=9092)
        return FindCoordinatorResponse(
            coordinators=[found] if request.coordinator_keys else [], node_id=id, host=f"host{id}", port=9092
        )

    def _describe(self, id: int) -> Message:
        code = 0 if self.coordinator == id else ErrorCode.NOT_COORDINATOR
        group = DescribeGroupsResponseGroup(error_code=int(code), group_id="g", group_state="Empty")
        return DescribeGroupsResponse(groups=[group])


def _offsets(request: OffsetFetchRequest) -> Message:
    """Says 9 in the form that was asked for."""
    if request.groups:
        one = OffsetFetchResponseGroupPartition(partition_index=0, committed_offset=9)
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(topics=[OffsetFetchResponseGroupTopic(name="t", partitions=[one])])
            ]
        )
    old = OffsetFetchResponsePartition(partition_index=0, committed_offset=9)
    return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=[old])])


def test_each_partition_is_asked_of_its_leader() -> None:
    async def story() -> None:
        async with Cluster(3, [1, 2, 3, 2]) as cluster, cluster.client() as client:
            found = await list_offsets(client, {TopicPartition("t", index): LATEST for index in range(4)})
            assert list(found.values()) == [100, 201, 302, 203]
            assert cluster.asked("ListOffsets") == [1, 2, 3]

    play(story())


def test_a_leader_that_moved_is_followed() -> None:
    async def story() -> None:
        async with Cluster(2, [1]) as cluster, cluster.client() as client, Producer(client) as producer:
            assert (await producer.deliver("t", b"1")).offset == 5
            cluster.leaders[0] = 2
            assert (await producer.deliver("t", b"2")).offset == 5
            assert cluster.produced == [(1, 0), (1, 0), (2, 0)]

    play(story())


def test_a_partition_without_a_leader_is_waited_for() -> None:
    async def story() -> None:
        async with Cluster(2, [-1]) as cluster, cluster.client() as client:
            waiting = asyncio.create_task(list_offsets(client, {TopicPartition("t", 0): LATEST}))
            await asyncio.sleep(5)
            cluster.leaders[0] = 2
            assert await waiting == {TopicPartition("t", 0): 200}

    play(story())


def test_patience_has_an_end() -> None:
    async def story() -> None:
        async with Cluster(1, [-1]) as cluster, cluster.client(patience=3.0) as client:
            began = asyncio.get_running_loop().time()
            with pytest.raises(Refused, match="t-0 has no leader"):
                await list_offsets(client, {TopicPartition("t", 0): LATEST})
            assert 3 <= asyncio.get_running_loop().time() - began < 6

    play(story())


def test_any_of_the_bootstrap_brokers_will_do() -> None:
    async def story() -> None:
        async with Cluster(3, [1]) as cluster:
            await cluster.stop(1)
            async with cluster.client("nowhere:1,host1:9092,host3:9092") as client:
                assert sorted(client.known.nodes) == [1, 2, 3]
            await cluster.stop(2)
            await cluster.stop(3)
            with pytest.raises(
                Unreachable, match=r"cannot connect to host1:9092.*; cannot connect to host3:9092"
            ):
                async with cluster.client("host1,host3"):
                    pass

    play(story())


def test_when_the_bootstrap_broker_goes_the_others_are_asked() -> None:
    async def story() -> None:
        async with Cluster(3, [2]) as cluster, cluster.client() as client:
            await cluster.stop(1)
            assert await list_offsets(client, {TopicPartition("t", 0): LATEST}) == {
                TopicPartition("t", 0): 200
            }

    play(story())


def test_a_coordinator_that_moved_is_followed() -> None:
    async def story() -> None:
        async with Cluster(2, [1]) as cluster, cluster.client() as client:
            admin = GroupAdmin(client)
            assert (await admin.describe("g")).coordinator.id == 1
            cluster.coordinator = 2
            assert (await admin.describe("g")).coordinator.id == 2
            assert cluster.asked("DescribeGroups") == [1, 1, 2]

    play(story())


def test_groups_are_gathered_from_all_brokers() -> None:
    async def story() -> None:
        async with Cluster(3, [1]) as cluster, cluster.client() as client:
            assert [each.id for each in await GroupAdmin(client).groups()] == ["g1", "g2", "g3"]

    play(story())


@pytest.mark.parametrize("versions", [None, OLD])
def test_old_and_new_brokers_are_asked_in_their_own_tongue(
    versions: dict[str, tuple[int, int]] | None,
) -> None:
    async def story() -> None:
        async with Cluster(2, [1], versions) as cluster, cluster.client() as client:
            admin = GroupAdmin(client)
            assert (await admin.describe("g")).state == "Empty"
            assert await admin.offsets("g") == {TopicPartition("t", 0): 9}
            assert len((await client.topic("t")).partitions) == 1

    play(story())


def test_what_does_not_exist_is_told_at_once() -> None:
    assert not worth_retrying(Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""))
    assert not worth_retrying(Refused(ErrorCode.INVALID_CONFIG, ""))
    assert worth_retrying(Refused(ErrorCode.NOT_CONTROLLER, ""))
    assert worth_retrying(Unreachable(""))


def test_backing_off_takes_longer_each_time_but_not_for_ever() -> None:
    async def story() -> list[float]:
        client = Client("a", random=Random(3))
        return [client.backoff(tries) for tries in range(100)]

    waits = play(story())
    assert 0.08 <= waits[0] <= 0.12
    assert all(0.8 <= wait <= 1.2 for wait in waits[5:])
    assert len(set(waits)) == 100


def test_a_lane_of_ones_own_is_not_held_up_by_others() -> None:
    """A request that is parked on one lane does not keep the next lane's waiting."""

    async def story() -> None:
        async with Cluster(1, [1]) as cluster, cluster.client() as client:
            first, second = client.lane(), client.lane()
            assert await first.to(1) is await first.to(1)
            assert await first.to(1) is not await second.to(1)
            both = await asyncio.gather(second.to(1), second.to(1))
            assert both[0] is both[1]
            await client.retire(first)
            assert (await second.to(1)).closed is False

    play(story())
