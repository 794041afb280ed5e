"""DescribeCluster (key 60), versions 0 to 2: who is in the cluster.

Versions
- 1   endpoint_type: only brokers (1) can be asked for here
- 2   fenced brokers
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode
from millstream.gateways.kafka.operations import ON_CLUSTER
from millstream.wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeClusterResponseBroker,
)

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(
    broker: Broker, session: Session, request: DescribeClusterRequest, version: int
) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        known = request.endpoint_type == _CONTROLLERS
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        return DescribeClusterResponse(error_code=code, error_message="only brokers can be asked for here")
    host, port = session.advertised
    rack = broker.config().rack or None
    response = DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=[DescribeClusterResponseBroker(broker_id=broker.node_id, host=host, port=port, rack=rack)],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = ON_CLUSTER
    return response
