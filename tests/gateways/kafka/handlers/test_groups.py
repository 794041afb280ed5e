"""The group APIs in every version, over the wire's own messages."""

import asyncio
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, TypeVar, cast, final
from uuid import UUID

import pytest
from tests.broker.group_helpers import MemoryLog, simulated, started
from tests.groups.transcript import subscription

from millstream.broker.broker import Broker
from millstream.broker.groups import Groups
from millstream.broker.session import Session
from millstream.cluster.image import Image, Topic
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.handlers import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from millstream.wire.message import Message, read_message
from millstream.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from millstream.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
)
from millstream.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroupPartition,
    OffsetFetchResponsePartition,
)
from millstream.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

R = TypeVar("R", bound=Message)

ID = UUID(int=7, version=4)
SESSION = Session("client", "10.0.0.9", advertised=("here", 9092))


@final
class Topics:
    """Topics t and u as a broker knows them."""

    image = Image().with_topics([Topic("t", ID, 4), Topic("u", UUID(int=8, version=4), 4)])

    def name_of(self, id: bytes) -> str:
        name = self.image.names.get(id)
        if name is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no such topic")
        return name


@final
class Desk:
    """As much of a broker as the group APIs ask for, and the way of a request there and back."""

    node_id = 3

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.topics = Topics()
        self.coordinator_refusal: Refused | None = None

    async def coordinator(self, session: Session) -> None:
        if self.coordinator_refusal is not None:
            raise self.coordinator_refusal

    @property
    def transactions(self) -> "Desk":
        return self

    available = coordinator

    async def ask(self, handler: ModuleType, request: Message, answer: type[R], version: int) -> R:
        handled = handler.handle(cast(Broker, self), SESSION, _travelled(request, version), version)
        response = cast(Message, await handled if isinstance(handled, Awaitable) else handled)
        assert isinstance(response, answer)
        return _travelled(response, version)


def _travelled(message: R, version: int) -> R:
    """*message* as it comes out at the other end in *version*."""
    out = bytearray()
    message.write(out, version)
    return read_message(type(message), bytes(out), version)


def with_desk(main: Callable[[Desk], Awaitable[None]]) -> None:
    async def run() -> None:
        groups = await started(MemoryLog())
        await main(Desk(groups))
        groups.stop()

    simulated(run)


def join(member_id: str = "", **changes: Any) -> JoinGroupRequest:
    fields: dict[str, Any] = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
    }
    return JoinGroupRequest(**(fields | changes))


async def joined(desk: Desk, version: int, **changes: Any) -> JoinGroupResponse:
    """In the group, after as many steps as it takes."""
    answer = await desk.ask(join_group, join(**changes), JoinGroupResponse, version)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        assert version >= 4
        assert answer.member_id.startswith("client-")
        answer = await desk.ask(join_group, join(answer.member_id, **changes), JoinGroupResponse, version)
    assert answer.error_code == 0
    return answer


async def synced(desk: Desk, member: JoinGroupResponse, version: int) -> SyncGroupResponse:
    request = SyncGroupRequest(
        group_id="g",
        generation_id=member.generation_id,
        member_id=member.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            SyncGroupRequestAssignment(member_id=m.member_id, assignment=b"part") for m in member.members
        ],
    )
    return await desk.ask(sync_group, request, SyncGroupResponse, version)


def commit(*offsets: OffsetCommitRequestPartition, topic: str = "t", **fields: Any) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic(name=topic, topic_id=ID.bytes, partitions=list(offsets))]
    return OffsetCommitRequest(group_id="g", topics=topics, **fields)


def at(index: int, offset: int, epoch: int = -1, metadata: str | None = None) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=index,
        committed_offset=offset,
        committed_leader_epoch=epoch,
        committed_metadata=metadata,
    )


def fetch(*partitions: int, version: int, everything: bool = False) -> OffsetFetchRequest:
    if version < 8:
        old = None if everything else [OffsetFetchRequestTopic(name="t", partition_indexes=list(partitions))]
        return OffsetFetchRequest(group_id="g", topics=old)
    topic = OffsetFetchRequestGroupTopic(name="t", topic_id=ID.bytes, partition_indexes=list(partitions))
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id="g", topics=None if everything else [topic])]
    )


def found(
    response: OffsetFetchResponse, version: int
) -> list[OffsetFetchResponsePartition] | list[OffsetFetchResponseGroupPartition]:
    if version < 8:
        return response.topics[0].partitions
    (group,) = response.groups
    assert group.error_code == 0
    assert version < 10 or group.topics[0].topic_id == ID.bytes
    return group.topics[0].partitions


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_is_this_node_as_the_client_knows_it(version: int) -> None:
    async def main(desk: Desk) -> None:
        async def find(type: int) -> tuple[int, int, str, int, str | None]:
            request = FindCoordinatorRequest(key="g", key_type=type, coordinator_keys=["g", "h"])
            response = await desk.ask(find_coordinator, request, FindCoordinatorResponse, version)
            if version < 4:
                return (
                    response.error_code,
                    response.node_id,
                    response.host,
                    response.port,
                    response.error_message,
                )
            assert [each.key for each in response.coordinators] == ["g", "h"]
            each = response.coordinators[1]
            return each.error_code, each.node_id, each.host, each.port, each.error_message

        assert (await find(0))[:4] == (0, 3, "here", 9092)
        if version >= 1:
            assert (await find(1))[:4] == (0, 3, "here", 9092)
            code, node, host, port, message = await find(9)
            assert (code, node, host, port) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
            assert message
        desk.coordinator_refusal = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
        for type in (0, 1) if version >= 1 else (0,):
            assert (await find(type))[0] == ErrorCode.COORDINATOR_NOT_AVAILABLE

    with_desk(main)


@pytest.mark.parametrize("version", range(10))
def test_join_sync_heartbeat_and_leave(version: int) -> None:
    async def main(desk: Desk) -> None:
        member = await joined(desk, version)
        assert (member.generation_id, member.protocol_name, member.leader) == (1, "range", member.member_id)
        assert member.protocol_type == ("consumer" if version >= 7 else None)
        assert [each.metadata for each in member.members] == [subscription("t")]
        (described,) = (
            await desk.ask(describe_groups, DescribeGroupsRequest(groups=["g"]), DescribeGroupsResponse, 0)
        ).groups
        assert described.members[0].client_host == "/10.0.0.9"

        answer = await synced(desk, member, min(version, 5))
        assert (answer.error_code, answer.assignment) == (0, b"part")
        assert answer.protocol_name == ("range" if version >= 5 else None)

        alive = HeartbeatRequest(group_id="g", generation_id=1, member_id=member.member_id)
        assert (await desk.ask(heartbeat, alive, HeartbeatResponse, min(version, 4))).error_code == 0

        leave = LeaveGroupRequest(
            group_id="g",
            member_id=member.member_id,
            members=[
                LeaveGroupRequestMember(member_id=member.member_id),
                LeaveGroupRequestMember(member_id="x"),
            ],
        )
        gone = await desk.ask(leave_group, leave, LeaveGroupResponse, min(version, 5))
        assert gone.error_code == 0
        if version >= 3:
            assert [each.error_code for each in gone.members] == [0, ErrorCode.UNKNOWN_MEMBER_ID]
        gone = await desk.ask(leave_group, leave, LeaveGroupResponse, min(version, 5))
        errors = [gone.error_code] if version < 3 else [each.error_code for each in gone.members]
        assert set(errors) == {ErrorCode.UNKNOWN_MEMBER_ID}
        refused = await desk.ask(heartbeat, alive, HeartbeatResponse, min(version, 4))
        assert refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    with_desk(main)


@pytest.mark.parametrize("version", range(10))
def test_a_refused_join_is_whole_in_every_version(version: int) -> None:
    async def main(desk: Desk) -> None:
        stranger = await desk.ask(join_group, join("stranger"), JoinGroupResponse, version)
        assert (stranger.error_code, stranger.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "stranger")
        assert stranger.protocol_name == (None if version >= 7 else "")
        assert (stranger.generation_id, stranger.leader, stranger.members) == (-1, "", [])
        nameless = await desk.ask(join_group, join(group_id=""), JoinGroupResponse, version)
        assert nameless.error_code == ErrorCode.INVALID_GROUP_ID
        hasty = await desk.ask(join_group, join(session_timeout_ms=1), JoinGroupResponse, version)
        assert hasty.error_code == ErrorCode.INVALID_SESSION_TIMEOUT

    with_desk(main)


@pytest.mark.parametrize("version", range(5, 10))
def test_a_static_leader_is_told_to_leave_the_assignment_alone_in_words_it_knows(version: int) -> None:
    async def main(desk: Desk) -> None:
        first = await joined(desk, version, group_instance_id="i")
        await synced(desk, first, min(version, 5))
        again = await joined(desk, version, group_instance_id="i")
        assert again.generation_id == first.generation_id
        assert again.member_id != first.member_id
        assert again.skip_assignment == (version >= 9)
        assert again.leader == (again.member_id if version >= 9 else first.member_id)

    with_desk(main)


def test_a_sync_of_version_5_must_name_the_protocol() -> None:
    async def main(desk: Desk) -> None:
        member = await joined(desk, 9)
        request = SyncGroupRequest(group_id="g", generation_id=1, member_id=member.member_id)
        assert (
            await desk.ask(sync_group, request, SyncGroupResponse, 5)
        ).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert (await desk.ask(sync_group, request, SyncGroupResponse, 4)).error_code == 0

    with_desk(main)


@pytest.mark.parametrize("version", range(2, 11))
def test_offsets_are_committed_and_found_again(version: int) -> None:
    async def main(desk: Desk) -> None:
        request = commit(at(0, 42, 5, "note"), at(1, 7), at(99, 1))
        response = await desk.ask(offset_commit, request, OffsetCommitResponse, version)
        (topic,) = response.topics
        assert topic.topic_id == (ID.bytes if version >= 10 else bytes(16))
        assert [(each.partition_index, each.error_code) for each in topic.partitions] == [
            (0, 0),
            (1, 0),
            (99, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]

        answer = await desk.ask(offset_fetch, fetch(0, 1, 2, version=version), OffsetFetchResponse, version)
        kept = [
            (each.committed_offset, each.committed_leader_epoch, each.metadata)
            for each in found(answer, version)
        ]
        assert kept == [(42, 5 if version >= 6 else -1, "note"), (7, -1, ""), (-1, -1, "")]
        assert [each.error_code for each in found(answer, version)] == [0, 0, 0]

        answer = await desk.ask(
            offset_fetch, fetch(version=version, everything=True), OffsetFetchResponse, version
        )
        assert [each.partition_index for each in found(answer, version)] == [0, 1]

    with_desk(main)


def test_an_old_fetch_asks_by_partition_and_is_refused_by_partition() -> None:
    async def main(desk: Desk) -> None:
        answer = await desk.ask(offset_fetch, fetch(0, 3, version=1), OffsetFetchResponse, 1)
        assert [
            (each.committed_offset, each.metadata, each.error_code) for each in answer.topics[0].partitions
        ] == [
            (-1, "", 0),
            (-1, "", 0),
        ]
        desk.groups.stop()
        answer = await desk.ask(offset_fetch, fetch(0, 3, version=1), OffsetFetchResponse, 1)
        assert [each.error_code for each in answer.topics[0].partitions] == [ErrorCode.NOT_COORDINATOR] * 2
        for version in range(2, 8):
            answer = await desk.ask(offset_fetch, fetch(0, version=version), OffsetFetchResponse, version)
            assert answer.error_code == ErrorCode.NOT_COORDINATOR
        for version in range(8, 11):
            answer = await desk.ask(offset_fetch, fetch(0, version=version), OffsetFetchResponse, version)
            assert answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR

    with_desk(main)


def test_many_groups_are_fetched_at_once() -> None:
    async def main(desk: Desk) -> None:
        await desk.ask(offset_commit, commit(at(0, 42)), OffsetCommitResponse, 9)
        request = fetch(0, version=9)
        request.groups += [
            OffsetFetchRequestGroup(group_id="h", topics=None),
            OffsetFetchRequestGroup(group_id="g" * 40_000, topics=None),
        ]
        answer = await desk.ask(offset_fetch, request, OffsetFetchResponse, 9)
        assert [(each.group_id[:9], each.error_code, len(each.topics)) for each in answer.groups] == [
            ("g", 0, 1),
            ("h", 0, 0),
            ("g" * 9, ErrorCode.INVALID_GROUP_ID, 0),
        ]

    with_desk(main)


def test_a_topic_id_that_is_nobodys_is_said_to_be() -> None:
    async def main(desk: Desk) -> None:
        request = commit(at(0, 1))
        request.topics[0].topic_id = bytes(15) + b"\x63"
        request.topics += commit(at(1, 2)).topics
        response = await desk.ask(offset_commit, request, OffsetCommitResponse, 10)
        assert [topic.partitions[0].error_code for topic in response.topics] == [
            ErrorCode.UNKNOWN_TOPIC_ID,
            0,
        ]

        asked = fetch(0, 1, version=10)
        assert asked.groups[0].topics is not None
        asked.groups[0].topics[0].topic_id = bytes(15) + b"\x63"
        answer = await desk.ask(offset_fetch, asked, OffsetFetchResponse, 10)
        (topic,) = answer.groups[0].topics
        assert topic.topic_id == bytes(15) + b"\x63"
        assert [(each.committed_offset, each.error_code) for each in topic.partitions] == [
            (-1, ErrorCode.UNKNOWN_TOPIC_ID)
        ] * 2

    with_desk(main)


@pytest.mark.parametrize("version", range(2, 11))
def test_a_member_of_no_group_has_no_generation(version: int) -> None:
    async def main(desk: Desk) -> None:
        request = commit(at(0, 1), generation_id_or_member_epoch=3, member_id="m")
        response = await desk.ask(offset_commit, request, OffsetCommitResponse, version)
        expected = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
        assert response.topics[0].partitions[0].error_code == expected

    with_desk(main)


def test_offsets_of_old_clients_expire_when_they_say() -> None:
    async def main(desk: Desk) -> None:
        for index, version, retention_ms in ((0, 2, 60_000), (1, 4, -1), (2, 5, 60_000)):
            request = commit(at(index, 1), retention_time_ms=retention_ms)
            await desk.ask(offset_commit, request, OffsetCommitResponse, version)
        await asyncio.sleep(1201)  # the first look does not trust the clock yet, the second does
        answer = await desk.ask(offset_fetch, fetch(0, 1, 2, version=9), OffsetFetchResponse, 9)
        assert [each.committed_offset for each in found(answer, 9)] == [-1, 1, 1]

    with_desk(main)


@pytest.mark.parametrize("version", range(7))
def test_a_group_is_described_and_one_that_is_not_there_is_dead(version: int) -> None:
    async def main(desk: Desk) -> None:
        member = await joined(desk, 9)
        await synced(desk, member, 5)
        request = DescribeGroupsRequest(groups=["g", "nobody"], include_authorized_operations=True)
        response = await desk.ask(describe_groups, request, DescribeGroupsResponse, version)
        group, nobody = response.groups
        assert (group.error_code, group.group_id, group.group_state) == (0, "g", "Stable")
        assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
        (described,) = group.members
        assert (described.member_id, described.client_id) == (member.member_id, "client")
        assert (described.member_metadata, described.member_assignment) == (subscription("t"), b"part")
        assert group.authorized_operations == (3400 if version >= 3 else -(2**31))

        assert (nobody.group_state, nobody.members) == ("Dead", [])
        assert nobody.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
        assert bool(nobody.error_message) == (version >= 6)

    with_desk(main)


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed_by_state_and_type(version: int) -> None:
    async def main(desk: Desk) -> None:
        member = await joined(desk, 9)
        await synced(desk, member, 5)
        await desk.ask(
            offset_commit,
            OffsetCommitRequest(group_id="simple", topics=commit(at(0, 1)).topics),
            OffsetCommitResponse,
            9,
        )

        async def listed(states: list[str], types: list[str]) -> list[str]:
            request = ListGroupsRequest(states_filter=states, types_filter=types)
            response = await desk.ask(list_groups, request, ListGroupsResponse, version)
            assert response.error_code == 0
            for each in response.groups:
                assert each.protocol_type == ("consumer" if each.group_id == "g" else "")
                if version >= 4:
                    assert each.group_state == ("Stable" if each.group_id == "g" else "Empty")
                if version >= 5:
                    assert each.group_type == "classic"
            return [each.group_id for each in response.groups]

        assert await listed([], []) == ["g", "simple"]
        if version >= 4:
            assert await listed(["sTABLE"], []) == ["g"]
            assert await listed(["Empty", "Dead"], []) == ["simple"]
            assert await listed(["Unheard"], []) == []
        if version >= 5:
            assert await listed([], ["Classic"]) == ["g", "simple"]
            assert await listed([], ["consumer"]) == []

    with_desk(main)


@pytest.mark.parametrize("version", range(3))
def test_groups_are_deleted_one_by_one(version: int) -> None:
    async def main(desk: Desk) -> None:
        await synced(desk, await joined(desk, 9), 5)
        await desk.ask(
            offset_commit,
            OffsetCommitRequest(group_id="h", topics=commit(at(0, 1)).topics),
            OffsetCommitResponse,
            9,
        )
        request = DeleteGroupsRequest(groups_names=["g", "h", "nobody"])
        response = await desk.ask(delete_groups, request, DeleteGroupsResponse, version)
        assert [(each.group_id, each.error_code) for each in response.results] == [
            ("g", ErrorCode.NON_EMPTY_GROUP),
            ("h", 0),
            ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
        ]

    with_desk(main)


def test_offsets_are_deleted_unless_somebody_reads_the_topic() -> None:
    async def main(desk: Desk) -> None:
        await desk.ask(offset_commit, commit(at(0, 1), topic="u"), OffsetCommitResponse, 9)
        await desk.ask(offset_commit, commit(at(0, 1)), OffsetCommitResponse, 9)
        await synced(desk, await joined(desk, 9), 5)
        one = [OffsetDeleteRequestPartition(partition_index=0)]
        request = OffsetDeleteRequest(
            group_id="g",
            topics=[OffsetDeleteRequestTopic(name=name, partitions=one) for name in ("t", "u", "x")],
        )
        response = await desk.ask(offset_delete, request, OffsetDeleteResponse, 0)
        assert response.error_code == 0
        assert [(topic.name, topic.partitions[0].error_code) for topic in response.topics] == [
            ("t", ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
            ("u", 0),
            ("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]
        everything = await desk.ask(offset_fetch, fetch(version=9, everything=True), OffsetFetchResponse, 9)
        assert [topic.name for topic in everything.groups[0].topics] == ["t"]
        request.group_id = "nobody"
        response = await desk.ask(offset_delete, request, OffsetDeleteResponse, 0)
        assert (response.error_code, response.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])

    with_desk(main)
