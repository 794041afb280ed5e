"""DescribeConfigs (key 32), versions 1 to 4: every config with its value, and where that comes from.

Behaviour
- All configs are listed, defaults too: tools read, change and write back the whole.

Versions
- 1   synonyms
- 3   types and documentation
- 4   flexible
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.configs import Described
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.kafka.config_resources import BROKER, TOPIC, check_resource
from millstream.settings import Setting
from millstream.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsRequestResource,
    DescribeConfigsResponse,
    DescribeConfigsResponseConfig,
    DescribeConfigsResponseResource,
    DescribeConfigsResponseSynonym,
)

_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST, _PASSWORD = 1, 2, 3, 5, 6, 7, 9
_INT_MAX: Final = (1 << 31) - 1


def handle(
    broker: Broker, session: Session, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    for resource in request.resources:
        answer = DescribeConfigsResponseResource(
            error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        response.results.append(answer)
        try:
            for described in _described(broker, session, resource):
                answer.configs.append(_config(described, request))
        except Refused as refusal:
            answer.error_code, answer.error_message = refusal.code, refusal.detail
    return response


def _described(broker: Broker, session: Session, resource: DescribeConfigsRequestResource) -> list[Described]:
    check_resource(broker, resource.resource_type, resource.resource_name)
    if resource.resource_type == TOPIC:
        described = broker.describe_topic_configs(session, resource.resource_name)
    elif resource.resource_type == BROKER:
        described = broker.describe_broker_configs(session)
    else:
        described = broker.describe_group_configs(session, resource.resource_name)
    keys = resource.configuration_keys
    return described if not keys else [each for each in described if each.entry.name in keys]


def _config(described: Described, request: DescribeConfigsRequest) -> DescribeConfigsResponseConfig:
    entry = described.entry
    secret = entry.setting.secret
    config = DescribeConfigsResponseConfig(
        name=entry.name,
        value=None if secret else entry.value,
        read_only=described.read_only,
        config_source=entry.source,
        is_sensitive=secret,
        config_type=_type(entry.setting),
        documentation=entry.setting.meaning if request.include_documentation else None,
    )
    if request.include_synonyms:
        config.synonyms = [
            DescribeConfigsResponseSynonym(
                name=each.name, value=None if secret else each.value, source=each.source
            )
            for each in described.synonyms
        ]
    return config


def _type(setting: Setting) -> int:
    if setting.secret:
        return _PASSWORD
    if setting.many:
        return _LIST
    if setting.type is int:
        large = setting.max is None or setting.max > _INT_MAX
        return _LONG if large else _INT
    if setting.type is bool:
        return _BOOLEAN
    return _DOUBLE if setting.type is float else _STRING
