"""DescribeTransactions (key 65), version 0: what transactional ids are doing.

Behaviour
- An id that nobody uses is TRANSACTIONAL_ID_NOT_FOUND; each id has an error of its own.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.transactions.transaction import Transaction
from millstream.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeTransactionsResponseState,
    DescribeTransactionsResponseTopic,
)


def handle(
    broker: Broker, session: Session, request: DescribeTransactionsRequest, version: int
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_state(broker, session, id) for id in request.transactional_ids]
    )


def _state(broker: Broker, session: Session, id: str) -> DescribeTransactionsResponseState:
    try:
        found = broker.transactions.describe(session, id)
    except Refused as refusal:
        return DescribeTransactionsResponseState(transactional_id=id, error_code=refusal.code)
    return DescribeTransactionsResponseState(
        transactional_id=id,
        transaction_state=found.state.title,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_ms,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=_topics(found),
    )


def _topics(transaction: Transaction) -> list[DescribeTransactionsResponseTopic]:
    topics: dict[str, list[int]] = {}
    for place in sorted(transaction.places):
        topics.setdefault(place.topic, []).append(place.partition)
    return [
        DescribeTransactionsResponseTopic(topic=topic, partitions=partitions)
        for topic, partitions in topics.items()
    ]
