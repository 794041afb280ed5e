"""Groups of the newer protocol, KIP-848: kafka-compat §5.8, by its numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import pytest
from tests.compat.node import Node
from tests.compat.protocol.asking import create
from tests.compat.protocol.line import Line, line
from tests.compat.protocol.member import RANGE, Member

from millstream.client.consumer_protocol import Subscription
from millstream.errors import ErrorCode
from millstream.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from millstream.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopic,
    ConsumerGroupHeartbeatResponse,
)
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchResponse,
)

JOIN, LEAVE, BACK_SOON = 0, -1, -2
STALE: Final = ErrorCode.STALE_MEMBER_EPOCH


@final
class Modern:
    """One member, one heartbeat at a time; remembers its epoch and what it was last given."""

    def __init__(self, wire: Line, group: str, id: str, instance: str | None = None) -> None:
        self.wire = wire
        self.group = group
        self.id = id
        self.instance = instance
        self.epoch = JOIN
        self.given: dict[bytes, list[int]] = {}
        wire.ask(FindCoordinatorRequest(group), FindCoordinatorResponse, 2)

    def beat(
        self,
        epoch: int | None = None,
        *,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        owned: dict[bytes, list[int]] | None = None,
        assignor: str | None = None,
        rebalance_ms: int = -1,
        version: int = 1,
    ) -> ConsumerGroupHeartbeatResponse:
        """Everything that is None has not changed."""
        request = ConsumerGroupHeartbeatRequest(
            self.group,
            self.id,
            self.epoch if epoch is None else epoch,
            self.instance,
            None,
            rebalance_ms,
            None if topics is None else list(topics),
            regex,
            assignor,
            None
            if owned is None
            else [ConsumerGroupHeartbeatRequestTopic(id, parts) for id, parts in owned.items()],
        )
        answer = self.wire.ask(request, ConsumerGroupHeartbeatResponse, version)
        if not answer.error_code:
            self.id, self.epoch = answer.member_id or "", answer.member_epoch
            if answer.assignment is not None:
                self.given = {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}
        return answer

    def join(self, *topics: str, version: int = 1) -> ConsumerGroupHeartbeatResponse:
        return self.beat(JOIN, topics=topics, owned={}, rebalance_ms=60_000, version=version)

    def commit(self, topic: str, offset: int, *, id: bytes | None = None) -> int:
        place = OffsetCommitRequestPartition(0, offset, -1, "")
        named = OffsetCommitRequestTopic(topic, partitions=[place])
        if id is not None:
            named = OffsetCommitRequestTopic(topic_id=id, partitions=[place])
        request = OffsetCommitRequest(self.group, self.epoch, self.id, topics=[named])
        (answer,) = self.wire.ask(request, OffsetCommitResponse, 9 if id is None else 10).topics
        return answer.partitions[0].error_code


def committed(wire: Line, member: Modern, topic: str, *, id: bytes | None = None) -> tuple[int, int]:
    """The error of the group or else of the partition, and the offset."""
    asked = OffsetFetchRequestGroupTopic(topic, partition_indexes=[0])
    if id is not None:
        asked = OffsetFetchRequestGroupTopic(topic_id=id, partition_indexes=[0])
    group = OffsetFetchRequestGroup(member.group, member.id, member.epoch, [asked])
    request = OffsetFetchRequest(groups=[group])
    (answer,) = wire.ask(request, OffsetFetchResponse, 9 if id is None else 10).groups
    if answer.error_code:
        return answer.error_code, -1
    found = answer.topics[0].partitions[0]
    return found.error_code, found.committed_offset


def test_5_8_1_a_member_comes_stays_and_goes(wire: Line, name: str) -> None:
    id = create(wire, name, 2)
    one = Modern(wire, name, "one")
    joined = one.join(name)
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "one", 1)
    assert joined.heartbeat_interval_ms == 5000
    assert one.given == {id: [0, 1]}
    again = one.beat()
    assert (again.error_code, again.member_epoch, again.assignment) == (0, 1, None)
    assert one.beat(LEAVE).member_epoch == LEAVE
    assert one.beat(1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_5_8_1_who_makes_up_the_id(wire: Line, name: str) -> None:
    create(wire, name)
    given = Modern(wire, name, "")
    assert given.join(name, version=1).error_code == ErrorCode.INVALID_REQUEST
    assert given.join(name, version=0).error_code == 0
    assert given.id


def test_5_8_1_a_static_member_is_back_soon(wire: Line, name: str) -> None:
    id = create(wire, name)
    first = Modern(wire, name, "first", instance="static")
    assert first.join(name).error_code == 0
    assert first.beat(BACK_SOON).member_epoch == BACK_SOON
    second = Modern(wire, name, "second", instance="static")
    assert second.join(name).error_code == 0
    assert second.given == {id: [0]}
    assert second.epoch == 1  # nothing moved, so nobody else noticed
    passing = Modern(wire, name, "passing")
    assert passing.beat(BACK_SOON).error_code == ErrorCode.INVALID_REQUEST


def test_5_8_2_what_is_not_said_has_not_changed(wire: Line, name: str) -> None:
    id, other = create(wire, name), create(wire, f"{name}-other")
    one = Modern(wire, name, "one")
    one.join(name)
    assert one.beat().assignment is None
    assert one.beat(topics=[name, f"{name}-other"], owned=one.given).error_code == 0
    assert one.given == {id: [0], other: [0]}
    (told,) = wire.ask(ConsumerGroupDescribeRequest([name]), ConsumerGroupDescribeResponse, 1).groups
    assert set(told.members[0].subscribed_topic_names) == {name, f"{name}-other"}


def test_5_8_2_and_all_must_be_said_by_who_joins(wire: Line, name: str) -> None:
    create(wire, name)
    one = Modern(wire, name, "one")
    assert one.beat(JOIN, topics=[name], owned={}).error_code == ErrorCode.INVALID_REQUEST
    assert one.beat(JOIN, topics=[name], rebalance_ms=1000).error_code == ErrorCode.INVALID_REQUEST
    assert one.beat(JOIN, owned={}, rebalance_ms=1000).error_code == ErrorCode.INVALID_REQUEST


def test_5_8_3_ways_to_be_refused(tmp_path: Path, wire: Line, name: str) -> None:
    create(wire, name)
    one = Modern(wire, name, "one")
    odd = one.beat(JOIN, topics=[name], owned={}, rebalance_ms=1000, assignor="sticky")
    assert odd.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert odd.error_message
    bad = one.beat(JOIN, topics=[], regex="(", owned={}, rebalance_ms=1000)
    assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert one.beat(3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    one.instance = "static"
    assert one.join(name).error_code == 0
    assert one.beat(7).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    double = Modern(wire, name, "double", instance="static")
    assert double.join(name).error_code == ErrorCode.UNRELEASED_INSTANCE_ID

    node = Node(tmp_path / "data", {"group.consumer.max.size": 1})
    with line(node) as alone:
        create(alone, name)
        assert Modern(alone, name, "one").join(name).error_code == 0
        late = Modern(alone, name, "late").join(name)
        assert late.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    node.close()


def test_5_8_3_an_answer_that_was_lost_is_given_again(wire: Line, name: str) -> None:
    id = create(wire, name, 2)
    one, two = Modern(wire, name, "one"), Modern(wire, name, "two")
    one.join(name)
    two.join(name)
    one.beat()
    kept = dict(one.given)
    assert len(kept[id]) == 1
    one.beat(owned=kept)
    assert one.epoch == 2
    before = one.beat(1, topics=[name], owned=kept, rebalance_ms=60_000)
    assert (before.error_code, before.member_epoch) == (0, 2)
    more = one.beat(1, topics=[name], owned={id: [0, 1]}, rebalance_ms=60_000)
    assert more.error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_5_8_4_nothing_changes_hands_before_it_is_let_go(wire: Line, name: str) -> None:
    id = create(wire, name, 4)
    one, two = Modern(wire, name, "one"), Modern(wire, name, "two")
    one.join(name)
    assert two.join(name).error_code == 0
    assert two.given == {}
    one.beat()
    assert len(one.given[id]) == 2
    for _ in range(3):
        two.beat()
        assert two.given == {}  # the first still holds it, for all that is known
    one.beat(owned=one.given)
    two.beat()
    assert sorted(one.given[id] + two.given[id]) == [0, 1, 2, 3]
    assert one.epoch == two.epoch == 2


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_5_8_4_how_partitions_are_shared_out_may_be_said(wire: Line, name: str, assignor: str) -> None:
    create(wire, name, 3)
    one = Modern(wire, name, "one")
    one.beat(JOIN, topics=[name], owned={}, rebalance_ms=60_000, assignor=assignor)
    (told,) = wire.ask(ConsumerGroupDescribeRequest([name]), ConsumerGroupDescribeResponse, 1).groups
    assert (told.error_code, told.group_state, told.assignor_name) == (0, "Stable", assignor)


def test_5_8_4_who_is_slow_to_let_go_is_out(wire: Line, name: str) -> None:
    id = create(wire, name, 2)
    slow, other = Modern(wire, name, "slow"), Modern(wire, name, "other")
    slow.beat(JOIN, topics=[name], owned={}, rebalance_ms=200)
    other.join(name)
    slow.beat()  # is told to let go, and does not
    while other.given.get(id) != [0, 1]:
        assert other.beat(owned=other.given).error_code == 0
    assert slow.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_5_8_5_offsets_are_the_business_of_members(wire: Line, name: str) -> None:
    id = create(wire, name)
    one = Modern(wire, name, "one")
    one.join(name)
    assert one.commit(name, 5) == 0
    assert committed(wire, one, name) == (0, 5)
    assert one.commit(name, 6, id=id) == 0
    assert committed(wire, one, name, id=id) == (0, 6)
    assert one.commit(name, 6, id=b"\x07" * 16) == ErrorCode.UNKNOWN_TOPIC_ID
    assert committed(wire, one, name, id=b"\x07" * 16) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)
    one.epoch = 9
    assert one.commit(name, 7) == STALE
    assert committed(wire, one, name) == (STALE, -1)
    one.id = "nobody"
    assert one.commit(name, 7) == ErrorCode.UNKNOWN_MEMBER_ID
    assert committed(wire, one, name) == (ErrorCode.UNKNOWN_MEMBER_ID, -1)


def test_5_8_6_the_broker_looks_for_topics_that_match(wire: Line, name: str) -> None:
    first = create(wire, f"{name}-a1")
    create(wire, f"{name}-b")
    one = Modern(wire, name, "one")
    joined = one.beat(JOIN, topics=[], regex=f"{name}-a[0-9]", owned={}, rebalance_ms=60_000)
    assert joined.error_code == 0
    assert one.given == {first: [0]}
    second = create(wire, f"{name}-a2")
    create(wire, f"{name}-a22")  # the whole name must match
    while second not in one.given:
        assert one.beat(owned=one.given).error_code == 0
    assert one.given == {first: [0], second: [0]}


def test_5_8_6_a_group_goes_over_to_the_newer_protocol_and_back(node: Node, wire: Line, name: str) -> None:
    create(wire, name, 2)
    with line(node) as old_line:
        old = Member(old_line, wire, name, protocols=[(RANGE[0][0], Subscription((name,)).encode())])
        old.join()
        old.sync({old.id: b""})
        new = Modern(wire, name, "new")
        assert new.join(name).error_code == 0
        (told,) = wire.ask(ConsumerGroupDescribeRequest([name]), ConsumerGroupDescribeResponse, 1).groups
        assert {each.member_type for each in told.members} == {0, 1}
        assert old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
        assert new.beat(LEAVE).error_code == 0
        (told,) = wire.ask(ConsumerGroupDescribeRequest([name]), ConsumerGroupDescribeResponse, 1).groups
        assert told.error_code == ErrorCode.GROUP_ID_NOT_FOUND  # it is a classic one again
