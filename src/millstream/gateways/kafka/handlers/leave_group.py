"""LeaveGroup (key 13), versions 0 to 5: members go.

Behaviour
- The last to leave makes the group Empty, which starts the clock for its offsets.
- A static member is removed by its instance id alone if no member id is given: an operator's way.

Versions
- 1   throttle time
- 3   many at once, and an error for each
- 4   flexible
- 5   reason
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.outcomes import Leaver, Left
from millstream.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeaveGroupResponseMember,
)

_MANY_FROM: Final = 3


def handle(
    broker: Broker, session: Session, request: LeaveGroupRequest, version: int
) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    if version >= _MANY_FROM:
        leavers = [Leaver(each.member_id, each.group_instance_id) for each in request.members]
    else:
        leavers = [Leaver(request.member_id)]
    return once_settled(broker.groups.leave(request.group_id, leavers), partial(_answer, version=version))


def _answer(left: "asyncio.Future[Left]", version: int) -> LeaveGroupResponse:
    try:
        answer = left.result()
    except Refused as refusal:
        return LeaveGroupResponse(error_code=refusal.code)
    if version < _MANY_FROM:
        ((_, error),) = answer.members
        return LeaveGroupResponse(error_code=error)
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponseMember(
                member_id=leaver.member_id, group_instance_id=leaver.instance_id, error_code=error
            )
            for leaver, error in answer.members
        ]
    )
