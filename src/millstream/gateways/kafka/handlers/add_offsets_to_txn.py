"""AddOffsetsToTxn (key 25), versions 0 to 4: a group's offsets join a transaction.

Versions
- 2   PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
- 3   flexible
- 4   the last: clients of the newer generation do not ask, see TxnOffsetCommit 5
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.kafka.transaction_errors import end_txn_error
from millstream.transactions.transaction import Identity
from millstream.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse


async def handle(
    broker: Broker, session: Session, request: AddOffsetsToTxnRequest, version: int
) -> AddOffsetsToTxnResponse:
    by = Identity(request.producer_id, request.producer_epoch)
    try:
        await broker.transactions.join_offsets(session, request.transactional_id, by, request.group_id)
    except Refused as refusal:
        return AddOffsetsToTxnResponse(error_code=end_txn_error(refusal.code, version))
    return AddOffsetsToTxnResponse()
