"""DescribeGroups (key 15), versions 0 to 6: state and members of groups.

Behaviour
- Metadata and the protocol's name are told while the group is Stable; otherwise they are not settled.
- A group that does not exist is Dead, without an error until version 5; so is one of the newer protocol,
  which ConsumerGroupDescribe tells of.

Versions
- 1   throttle time
- 3   authorized operations, if asked for
- 4   static members
- 5   flexible
- 6   GROUP_ID_NOT_FOUND, with a message, for a group that does not exist
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.groups.outcomes import State
from millstream.wire.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeGroupsResponseGroup,
    DescribeGroupsResponseMember,
)

_NOT_FOUND_FROM: Final = 6
# One bit for each operation a group knows: read, delete, describe, describe and alter its configs.
_ALL_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


def handle(
    broker: Broker, session: Session, request: DescribeGroupsRequest, version: int
) -> DescribeGroupsResponse:
    groups = []
    for name in request.groups:
        try:
            group = _described(broker, name, version)
        except Refused as refusal:
            group = DescribeGroupsResponseGroup(
                group_id=name, error_code=refusal.code, error_message=refusal.detail
            )
        else:
            if request.include_authorized_operations:
                group.authorized_operations = _ALL_OPERATIONS
        groups.append(group)
    return DescribeGroupsResponse(groups=groups)


def _described(broker: Broker, name: str, version: int) -> DescribeGroupsResponseGroup:
    described = broker.groups.describe(name)
    group = DescribeGroupsResponseGroup(
        group_id=name,
        group_state=described.state.value,
        protocol_type=described.protocol_type,
        protocol_data=described.protocol,
        members=[
            DescribeGroupsResponseMember(
                member_id=each.id,
                group_instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                member_metadata=each.metadata,
                member_assignment=each.assignment,
            )
            for each in described.members
        ],
    )
    if described.state is State.DEAD and version >= _NOT_FOUND_FROM:
        group.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        group.error_message = f"there is no classic group {name!r}"
    return group
