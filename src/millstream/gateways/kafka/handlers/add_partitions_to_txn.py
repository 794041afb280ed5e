"""AddPartitionsToTxn (key 24), versions 0 to 5: partitions join a transaction before they are written to.

Behaviour
- All or none: if one partition is not there it is told so, and the others OPERATION_NOT_ATTEMPTED.
- Answered once it is safe: what is written afterwards is known to belong to the transaction.

Versions
- 2   PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
- 3   flexible; the last that clients use
- 4   many transactions at once, for brokers that ask for their clients, or only want to know (verify_only)
- 5   TRANSACTION_ABORTABLE for a partition that is not in the transaction
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.transaction_errors import end_txn_error
from millstream.transactions.transaction import Identity, Place
from millstream.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnRequestTransaction,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResponsePartition,
    AddPartitionsToTxnResponseTopic,
    AddPartitionsToTxnResponseTransaction,
    AddPartitionsToTxnResponseTransactionPartition,
    AddPartitionsToTxnResponseTransactionTopic,
)

_MANY_FROM: Final = 4
_ABORTABLE_FROM: Final = 5

Errors = dict[Place, ErrorCode]


class _Topic(Protocol):
    """A topic and partitions of it, as both kinds of request have them."""

    name: str
    partitions: list[int]


async def handle(
    broker: Broker, session: Session, request: AddPartitionsToTxnRequest, version: int
) -> AddPartitionsToTxnResponse:
    if version >= _MANY_FROM:
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                await _one(broker, session, each, version) for each in request.transactions
            ]
        )
    by = Identity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    topics = request.v3_and_below_topics
    errors = await _join(broker, session, request.v3_and_below_transactional_id, by, topics)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnResponseTopic(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnResponsePartition(
                        partition_index=index,
                        partition_error_code=end_txn_error(errors[Place(topic.name, index)], version),
                    )
                    for index in topic.partitions
                ],
            )
            for topic in topics
        ]
    )


async def _one(
    broker: Broker, session: Session, asked: AddPartitionsToTxnRequestTransaction, version: int
) -> AddPartitionsToTxnResponseTransaction:
    by = Identity(asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        errors = _verify(broker, session, asked.transactional_id, by, asked.topics, version)
    else:
        errors = await _join(broker, session, asked.transactional_id, by, asked.topics)
    return AddPartitionsToTxnResponseTransaction(
        transactional_id=asked.transactional_id,
        topic_results=[
            AddPartitionsToTxnResponseTransactionTopic(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnResponseTransactionPartition(
                        partition_index=index, partition_error_code=errors[Place(topic.name, index)]
                    )
                    for index in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )


async def _join(broker: Broker, session: Session, id: str, by: Identity, topics: Sequence[_Topic]) -> Errors:
    places = frozenset(_places(topics))
    unknown = {place for place in places if not _exists(broker, place)}
    if unknown:
        return {
            place: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if place in unknown
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            for place in places
        }
    try:
        joined = broker.transactions.join(session, id, by, places, 0)
        if joined is not None:
            await asyncio.shield(joined)
    except Refused as refusal:
        return dict.fromkeys(places, refusal.code)
    return dict.fromkeys(places, ErrorCode.NONE)


def _verify(
    broker: Broker, session: Session, id: str, by: Identity, topics: Sequence[_Topic], version: int
) -> Errors:
    errors: Errors = {}
    for place in _places(topics):
        errors[place] = ErrorCode.NONE
        try:
            broker.transactions.check(session, id, by, {place})
        except Refused as refusal:
            errors[place] = refusal.code
            if refusal.code is ErrorCode.INVALID_TXN_STATE and version >= _ABORTABLE_FROM:
                errors[place] = ErrorCode.TRANSACTION_ABORTABLE
    return errors


def _places(topics: Sequence[_Topic]) -> Iterable[Place]:
    return (Place(topic.name, index) for topic in topics for index in topic.partitions)


def _exists(broker: Broker, place: Place) -> bool:
    try:
        broker.topics.hosted(place.topic, place.partition)
    except Refused:
        return False
    return True
