"""DescribeClientQuotas (key 48), versions 0 and 1: the quotas that are set.

Behaviour
- Every component must fit; strict leaves out entities with further parts. No component means all.
- entries is never null: clients fail on that.
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.security.quota import CLIENT_ID, IP, USER, Match
from millstream.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasRequestComponent,
    DescribeClientQuotasResponse,
    DescribeClientQuotasResponseEntity,
    DescribeClientQuotasResponseEntry,
    DescribeClientQuotasResponseValue,
)

_KINDS: Final = (USER, CLIENT_ID, IP)


def handle(
    broker: Broker, session: Session, request: DescribeClientQuotasRequest, version: int
) -> DescribeClientQuotasResponse:
    try:
        matches = [_match(component) for component in request.components]
        if len({match.kind for match in matches}) < len(matches):
            raise Refused(ErrorCode.INVALID_REQUEST, "an entity type is named twice")
    except Refused as refusal:
        return DescribeClientQuotasResponse(error_code=refusal.code, error_message=refusal.detail)
    found = broker.describe_quotas(session, matches, strict=request.strict)
    return DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            DescribeClientQuotasResponseEntry(
                [DescribeClientQuotasResponseEntity(kind, name) for kind, name in entity],
                [DescribeClientQuotasResponseValue(key, value) for key, value in values.items()],
            )
            for entity, values in found.items()
        ],
    )


def _match(component: DescribeClientQuotasRequestComponent) -> Match:
    if component.entity_type not in _KINDS:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"no quotas for {component.entity_type!r}")
    match component.match_type:
        case 0 if component.match is not None:
            return Match(component.entity_type, component.match)
        case 1:
            return Match(component.entity_type)
        case 2:
            return Match(component.entity_type, is_any=True)
    raise Refused(ErrorCode.INVALID_REQUEST, "a component must match a name, the default, or any")
