"""FindCoordinator (key 10), versions 0 to 6: which broker looks after a group or a transactional id.

Behaviour
- On one node that is always this one, at the address the client came in by.
- The first question makes the topic that groups, or transactions, are written to, so that whoever has an
  answer can go on.
- Key type 0 is a group and 1 a transactional id. Any other is an INVALID_REQUEST, with a message: clients
  give up at once, where they would try "not available" for a minute.

Versions
- 1   key types, error_message, throttle time
- 3   flexible
- 4   many keys at once, and an error for each
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    FindCoordinatorResponseCoordinator,
)

_GROUP: Final = 0
_TRANSACTION: Final = 1
_MANY_FROM: Final = 4


async def handle(
    broker: Broker, session: Session, request: FindCoordinatorRequest, version: int
) -> FindCoordinatorResponse:
    refusal = await _unavailable(broker, session, request.key_type)
    if version >= _MANY_FROM:
        found = [_coordinator(broker, session, key, refusal) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)
    one = _coordinator(broker, session, request.key, refusal)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


async def _unavailable(broker: Broker, session: Session, key_type: int) -> Refused | None:
    if key_type not in (_GROUP, _TRANSACTION):
        return Refused(ErrorCode.INVALID_REQUEST, f"nobody coordinates keys of type {key_type}")
    try:
        if key_type == _GROUP:
            await broker.coordinator(session)
        else:
            await broker.transactions.available(session)
    except Refused as refusal:
        return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, refusal.detail)
    return None


def _coordinator(
    broker: Broker, session: Session, key: str, refusal: Refused | None
) -> FindCoordinatorResponseCoordinator:
    if refusal is not None:
        return FindCoordinatorResponseCoordinator(
            key=key, node_id=-1, host="", port=-1, error_code=refusal.code, error_message=refusal.detail
        )
    host, port = session.advertised
    return FindCoordinatorResponseCoordinator(key=key, node_id=broker.node_id, host=host, port=port)
