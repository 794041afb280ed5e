"""Heartbeat (key 12), versions 0 to 4: a member is alive, and asks if anything is new.

Behaviour
- REBALANCE_IN_PROGRESS while the group waits for members to join again; the session goes on all the same.
- While a group is being loaded every heartbeat is welcome.

Versions
- 1   throttle time
- 3   static members
- 4   flexible
"""

import asyncio
from collections.abc import Awaitable

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.kafka.settled import once_settled
from millstream.groups.outcomes import Heard
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(
    broker: Broker, session: Session, request: HeartbeatRequest, version: int
) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
    heard = broker.groups.heartbeat(
        request.group_id, request.member_id, request.group_instance_id, request.generation_id
    )
    return once_settled(heard, _answer)


def _answer(heard: "asyncio.Future[Heard]") -> HeartbeatResponse:
    try:
        heard.result()
    except Refused as refusal:
        return HeartbeatResponse(error_code=refusal.code)
    return HeartbeatResponse()
