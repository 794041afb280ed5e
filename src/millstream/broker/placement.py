"""Where partitions are and who leads them: on one node nothing is moved, and nobody else elected."""

from collections.abc import Sequence

from millstream.broker.topics import Topics
from millstream.errors import ErrorCode, Refused


def elect(topics: Topics, topic: str, index: int) -> None:
    """Have the partition led by the first of its replicas, as it always is."""
    _check(topics, topic, index)
    raise Refused(ErrorCode.ELECTION_NOT_NEEDED, f"{topic}-{index} is led by the only replica it has")


def reassign(topics: Topics, node_id: int, topic: str, index: int, replicas: Sequence[int] | None) -> None:
    """Move the partition to *replicas*; None gives up a move that is under way."""
    _check(topics, topic, index)
    if replicas is None:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{topic}-{index} is not being moved")
    if list(replicas) != [node_id]:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{topic}-{index} can be on the only broker, {node_id}, and not on {list(replicas)}",
        )


def _check(topics: Topics, topic: str, index: int) -> None:
    if not 0 <= index < topics.topic(topic).partitions:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{index}")
