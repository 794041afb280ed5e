"""InitProducerId (key 22), versions 0 to 5: a number for an idempotent producer, never given twice.

Behaviour
- Without a transactional id: always a new id, epoch 0, whatever id the producer says it had.
- With one: refused, as transactions are not served.
"""

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(
    broker: Broker, session: Session, request: InitProducerIdRequest, version: int
) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return _refused(ErrorCode.INVALID_REQUEST)
    try:
        return InitProducerIdResponse(producer_id=await broker.new_producer_id(session), producer_epoch=0)
    except Refused as refusal:
        return _refused(refusal.code)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
