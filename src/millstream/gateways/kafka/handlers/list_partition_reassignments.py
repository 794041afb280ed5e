"""ListPartitionReassignments (key 46), version 0: partitions that are being moved.

Behaviour
- None ever is, whatever is asked about: there is one broker. Kafka too leaves out what is not being moved.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def handle(
    broker: Broker, session: Session, request: ListPartitionReassignmentsRequest, version: int
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)
