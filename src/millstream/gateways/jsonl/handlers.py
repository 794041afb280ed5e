"""What TinyMQ's requests mean to the broker; `produce` alone is handled by the connection, many at once.

Behaviour
- A topic must be created before it is used.
- Committed offsets are those of the Kafka group of that name, and are kept until it is deleted.
- Members of a group are known to this door alone, and are forgotten with the process: who is told
  `Group not found` joins again.
"""

from typing import Any, Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.broker.topics import NewTopic
from millstream.cluster.image import Topic
from millstream.errors import ErrorCode, Refused
from millstream.gateways.jsonl.codec import (
    Commit,
    CreateTopic,
    Fetch,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListTopics,
    Metrics,
    Produce,
    Request,
    shown,
)

_FETCH_RECORDS: Final = 10_000
_FETCH_BYTES: Final = 1 << 20


async def handle(broker: Broker, session: Session, request: Request) -> dict[str, Any]:
    """The data of the reply; Refused tells its error."""
    match request:
        case CreateTopic():
            return await _create_topic(broker, session, request)
        case Fetch():
            return await _fetch(broker, session, request)
        case Commit():
            return await _commit(broker, session, request)
        case Metrics():
            return await _metrics(broker, session, request)
        case ListTopics():
            return {
                "topics": sorted(
                    topic.name for topic in broker.topics.by_name().values() if not topic.is_internal
                )
            }
        case JoinGroup(group, topic, consumer):
            return {"partitions": broker.join_simple_group(session, group, topic, consumer)}
        case LeaveGroup(group, consumer):
            broker.leave_simple_group(session, group, consumer)
            return {"groupId": group}
        case Heartbeat(group, consumer):
            broker.heartbeat_simple_group(session, group, consumer)
            return {"groupId": group}
        case Produce():
            raise AssertionError("written by the connection")


async def _create_topic(broker: Broker, session: Session, request: CreateTopic) -> dict[str, Any]:
    (made,) = await broker.create_topics(session, [NewTopic(request.topic, request.partitions)])
    if isinstance(made, Refused):
        if made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise made
        made = broker.topics.topic(request.topic)
    assert isinstance(made, Topic)
    if made.partitions != request.partitions:
        raise Refused(
            ErrorCode.TOPIC_ALREADY_EXISTS,
            f"Topic {made.name} already exists with {made.partitions} partitions, not {request.partitions}",
        )
    return {"topic": made.name, "partitions": made.partitions}


async def _fetch(broker: Broker, session: Session, request: Fetch) -> dict[str, Any]:
    start, end = _bounds(broker, session, request.topic, request.partition)
    if request.offset < start:
        raise Refused(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Offset {request.offset} is below {start}, the first of {request.topic}-{request.partition}",
        )
    if request.offset >= end or not request.max:
        return {"records": []}
    found = await broker.read(
        session,
        request.topic,
        request.partition,
        request.offset,
        max_records=min(request.max, _FETCH_RECORDS),
        max_bytes=_FETCH_BYTES,
    )
    return {"records": [shown(record) for record in found.records]}


async def _commit(broker: Broker, session: Session, request: Commit) -> dict[str, Any]:
    _bounds(broker, session, request.topic, request.partition)
    if request.offset < 0:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"Offset {request.offset} is negative")
    place = (request.topic, request.partition)
    await broker.commit_offsets(session, request.group, {place: request.offset}, forever=True)
    return {"groupId": request.group}


async def _metrics(broker: Broker, session: Session, request: Metrics) -> dict[str, Any]:
    start, end = _bounds(broker, session, request.topic, request.partition)
    committed = None
    if request.group is not None:
        place = (request.topic, request.partition)
        committed = (await broker.committed_offsets(session, request.group, [place])).get(place)
    return {
        "beginOffset": start,
        "committedOffset": committed,
        "size": end - start,
        "endOffset": end,
        "lag": end - (committed or 0),
    }


def _bounds(broker: Broker, session: Session, topic: str, partition: int) -> tuple[int, int]:
    return broker.bounds(session, topic, partition)
