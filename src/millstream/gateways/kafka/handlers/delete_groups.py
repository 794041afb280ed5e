"""DeleteGroups (key 42), versions 0 to 2: forget groups and their offsets.

Behaviour
- NON_EMPTY_GROUP while a group has members, GROUP_ID_NOT_FOUND if there is none.
- One group's refusal never touches the others.

Versions
- 2   flexible
"""

import asyncio
from collections.abc import Awaitable, Sequence

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.groups.outcomes import Done
from millstream.wire.messages.delete_groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DeleteGroupsResponseGroup,
)


def handle(
    broker: Broker, session: Session, request: DeleteGroupsRequest, version: int
) -> Awaitable[DeleteGroupsResponse]:
    return _answer([(name, broker.groups.delete(name)) for name in request.groups_names])


async def _answer(deleted: "Sequence[tuple[str, asyncio.Future[Done]]]") -> DeleteGroupsResponse:
    results = await asyncio.gather(*(done for _, done in deleted), return_exceptions=True)
    response = DeleteGroupsResponse()
    for (name, _), result in zip(deleted, results, strict=True):
        answer = DeleteGroupsResponseGroup(group_id=name)
        if isinstance(result, Refused):
            answer.error_code = result.code
        elif isinstance(result, BaseException):
            raise result
        response.results.append(answer)
    return response
