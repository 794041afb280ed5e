"""WriteTxnMarkers (key 27), versions 1 and 2: the end of a transaction, written into its partitions.

Behaviour
- This node writes its own markers itself. Operators ask for one to end a transaction that hangs in a
  partition, as nobody coordinates it any more: `kafka-transactions.sh abort`.
- A marker of an epoch that is over is INVALID_PRODUCER_EPOCH.

Versions
- 2   the generation of the transaction's client
"""

from collections.abc import Awaitable

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.records.control import Marker
from millstream.transactions.transaction import Place
from millstream.wire.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
    WriteTxnMarkersResponseMarker,
    WriteTxnMarkersResponsePartition,
    WriteTxnMarkersResponseTopic,
)

Waiting = list[tuple[WriteTxnMarkersResponsePartition, Awaitable[None]]]


async def handle(
    broker: Broker, session: Session, request: WriteTxnMarkersRequest, version: int
) -> WriteTxnMarkersResponse:
    response = WriteTxnMarkersResponse()
    waiting: Waiting = []
    for asked in request.markers:
        marker = Marker.COMMIT if asked.transaction_result else Marker.ABORT
        result = WriteTxnMarkersResponseMarker(producer_id=asked.producer_id)
        response.markers.append(result)
        for topic in asked.topics:
            topic_result = WriteTxnMarkersResponseTopic(name=topic.name)
            result.topics.append(topic_result)
            for index in topic.partition_indexes:
                answer = WriteTxnMarkersResponsePartition(partition_index=index)
                topic_result.partitions.append(answer)
                try:
                    safe = broker.transactions.write_marker(
                        session,
                        Place(topic.name, index),
                        marker,
                        asked.producer_id,
                        asked.producer_epoch,
                        asked.coordinator_epoch,
                    )
                except Refused as refusal:
                    answer.error_code = refusal.code
                else:
                    waiting.append((answer, safe))
    for answer, written in waiting:
        try:
            await written
        except Refused as refusal:
            answer.error_code = refusal.code
    return response
