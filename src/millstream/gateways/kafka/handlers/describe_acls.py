"""DescribeAcls (key 29), versions 1 to 3: who may do what, which nobody is asked.

Behaviour
- SECURITY_DISABLED, as a broker without an authorizer answers: tools know that, and go on without ACLs.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.gateways.kafka.operations import no_acls
from millstream.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def handle(
    broker: Broker, session: Session, request: DescribeAclsRequest, version: int
) -> DescribeAclsResponse:
    refusal = no_acls()
    return DescribeAclsResponse(error_code=refusal.code, error_message=refusal.detail)
