"""DeleteAcls (key 31), versions 1 to 3: take back rules about who may do what, of which there are none.

Behaviour
- SECURITY_DISABLED for each filter, as for all that concerns ACLs.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.gateways.kafka.operations import no_acls
from millstream.wire.messages.delete_acls import (
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeleteAclsResponseResult,
)


def handle(broker: Broker, session: Session, request: DeleteAclsRequest, version: int) -> DeleteAclsResponse:
    refusal = no_acls()
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsResponseResult(error_code=refusal.code, error_message=refusal.detail)
            for _ in request.filters
        ]
    )
