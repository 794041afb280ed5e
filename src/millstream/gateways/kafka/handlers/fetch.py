"""Fetch (key 1), versions 4 to 18: batches of records, at once or when there are enough.

Behaviour
- Whole batches, the first of which may begin before the offset asked for.
- The first partition with something to give gives at least one batch, however small the limits.
- Answered at once when there is enough, or an error to tell; else when there is, or the wait is over.
- Who reads committed records gets them up to the last stable offset, and is told which transactions in
  them were aborted; nobody else is.
- Records stay ranges of a file until they are sent.
- A replica id is not believed: whoever fetches gets what a consumer gets, up to the high watermark.

Versions
- 4   isolation level, aborted transactions
- 5   log start offset
- 7   sessions
- 9   the client's view of the leader's epoch
- 11  rack
- 12  flexible, last fetched epoch
- 13  topic ids
- 15  replica state
- 16  leader hints
"""

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.fetch import Found, Waiting, Wanted
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.fetch_sessions import FetchSession, FetchSessions, Place, Remembered, places
from millstream.gateways.kafka.postponed import Postponed
from millstream.gateways.kafka.refrain import Again, Refrain, Repeated
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchResponse,
    FetchResponseAbortedTransaction,
    FetchResponseDivergingEpoch,
    FetchResponsePartition,
    FetchResponseTopic,
)

_IDS_FROM: Final = 13
_READ_COMMITTED: Final = 1


def handle(
    broker: Broker, session: Session, request: FetchRequest, version: int, sessions: FetchSessions
) -> FetchResponse | Awaitable[FetchResponse]:
    uses_ids = version >= _IDS_FROM
    try:
        kept = sessions.begin(request, uses_ids, asyncio.get_running_loop().time())
    except Refused as refusal:
        return FetchResponse(error_code=refusal.code)
    if kept is None:
        asked = list(places(request))
    else:
        asked = [(place, remembered.wanted) for place, remembered in kept.partitions.items()]
    read_committed = request.isolation_level == _READ_COMMITTED
    wanted = [_wanted(broker, place, partition, uses_ids, read_committed) for place, partition in asked]
    fresh = kept is None or request.session_epoch == 0
    reply = _Reply(asked, kept, fresh)
    found = broker.fetch(session, wanted, request.max_bytes, request.min_bytes, request.max_wait_ms)
    if isinstance(found, list):
        return reply.response(found)
    return Postponed(found, reply.response) if isinstance(found, Waiting) else reply.later(found)


def again(
    broker: Broker, session: Session, asked: Again
) -> Repeated | FetchResponse | Awaitable[Repeated | FetchResponse]:
    """As `handle`, for a request that was made before with another offset."""
    refrain = asked.refrain
    request = refrain.request
    wanted = [refrain.wanted(broker, asked.offset)]
    found = broker.fetch(session, wanted, request.max_bytes, request.min_bytes, request.max_wait_ms)
    if isinstance(found, list):
        return _repeated(refrain, found)
    assert isinstance(found, Waiting)
    return Postponed(found, partial(_repeated, refrain))


def _repeated(refrain: Refrain, found: list[Found]) -> Repeated | FetchResponse:
    if refrain.fits(found[0]):
        return Repeated(refrain, found[0])
    return _Reply(list(places(refrain.request)), None, fresh=True).response(found)


class _Reply:
    """What is needed to answer once the broker has."""

    __slots__ = ("_asked", "_fresh", "_kept")

    def __init__(
        self,
        asked: Sequence[tuple[Place, FetchRequestPartition]],
        kept: FetchSession | None,
        fresh: bool,
    ) -> None:
        self._asked = asked
        self._kept = kept
        self._fresh = fresh

    async def later(self, found: Awaitable[list[Found]]) -> FetchResponse:
        return self.response(await found)

    def response(self, found: list[Found]) -> FetchResponse:
        response = FetchResponse(session_id=self._kept.id if self._kept is not None else 0)
        fed = []
        topic: FetchResponseTopic | None = None
        for (place, _), each in zip(self._asked, found, strict=True):
            if not self._is_told(place, each):
                continue
            if topic is None or topic.topic != place[0] or topic.topic_id != place[1]:
                topic = FetchResponseTopic(topic=place[0], topic_id=place[1])
                response.responses.append(topic)
            topic.partitions.append(self._partition(place[2], each))
            if each.records is not None:
                fed.append(place)
        if self._kept is not None:
            self._kept.served(fed)
        return response

    def _is_told(self, place: Place, found: Found) -> bool:
        if self._kept is None:
            return True
        remembered: Remembered | None = self._kept.partitions.get(place)
        if remembered is None:
            return True
        told = self._fresh or remembered.is_news(found)
        if told:
            remembered.told(found)
        return told

    def _partition(self, index: int, found: Found) -> FetchResponsePartition:
        partition = FetchResponsePartition(
            partition_index=index,
            error_code=found.error,
            high_watermark=found.high_watermark,
            last_stable_offset=found.last_stable_offset,
            log_start_offset=found.start_offset,
            aborted_transactions=_aborted(found),
            records=b"" if found.records is None else found.records,
        )
        if found.diverging is not None:
            partition.diverging_epoch = FetchResponseDivergingEpoch(*found.diverging)
        return partition


def _aborted(found: Found) -> list[FetchResponseAbortedTransaction] | None:
    if found.aborted is None:
        return None
    return [FetchResponseAbortedTransaction(each.producer_id, each.first_offset) for each in found.aborted]


def _wanted(
    broker: Broker, place: Place, partition: FetchRequestPartition, uses_ids: bool, read_committed: bool
) -> Wanted:
    name, id, index = place
    refused: ErrorCode | None = None
    if uses_ids:
        try:
            name = broker.topics.name_of(id)
        except Refused as refusal:
            refused = refusal.code
    return Wanted(
        name,
        index,
        partition.fetch_offset,
        partition.partition_max_bytes,
        partition.current_leader_epoch,
        partition.last_fetched_epoch,
        refused,
        read_committed,
    )
