"""InitProducerId (key 22), versions 0 to 5: a number for an idempotent or transactional producer.

Behaviour
- Without a transactional id: always a new id, epoch 0, whatever id the producer says it had.
- With one: the id that belongs to it, with the next epoch. Whoever used it before is locked out, and a
  transaction it left open is aborted: CONCURRENT_TRANSACTIONS until that is done.
- After 32,766 epochs there is a new id.

Versions
- 2   flexible
- 3   a producer that goes on says who it was: PRODUCER_FENCED if another has taken its place
- 4   PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.transaction_errors import init_error
from millstream.transactions.transaction import Identity
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(
    broker: Broker, session: Session, request: InitProducerIdRequest, version: int
) -> InitProducerIdResponse:
    try:
        if request.transactional_id is None:
            identity = Identity(await broker.new_producer_id(session), 0)
        else:
            identity = await broker.transactions.begin(
                session, request.transactional_id, request.transaction_timeout_ms, _expected(request)
            )
    except Refused as refusal:
        code = init_error(refusal.code, version)
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)


def _expected(request: InitProducerIdRequest) -> Identity | None:
    """Who the producer says it is, if it says so."""
    if (request.producer_id < 0) != (request.producer_epoch < 0):
        raise Refused(ErrorCode.INVALID_REQUEST, "a producer id without an epoch, or the other way round")
    return Identity(request.producer_id, request.producer_epoch) if request.producer_id >= 0 else None
