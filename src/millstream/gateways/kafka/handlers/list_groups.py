"""ListGroups (key 16), versions 0 to 5: every group there is.

Behaviour
- A filter that names nothing lets everything through. Names of states and types are compared without regard
  to case; one that nobody knows lets nothing through.

Versions
- 1   throttle time
- 3   flexible
- 4   states, and a filter of them
- 5   types, and a filter of them
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.wire.messages.list_groups import (
    ListGroupsRequest,
    ListGroupsResponse,
    ListGroupsResponseGroup,
)


def handle(broker: Broker, session: Session, request: ListGroupsRequest, version: int) -> ListGroupsResponse:
    states = {state.strip().lower() for state in request.states_filter}
    types = {type.strip().lower() for type in request.types_filter}
    try:
        groups = broker.groups.listed()
    except Refused as refusal:
        return ListGroupsResponse(error_code=refusal.code)
    return ListGroupsResponse(
        groups=[
            ListGroupsResponseGroup(
                group_id=each.name,
                protocol_type=each.protocol_type,
                group_state=each.state.value,
                group_type=each.type,
            )
            for each in groups
            if (not states or each.state.value.lower() in states) and (not types or each.type in types)
        ]
    )
