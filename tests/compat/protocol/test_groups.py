"""Classic groups: kafka-compat §5.7, by its numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.compat.node import Node
from tests.compat.protocol.line import Line
from tests.compat.protocol.member import Member, members, rebalance, share

from millstream.errors import ErrorCode
from millstream.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

Make = Callable[..., Member]


def pair(member: Make, group: str) -> tuple[Member, Member]:
    """A leader and a follower of a group at rest."""
    first, second = member(group), member(group)
    first.join()
    share(first)
    second.ask_to_join()
    assert second.joined().error_code == ErrorCode.MEMBER_ID_REQUIRED
    rebalance(second, first)
    share(first, second)
    return first, second


def test_5_7_1_a_group_is_looked_after_by_the_leader_of_its_partition(wire: Line, name: str) -> None:
    """On one node by this one, whichever way it is asked for."""
    for version in range(4):
        found = wire.ask(FindCoordinatorRequest(name), FindCoordinatorResponse, version)
        assert (found.error_code, found.node_id) == (0, 1)
    for version in range(4, 7):
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[name, "other"])
        several = wire.ask(asked, FindCoordinatorResponse, version).coordinators
        assert [(each.key, each.error_code, each.node_id) for each in several] == [
            (name, 0, 1),
            ("other", 0, 1),
        ]


def test_5_7_2_the_states_of_a_group(member: Make, wire: Line, name: str) -> None:
    def state() -> str:
        return wire.ask(DescribeGroupsRequest([name]), DescribeGroupsResponse, 5).groups[0].group_state

    assert state() == "Dead"
    first, second = member(name), member(name)
    first.join()
    assert state() == "CompletingRebalance"
    share(first)
    assert state() == "Stable"
    second.ask_to_join()
    second.joined()
    second.ask_to_join()
    while first.heartbeat() == 0:
        pass
    assert state() == "PreparingRebalance"
    first.ask_to_join()
    first.joined(), second.joined()
    assert first.leave() == second.leave() == 0
    assert state() == "Empty"


def test_5_7_2_who_comes_first_waits_a_little_for_others(tmp_path: Path, name: str) -> None:
    """Until nobody has come for that long: the second waits as the first does, and both begin together."""
    node = Node(tmp_path / "data", {"group.initial.rebalance.delay.ms": 3000})
    with members(node) as make:
        first, second = make(name, instance="1"), make(name, instance="2")
        first.ask_to_join()
        second.ask_to_join()
        assert [first.joined().generation_id, second.joined().generation_id] == [1, 1]
    node.close()


def test_5_7_3_a_newcomer_is_given_an_id(member: Make, name: str) -> None:
    one = member(name)
    one.ask_to_join()
    answer = one.joined()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("line-")
    one.ask_to_join()
    assert (one.joined().error_code, one.generation) == (0, 1)

    stranger = member(name)
    stranger.id = "line-of-my-own"
    stranger.ask_to_join()
    assert stranger.joined().error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_5_7_3_older_clients_are_let_in_at_once(member: Make, name: str, version: int) -> None:
    one = member(name)
    one.ask_to_join(version)
    answer = one.joined(version)
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, answer.member_id)


def test_5_7_4_limits_of_what_may_be_asked(tmp_path: Path, member: Make, name: str) -> None:
    for session_ms in (999, 1_800_001):
        one = member(name, session_ms=session_ms)
        one.ask_to_join()
        assert one.joined().error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    nameless = member("")
    nameless.ask_to_join()
    assert nameless.joined().error_code == ErrorCode.INVALID_GROUP_ID

    node = Node(tmp_path / "data", {"group.max.size": 1})
    with members(node) as make:
        make(name).join()
        late = make(name)
        late.ask_to_join()
        assert late.joined().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    node.close()


def test_5_7_5_members_must_have_something_in_common(member: Make, name: str) -> None:
    member(name).join()
    for odd in (
        member(name, type="connect"),
        member(name, protocols=[("other", b"")]),
        member(name, protocols=[]),
    ):
        odd.ask_to_join()
        assert odd.joined().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_5_7_5_the_protocol_most_like_first_is_chosen(member: Make, name: str) -> None:
    both = [("a", b""), ("b", b"")]
    first, second, third = (
        member(name, protocols=each, instance=str(i)) for i, each in enumerate((both, both[::-1], both[::-1]))
    )
    assert first.join().protocol_name == "a"
    share(first)
    rebalance(second, first)
    share(first, second)
    answers = rebalance(third, first, second)
    assert {answer.protocol_name for answer in answers} == {"b"}


def test_5_7_6_only_the_leader_learns_who_there_is(member: Make, name: str) -> None:
    first, second = pair(member, name)
    led, followed = rebalance(first, second)
    assert first.generation == second.generation == 3
    assert led.leader == followed.leader == first.id
    assert {each.member_id for each in led.members} == {first.id, second.id}
    assert {bytes(each.metadata) for each in led.members} == {b"mine"}
    assert followed.members == []
    assert led.protocol_type == followed.protocol_type == "consumer"


def test_5_7_6_who_does_not_come_back_in_time_is_out(member: Make, name: str) -> None:
    first, second = member(name, rebalance_ms=300), member(name, rebalance_ms=300)
    first.join()
    share(first)
    second.ask_to_join()
    second.joined()
    second.ask_to_join()  # the first is asked to come again, and stays away
    answer = second.joined()
    assert (answer.error_code, answer.leader, len(answer.members)) == (0, second.id, 1)
    assert first.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_5_7_7_who_comes_again_for_nothing_is_told_the_same(member: Make, name: str) -> None:
    first, second = pair(member, name)
    second.ask_to_join()
    answer = second.joined()
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 2, first.id)
    assert first.heartbeat() == 0

    second.protocols = [("range", b"something new")]
    second.ask_to_join()
    first.ask_to_join()
    assert [each.joined().generation_id for each in (first, second)] == [3, 3]


def test_5_7_8_sync(member: Make, name: str) -> None:
    first, second = pair(member, name)
    assert bytes(second.sync().assignment) == second.id.encode()  # at rest: what it is

    second.ask_to_sync(generation=1)
    assert second.synced().error_code == ErrorCode.ILLEGAL_GENERATION
    stranger = member(name)
    stranger.id, stranger.generation, stranger.protocol = "nobody", 2, "range"
    assert stranger.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    second.protocol = "other"
    assert second.sync().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    second.protocol = first.protocol

    first.ask_to_join()
    while second.heartbeat() == 0:
        pass
    assert second.sync().error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_5_7_9_heartbeats(member: Make, name: str) -> None:
    first, second = pair(member, name)
    assert [first.heartbeat(), second.heartbeat()] == [0, 0]
    first.ask_to_join()
    while second.heartbeat() == 0:
        pass
    assert second.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    second.ask_to_join()
    first.joined(), second.joined()
    assert second.heartbeat() == 0  # waiting for the leader's word
    second.generation = 1
    assert second.heartbeat() == ErrorCode.ILLEGAL_GENERATION


def test_5_7_9_who_is_not_heard_of_is_out(member: Make, name: str) -> None:
    first, second = member(name, session_ms=1_000), member(name)
    first.join()
    share(first)
    second.ask_to_join()
    second.joined()
    rebalance(second, first)
    share(first, second)
    while second.heartbeat() == 0:  # the first says nothing any more
        pass
    second.ask_to_join()
    assert len(second.joined().members) == 1


def test_5_7_11_a_static_member_comes_back_unnoticed(member: Make, name: str) -> None:
    first, second = member(name, instance="one"), member(name, instance="two")
    first.join()
    share(first)
    rebalance(second, first)
    share(first, second)

    again = member(name, instance="two")
    answer = again.join()
    assert (answer.error_code, again.generation) == (0, second.generation)
    assert again.id != second.id
    assert bytes(again.sync().assignment) == second.id.encode()
    assert first.heartbeat() == again.heartbeat() == 0
    assert second.heartbeat() == ErrorCode.FENCED_INSTANCE_ID
    assert second.commit("t", 1) == ErrorCode.FENCED_INSTANCE_ID


def test_5_7_11_a_static_leader_comes_back_unnoticed(member: Make, name: str) -> None:
    first, second = member(name, instance="one"), member(name, instance="two")
    first.join()
    share(first)
    rebalance(second, first)
    share(first, second)

    again = member(name, instance="one")
    answer = again.join()
    assert (answer.error_code, answer.leader, answer.skip_assignment) == (0, again.id, True)
    assert bytes(again.sync().assignment) == first.id.encode()
    assert second.heartbeat() == 0


def test_5_7_12_members_that_rejoin_twice_are_kept(member: Make, name: str) -> None:
    first, second = pair(member, name)
    for generation in (3, 4):
        rebalance(first, second)
        share(first, second)
        assert first.generation == second.generation == generation


def test_5_7_13_the_last_one_out(member: Make, name: str) -> None:
    only = member(name)
    only.join()
    share(only)
    assert only.leave() == 0
    assert only.leave() == only.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    again = member(name)
    assert again.join().generation_id == 3


def test_5_7_15_other_protocols_and_noise_are_welcome(member: Make, name: str) -> None:
    one = member(name, type="connect", protocols=[("sessioned", b"\xff\xfe not for you to read")])
    answer = one.join()
    assert bytes(answer.members[0].metadata) == b"\xff\xfe not for you to read"
    assert bytes(one.sync({one.id: b"\x00\xff"}).assignment) == b"\x00\xff"
