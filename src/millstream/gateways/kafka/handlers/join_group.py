"""JoinGroup (key 11), versions 0 to 9: become a member of a group, or stay one through a rebalance.

Behaviour
- The answer comes when the rebalance has all it waits for; one who hangs up is not waited for longer than
  its session.
- A newcomer without an id is sent back with one: MEMBER_ID_REQUIRED. Static members, known by their
  instance id, and older clients are let in at once.
- Only the leader is told who the members are.
- What a member says of itself in metadata is passed on unread; its size is limited by group.member.max.bytes.

Versions
- 1   rebalance timeout; before, the session timeout is taken for it
- 2   throttle time
- 4   MEMBER_ID_REQUIRED
- 5   static members
- 6   flexible
- 7   protocol type in the answer, and no protocol name with an error
- 8   reason
- 9   skip_assignment: a static leader that came back leads on, and the assignment stands
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.outcomes import Join, Joined, MemberIdGiven
from millstream.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

_IDS_REQUIRED_FROM: Final = 4
_NO_NAME_FROM: Final = 7
_SKIPPING_FROM: Final = 9


def handle(
    broker: Broker, session: Session, request: JoinGroupRequest, version: int
) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    join = Join(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=session.client_id,
        client_host=f"/{session.client_host}",  # with a slash before it, as Java prints addresses
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, each.metadata) for each in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        knows_two_steps=version >= _IDS_REQUIRED_FROM,
        knows_skipping=version >= _SKIPPING_FROM,
    )
    joined = broker.groups.join(request.group_id, join)
    return once_settled(joined, partial(_answer, member_id=request.member_id, version=version))


def _answer(
    joined: "asyncio.Future[Joined | MemberIdGiven]", member_id: str, version: int
) -> JoinGroupResponse:
    no_name = None if version >= _NO_NAME_FROM else ""
    try:
        answer = joined.result()
    except Refused as refusal:
        return JoinGroupResponse(error_code=refusal.code, member_id=member_id, protocol_name=no_name)
    if isinstance(answer, MemberIdGiven):
        return JoinGroupResponse(
            error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=answer.member_id, protocol_name=no_name
        )
    return JoinGroupResponse(
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=each.id, group_instance_id=each.instance_id, metadata=each.metadata
            )
            for each in answer.members
        ],
    )
