"""AlterConfigs (key 33), versions 0 to 2: replace all that a topic, the broker or a group has.

Behaviour
- What is not named goes back to its default. An unknown name or a bad value changes nothing of its resource.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.kafka.config_resources import BROKER, TOPIC, check_resource
from millstream.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterConfigsResponseResource,
)


async def handle(
    broker: Broker, session: Session, request: AlterConfigsRequest, version: int
) -> AlterConfigsResponse:
    response = AlterConfigsResponse()
    for resource in request.resources:
        type, name = resource.resource_type, resource.resource_name
        answer = AlterConfigsResponseResource(error_message=None, resource_type=type, resource_name=name)
        response.responses.append(answer)
        configs = {config.name: config.value for config in resource.configs}
        try:
            check_resource(broker, type, name)
            if type == TOPIC:
                await broker.replace_topic_configs(session, name, configs, request.validate_only)
            elif type == BROKER:
                await broker.replace_broker_configs(session, configs, request.validate_only)
            else:
                await broker.replace_group_configs(session, name, configs, request.validate_only)
        except Refused as refusal:
            answer.error_code, answer.error_message = refusal.code, refusal.detail
    return response
