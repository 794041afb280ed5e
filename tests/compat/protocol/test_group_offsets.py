"""What groups keep: kafka-compat §5.7.10 to 14, and what §4 says of the answers."""

from collections.abc import Callable

import pytest
from tests.compat.protocol.asking import create
from tests.compat.protocol.line import Line
from tests.compat.protocol.member import Member, share

from millstream.client.consumer_protocol import Subscription
from millstream.errors import ErrorCode
from millstream.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from millstream.wire.messages.list_groups import (
    ListGroupsRequest,
    ListGroupsResponse,
    ListGroupsResponseGroup,
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
)

Make = Callable[..., Member]


@pytest.fixture
def topic(wire: Line, name: str) -> str:
    create(wire, f"{name}-topic", 2)
    return f"{name}-topic"


def fetched(wire: Line, group: str, topic: str, partition: int = 0) -> OffsetFetchResponseGroupPartition:
    asked = OffsetFetchRequestGroupTopic(topic, partition_indexes=[partition])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=[asked])])
    (answer,) = wire.ask(request, OffsetFetchResponse, 9).groups
    assert answer.error_code == 0
    return answer.topics[0].partitions[0]


def test_5_7_10_without_a_generation_as_long_as_nobody_is_there(
    member: Make, wire: Line, name: str, topic: str
) -> None:
    outsider, insider = member(name), member(name)
    assert outsider.commit(topic, 5) == 0
    insider.join()
    share(insider)
    assert outsider.commit(topic, 6) == ErrorCode.UNKNOWN_MEMBER_ID
    assert insider.commit(topic, 7) == 0
    insider.leave()
    assert outsider.commit(topic, 8) == 0
    assert fetched(wire, name, topic).committed_offset == 8


def test_5_7_10_in_the_right_generation(member: Make, name: str, topic: str) -> None:
    one = member(name)
    one.join()
    assert one.commit(topic, 1) == ErrorCode.REBALANCE_IN_PROGRESS  # before it knows its part
    share(one)
    assert one.commit(topic, 1) == 0
    one.generation = 7
    assert one.commit(topic, 1) == ErrorCode.ILLEGAL_GENERATION


def test_5_7_10_while_others_are_asked_to_rejoin(member: Make, name: str, topic: str) -> None:
    one, other = member(name), member(name)
    one.join()
    share(one)
    other.ask_to_join()
    other.joined()
    other.ask_to_join()
    while one.heartbeat() == 0:
        pass
    assert one.commit(topic, 3) == 0
    one.ask_to_join()
    assert one.joined().error_code == other.joined().error_code == 0


def test_5_7_10_notes_and_unknown_places(member: Make, wire: Line, name: str, topic: str) -> None:
    one = member(name)
    assert one.commit(topic, 1, metadata="x" * 4096) == 0
    assert one.commit(topic, 2, metadata="x" * 4097) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert one.commit("no-such-topic", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert one.commit(topic, 1, partition=9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    kept = fetched(wire, name, topic)
    assert (kept.committed_offset, kept.committed_leader_epoch, kept.metadata) == (1, 0, "x" * 4096)


def test_4_7_nothing_committed_is_no_error(member: Make, wire: Line, name: str, topic: str) -> None:
    """Whether or not there is such a group, or such a partition."""
    member(name).commit(topic, 5, metadata=None)
    assert fetched(wire, name, topic).metadata == ""
    for group, place in ((name, (topic, 1)), (name, ("no-such-topic", 0)), ("no-such-group", (topic, 0))):
        found = fetched(wire, group, *place)
        assert (found.committed_offset, found.committed_leader_epoch) == (-1, -1)
        assert (found.metadata, found.error_code) == ("", 0)
    for version in range(1, 8):
        request = OffsetFetchRequest("no-such-group", [OffsetFetchRequestTopic(topic, [0])])
        answer = wire.ask(request, OffsetFetchResponse, version)
        (place_,) = answer.topics[0].partitions
        assert (answer.error_code, place_.committed_offset, place_.metadata) == (0, -1, "")


def test_5_7_14_groups_that_are_not_there(wire: Line, name: str) -> None:
    for version in range(7):
        (told,) = wire.ask(DescribeGroupsRequest([name]), DescribeGroupsResponse, version).groups
        code = ErrorCode.GROUP_ID_NOT_FOUND if version == 6 else 0
        assert (told.error_code, told.group_state, told.members) == (code, "Dead", [])
    for version in range(3):
        (gone,) = wire.ask(DeleteGroupsRequest([name]), DeleteGroupsResponse, version).results
        assert gone.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_5_7_14_groups_at_work(member: Make, wire: Line, name: str, topic: str) -> None:
    one = member(name, protocols=[("range", Subscription((topic,)).encode())])
    one.join()
    share(one)
    one.commit(topic, 5)
    (told,) = wire.ask(DescribeGroupsRequest([name], True), DescribeGroupsResponse, 5).groups
    assert (told.group_state, told.protocol_type, told.protocol_data) == ("Stable", "consumer", "range")
    (only,) = told.members
    assert (only.member_id, only.client_id, only.client_host) == (one.id, "line", "/127.0.0.1")
    assert bytes(only.member_assignment) == one.id.encode()

    (gone,) = wire.ask(DeleteGroupsRequest([name]), DeleteGroupsResponse, 2).results
    assert gone.error_code == ErrorCode.NON_EMPTY_GROUP
    place = OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])
    deleted = wire.ask(OffsetDeleteRequest(name, [place]), OffsetDeleteResponse, 0)
    assert deleted.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC

    one.leave()
    deleted = wire.ask(OffsetDeleteRequest(name, [place]), OffsetDeleteResponse, 0)
    assert (deleted.error_code, deleted.topics[0].partitions[0].error_code) == (0, 0)
    assert fetched(wire, name, topic).committed_offset == -1
    (gone,) = wire.ask(DeleteGroupsRequest([name]), DeleteGroupsResponse, 2).results
    assert gone.error_code == 0


def test_5_7_14_lists_and_filters(member: Make, wire: Line, name: str) -> None:
    def listed(request: ListGroupsRequest, version: int) -> list[ListGroupsResponseGroup]:
        answer = wire.ask(request, ListGroupsResponse, version)
        return [group for group in answer.groups if group.group_id == name]

    one = member(name)
    one.join()
    share(one)
    for version in range(6):
        (told,) = listed(ListGroupsRequest(), version)
        assert told.protocol_type == "consumer"
        assert told.group_state == ("Stable" if version >= 4 else "")
        assert told.group_type == ("classic" if version >= 5 else "")
    assert listed(ListGroupsRequest(["stable"], ["Classic"]), 5)
    assert not listed(ListGroupsRequest(["Empty"]), 4)
    assert not listed(ListGroupsRequest([], ["consumer", "share"]), 5)
    assert not listed(ListGroupsRequest(["nonsense"]), 5)


def test_4_8_a_note_beside_an_offset_comes_back_as_it_was(
    member: Make, wire: Line, name: str, topic: str
) -> None:
    for note in ("", " ", "\0", '{"a": [1]}', "ä\U0001f980\n", "x" * 4096):
        assert member(name).commit(topic, 5, metadata=note) == 0
        assert fetched(wire, name, topic).metadata == note
