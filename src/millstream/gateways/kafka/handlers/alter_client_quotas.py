"""AlterClientQuotas (key 49), versions 0 and 1: set quotas, or take them away.

Behaviour
- One answer for each entry, in order; an entry that is refused never touches its neighbours.
- What is set holds at once, and after a restart.
"""

from millstream.broker.broker import Broker
from millstream.broker.quotas import check_entity
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntry,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntity,
    AlterClientQuotasResponseEntry,
)


async def handle(
    broker: Broker, session: Session, request: AlterClientQuotasRequest, version: int
) -> AlterClientQuotasResponse:
    response = AlterClientQuotasResponse()
    for entry in request.entries:
        entity = [
            AlterClientQuotasResponseEntity(each.entity_type, each.entity_name) for each in entry.entity
        ]
        answer = AlterClientQuotasResponseEntry(error_message=None, entity=entity)
        response.entries.append(answer)
        try:
            await _change(broker, session, entry, request.validate_only)
        except Refused as refusal:
            answer.error_code, answer.error_message = refusal.code, refusal.detail
    return response


async def _change(
    broker: Broker, session: Session, entry: AlterClientQuotasRequestEntry, validate_only: bool
) -> None:
    entity = check_entity((each.entity_type, each.entity_name) for each in entry.entity)
    values = {op.key: None if op.remove else op.value for op in entry.ops}
    if len(values) < len(entry.ops):
        raise Refused(ErrorCode.INVALID_REQUEST, "a quota is named twice")
    await broker.change_quotas(session, {entity: values}, validate_only=validate_only)
