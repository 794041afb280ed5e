"""SyncGroup (key 14), versions 0 to 5: the leader says who does what, and everyone is told their part.

Behaviour
- Followers wait for the leader; in a stable group the answer is at hand.
- Assignments are passed on unread. A member the leader left out gets an empty one.
- An assignment is told when it is committed: after a restart the group goes on with it.

Versions
- 1   throttle time
- 3   static members
- 4   flexible
- 5   protocol type and name, which must be given and must be the group's
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.outcomes import Sync, Synced
from millstream.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_FROM: Final = 5


def handle(
    broker: Broker, session: Session, request: SyncGroupRequest, version: int
) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
    if version >= _PROTOCOL_FROM and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    sync = Sync(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments=tuple((each.member_id, each.assignment) for each in request.assignments),
    )
    return once_settled(broker.groups.sync(request.group_id, sync), _answer)


def _answer(synced: "asyncio.Future[Synced]") -> SyncGroupResponse:
    try:
        answer = synced.result()
    except Refused as refusal:
        return SyncGroupResponse(error_code=refusal.code)
    return SyncGroupResponse(
        protocol_type=answer.protocol_type, protocol_name=answer.protocol, assignment=answer.assignment
    )
