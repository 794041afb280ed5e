"""ConsumerGroupDescribe (key 69), versions 0 to 1: state, members and assignments of newer groups.

Behaviour
- GROUP_ID_NOT_FOUND for a group that does not exist, or is classic; one refusal never touches the others.
- A member has its assignment, and on the way to the next one its target.
- A topic that is gone is left out: there is no name to tell it by.

Versions
- 1   member type: 0 if it speaks the classic protocol, 1 if the newer
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.groups.modern_changes import Share, by_topic
from millstream.groups.modern_description import ModernDescription, ModernMemberDescription
from millstream.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupDescribeResponseMember,
    ConsumerGroupDescribeResponseTopic,
)

_CLASSIC: Final = 0
_CONSUMER: Final = 1
# One bit for each operation a group knows: read, delete, describe, describe and alter its configs.
_ALL_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


def handle(
    broker: Broker, session: Session, request: ConsumerGroupDescribeRequest, version: int
) -> ConsumerGroupDescribeResponse:
    groups = []
    for name in request.group_ids:
        try:
            group = _group(broker, broker.groups.describe_modern(name))
        except Refused as refusal:
            group = ConsumerGroupDescribeResponseGroup(
                group_id=name, error_code=refusal.code, error_message=refusal.detail
            )
        else:
            if request.include_authorized_operations:
                group.authorized_operations = _ALL_OPERATIONS
        groups.append(group)
    return ConsumerGroupDescribeResponse(groups=groups)


def _group(broker: Broker, described: ModernDescription) -> ConsumerGroupDescribeResponseGroup:
    return ConsumerGroupDescribeResponseGroup(
        group_id=described.name,
        group_state=described.state.value,
        group_epoch=described.epoch,
        assignment_epoch=described.target_epoch,
        assignor_name=described.assignor,
        members=[_member(broker, each) for each in described.members],
    )


def _member(broker: Broker, described: ModernMemberDescription) -> ConsumerGroupDescribeResponseMember:
    member = described.member
    return ConsumerGroupDescribeResponseMember(
        member_id=described.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=described.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(broker, described.assigned),
        target_assignment=_assignment(broker, described.target),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(broker: Broker, share: Share) -> ConsumerGroupDescribeResponseAssignment:
    names = broker.topics.image.names
    return ConsumerGroupDescribeResponseAssignment(
        topic_partitions=[
            ConsumerGroupDescribeResponseTopic(topic_id=id, topic_name=names[id], partitions=indexes)
            for id, indexes in by_topic(share).items()
            if id in names
        ]
    )
