"""CreateAcls (key 30), versions 1 to 3: rules about who may do what, which are not kept.

Behaviour
- SECURITY_DISABLED for each: a rule that is not followed must not be taken.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.gateways.kafka.operations import no_acls
from millstream.wire.messages.create_acls import (
    CreateAclsRequest,
    CreateAclsResponse,
    CreateAclsResponseResult,
)


def handle(broker: Broker, session: Session, request: CreateAclsRequest, version: int) -> CreateAclsResponse:
    refusal = no_acls()
    return CreateAclsResponse(
        results=[
            CreateAclsResponseResult(error_code=refusal.code, error_message=refusal.detail)
            for _ in request.creations
        ]
    )
