"""A member of a group whose every step a test decides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, final

from tests.compat.node import Node
from tests.compat.protocol.line import Line, line

from millstream.errors import ErrorCode
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from millstream.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
)
from millstream.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

JOIN: Final = 9
SYNC: Final = 5
RANGE: Final = (("range", b"mine"),)


@final
class Member:
    def __init__(
        self,
        wire: Line,
        other: Line,
        group: str,
        *,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = RANGE,
        type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 10_000,
    ) -> None:
        self.wire = wire
        self._other = other
        self.group = group
        self.instance = instance
        self.protocols = protocols
        self.type = type
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.id = ""
        self.generation = -1
        self.protocol = ""
        self._asked = 0

    def ask_to_join(self, version: int = JOIN) -> None:
        request = JoinGroupRequest(
            self.group,
            self.session_ms,
            self.rebalance_ms,
            self.id,
            self.instance,
            self.type,
            [JoinGroupRequestProtocol(name, metadata) for name, metadata in self.protocols],
        )
        self._asked = self.wire.send(request, version)
        # Once another line is answered this one has been heard: members join in the order a test says.
        self._other.ask(FindCoordinatorRequest("g"), FindCoordinatorResponse, 2)

    def joined(self, version: int = JOIN) -> JoinGroupResponse:
        """The answer to `ask_to_join`."""
        answer = self.wire.answer(JoinGroupResponse, version, self._asked)
        if answer.error_code in (0, ErrorCode.MEMBER_ID_REQUIRED):
            self.id, self.generation = answer.member_id, answer.generation_id
            self.protocol = answer.protocol_name or ""
        return answer

    def join(self) -> JoinGroupResponse:
        """Ask, again with the id one is given, and be let in."""
        if not self.id and self.instance is None:
            self.ask_to_join()
            assert self.joined().error_code == ErrorCode.MEMBER_ID_REQUIRED
        self.ask_to_join()
        return self.joined()

    def ask_to_sync(
        self, assignments: Mapping[str, bytes] | None = None, generation: int | None = None
    ) -> None:
        request = SyncGroupRequest(
            self.group,
            self.generation if generation is None else generation,
            self.id,
            self.instance,
            self.type,
            self.protocol,
            [SyncGroupRequestAssignment(id, data) for id, data in (assignments or {}).items()],
        )
        self._asked = self.wire.send(request, SYNC)

    def synced(self) -> SyncGroupResponse:
        return self.wire.answer(SyncGroupResponse, SYNC, self._asked)

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> SyncGroupResponse:
        self.ask_to_sync(assignments)
        return self.synced()

    def heartbeat(self) -> int:
        request = HeartbeatRequest(self.group, self.generation, self.id, self.instance)
        return self.wire.ask(request, HeartbeatResponse, 4).error_code

    def leave(self) -> int:
        request = LeaveGroupRequest(self.group, members=[LeaveGroupRequestMember(self.id, self.instance)])
        answer = self.wire.ask(request, LeaveGroupResponse, 5)
        return answer.error_code or answer.members[0].error_code

    def commit(self, topic: str, offset: int, *, partition: int = 0, metadata: str | None = "") -> int:
        place = OffsetCommitRequestPartition(partition, offset, 0, metadata)
        request = OffsetCommitRequest(
            self.group,
            self.generation,
            self.id,
            group_instance_id=self.instance,
            topics=[OffsetCommitRequestTopic(topic, partitions=[place])],
        )
        (answer,) = self.wire.ask(request, OffsetCommitResponse, 9).topics
        return answer.partitions[0].error_code


@contextmanager
def members(node: Node) -> Iterator[Callable[..., Member]]:
    """Makes members, each with a connection of its own; arguments as for `Member`, without its line."""
    with ExitStack() as lines:
        other = lines.enter_context(line(node))
        other.ask(FindCoordinatorRequest("g"), FindCoordinatorResponse, 2)

        def make(group: str, **settings: Any) -> Member:
            return Member(lines.enter_context(line(node)), other, group, **settings)

        yield make


def rebalance(first: Member, *others: Member) -> list[JoinGroupResponse]:
    """Let *first*, the leader or a newcomer, start a rebalance of a group at rest, and *others* take part."""
    first.ask_to_join()
    for each in others:
        while each.heartbeat() == 0:
            pass  # until the word has got round: each has a connection of its own
        each.ask_to_join()
    return [each.joined() for each in (first, *others)]


def share(*all: Member) -> None:
    """Let the group come to rest: the leader gives each member its own id, as bytes."""
    for each in all:
        each.ask_to_sync({other.id: other.id.encode() for other in all})
    for each in all:
        answer = each.synced()
        assert (answer.error_code, bytes(answer.assignment)) == (0, each.id.encode())
