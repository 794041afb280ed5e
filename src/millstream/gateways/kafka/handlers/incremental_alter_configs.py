"""IncrementalAlterConfigs (key 44), versions 0 and 1: change some configs of a topic, the
broker or a group.

Behaviour
- SET, DELETE, and for lists APPEND and SUBTRACT; all changes of a resource are made, or none.
- The same config may be named once a resource.
"""

from millstream.broker.broker import Broker
from millstream.broker.configs import Change, Operation
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.config_resources import BROKER, TOPIC, check_resource
from millstream.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestResource,
    IncrementalAlterConfigsResponse,
    IncrementalAlterConfigsResponseResource,
)


async def handle(
    broker: Broker, session: Session, request: IncrementalAlterConfigsRequest, version: int
) -> IncrementalAlterConfigsResponse:
    response = IncrementalAlterConfigsResponse()
    for resource in request.resources:
        type, name = resource.resource_type, resource.resource_name
        answer = IncrementalAlterConfigsResponseResource(
            error_message=None, resource_type=type, resource_name=name
        )
        response.responses.append(answer)
        try:
            check_resource(broker, type, name)
            changes = _changes(resource)
            if type == TOPIC:
                await broker.change_topic_configs(session, name, changes, request.validate_only)
            elif type == BROKER:
                await broker.change_broker_configs(session, changes, request.validate_only)
            else:
                await broker.change_group_configs(session, name, changes, request.validate_only)
        except Refused as refusal:
            answer.error_code, answer.error_message = refusal.code, refusal.detail
    return response


def _changes(resource: IncrementalAlterConfigsRequestResource) -> list[Change]:
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "a config is named twice")
    try:
        return [Change(each.name, Operation(each.config_operation), each.value) for each in resource.configs]
    except ValueError as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None
