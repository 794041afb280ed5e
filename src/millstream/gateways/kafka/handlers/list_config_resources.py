"""ListConfigResources (key 74), versions 0 and 1: what DescribeConfigs can be asked about.

Behaviour
- Version 0 lists client metrics, of which there are none. Version 1 takes types; no type means all.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.gateways.kafka.config_resources import BROKER, GROUP, TOPIC
from millstream.wire.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListConfigResourcesResponseResource,
)


def handle(
    broker: Broker, session: Session, request: ListConfigResourcesRequest, version: int
) -> ListConfigResourcesResponse:
    response = ListConfigResourcesResponse()
    if version == 0:
        return response
    named = {
        TOPIC: sorted(broker.topics.image.topics),
        BROKER: [str(broker.node_id)],
        GROUP: broker.group_configs.names,
    }
    for type, names in named.items():
        if not request.resource_types or type in request.resource_types:
            response.config_resources += [ListConfigResourcesResponseResource(name, type) for name in names]
    return response
