"""EndTxn (key 26), versions 0 to 5: commit or abort a transaction.

Behaviour
- Answered once the end is decided and committed, and as a rule once it can be read.
- The same end asked for again is fine: CONCURRENT_TRANSACTIONS while it is under way, then no error.
  Another end is INVALID_TXN_STATE, and so is the end of what never began.

Versions
- 2   PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
- 3   flexible
- 5   clients of the newer generation: the epoch is one higher after every transaction, and who asks again
      still has the one before. They may abort what never began, as they cannot know.
"""

from typing import Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.kafka.transaction_errors import end_txn_error
from millstream.transactions.transaction import IMPLICIT, Identity
from millstream.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

_IMPLICIT_FROM: Final = 5


async def handle(broker: Broker, session: Session, request: EndTxnRequest, version: int) -> EndTxnResponse:
    try:
        after = await broker.transactions.end(
            session,
            request.transactional_id,
            Identity(request.producer_id, request.producer_epoch),
            request.committed,
            IMPLICIT if version >= _IMPLICIT_FROM else 0,
        )
    except Refused as refusal:
        return EndTxnResponse(error_code=end_txn_error(refusal.code, version))
    return EndTxnResponse(producer_id=after.producer_id, producer_epoch=after.epoch)
