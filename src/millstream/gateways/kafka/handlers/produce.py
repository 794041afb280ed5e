"""Produce (key 0), versions 3 to 13: append batches of records. 0 to 2 are advertised and refused.

Behaviour
- acks are 0, 1 or -1; with 0 there is no response, and an error closes the connection.
- A batch is acknowledged when it is committed; the wait ends at the request's own timeout.
- One partition's refusal never touches its neighbours.
- What belongs to a transaction is appended only while that is open, and once it is safe that the partition
  is part of it; until then nothing else of this client is begun.
- Old librdkafka switches compression off unless version 0 is advertised; hence the wider range.

Versions
- 3   record batches v2, transactional ids
- 5   log_start_offset
- 7   zstd
- 8   record_errors, error_message
- 9   flexible
- 10  leader hints
- 11  TRANSACTION_ABORTABLE for a partition that was not added to the transaction; before, INVALID_TXN_STATE
- 12  partitions join the transaction by being written to
- 13  topic ids
"""

import asyncio
from collections.abc import Awaitable
from typing import Final, final

from millstream.broker.broker import Broker
from millstream.broker.produce import ACKS_NONE
from millstream.broker.session import Session
from millstream.env.disk import Buffer
from millstream.errors import ErrorCode, Refused
from millstream.gateways.kafka.in_turn import InTurn, Settled
from millstream.gateways.kafka.transaction_errors import produce_error
from millstream.records.batch import CODEC_BITS, Batch, is_transactional
from millstream.records.compression import Codec
from millstream.records.verify import InvalidRecords
from millstream.transactions.transaction import IMPLICIT, Identity, Place
from millstream.wire.fast import Produced
from millstream.wire.messages.produce import (
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseRecordError,
    ProduceResponseTopic,
)

_CODEC_AT: Final = 22  # the low byte of a batch's attributes
_ZSTD_FROM: Final = 7
_IMPLICIT_FROM: Final = 12

Waiting = list[tuple[ProduceResponsePartition, "asyncio.Future[None]"]]


def handle(
    broker: Broker, session: Session, request: Produced, version: int
) -> ProduceResponse | Awaitable[ProduceResponse] | InTurn | None:
    """Append every partition before returning; the awaitable only waits for acks.

    The connection calls handlers in the order requests arrive, so what is
    done here is done in order, and what is awaited is not.
    """
    if request[0] is None:
        return _append(broker, session, request, version)
    try:
        entered = _enter(broker, session, request, version)
    except Refused as refusal:
        return _append(
            broker, session, request, version, Refused(produce_error(refusal.code, version), refusal.detail)
        )
    if entered is None:
        return _append(broker, session, request, version, in_transaction=True)
    kept = _copied(request)
    return InTurn(entered, lambda: _append_entered(broker, session, kept, version))


def _append_entered(broker: Broker, session: Session, request: Produced, version: int) -> Settled:
    """Append now that all partitions are part of the transaction, if it has not ended meanwhile."""
    try:
        _enter(broker, session, request, version, only_check=True)
    except Refused as refusal:
        return _append(
            broker, session, request, version, Refused(produce_error(refusal.code, version), refusal.detail)
        )
    return _append(broker, session, request, version, in_transaction=True)


def _enter(
    broker: Broker, session: Session, request: Produced, version: int, *, only_check: bool = False
) -> "asyncio.Future[None] | None":
    """See that all that *request* writes in a transaction is part of it; done once that is safe."""
    id, _, _, parts = request
    places: dict[Identity, set[Place]] = {}
    for topic, index, records in parts:
        name = topic if isinstance(topic, str) else broker.topics.image.names.get(topic)
        if name is None or records is None or not is_transactional(memoryview(records)):
            continue  # it is refused, or taken, for what it is
        batch = Batch(memoryview(records))
        broker.topics.hosted(name, index)
        places.setdefault(Identity(batch.producer_id, batch.producer_epoch), set()).add(Place(name, index))
    waits: asyncio.Future[None] | None = None
    for by, theirs in places.items():
        if version >= _IMPLICIT_FROM and not only_check:
            waits = broker.transactions.join(session, id or "", by, theirs, IMPLICIT) or waits
        else:
            waits = broker.transactions.check(session, id or "", by, theirs) or waits
    return waits


def _copied(request: Produced) -> Produced:
    """*request* with records of its own: those it came with are overwritten by what is received next."""
    id, acks, timeout_ms, parts = request
    return (
        id,
        acks,
        timeout_ms,
        [(topic, index, records and bytearray(records)) for topic, index, records in parts],
    )


def _append(
    broker: Broker,
    session: Session,
    request: Produced,
    version: int,
    outside: Refused | None = None,
    *,
    in_transaction: bool = False,
) -> ProduceResponse | Awaitable[ProduceResponse] | None:
    """Append what may be appended; *outside* says why what belongs to a transaction may not."""
    _, acks, timeout_ms, parts = request
    response = ProduceResponse()
    result: ProduceResponseTopic | None = None
    last: str | bytes | None = None
    waiting: Waiting = []
    refused = ""  # not the refusal itself: its traceback would keep this frame, and the records, alive
    for topic, index, records in parts:
        if result is None or topic != last:
            last = topic
            result = (
                ProduceResponseTopic(topic)
                if isinstance(topic, str)
                else ProduceResponseTopic(topic_id=topic)
            )
            response.responses.append(result)
        answer = ProduceResponsePartition(index=index, base_offset=-1)
        result.partition_responses.append(answer)
        try:
            name = topic if isinstance(topic, str) else broker.topics.name_of(topic)
            batch = _batch(records, version)
            if outside is not None and is_transactional(batch):
                raise outside
            accepted = broker.produce(session, name, index, batch, acks, in_transaction=in_transaction)
        except Refused as refusal:
            refused = refusal.detail
            _refuse(answer, refusal)
        else:
            answer.base_offset = accepted.appended.base_offset
            answer.log_append_time_ms = accepted.appended.append_time_ms
            answer.log_start_offset = accepted.log_start_offset
            if accepted.safe is not None:
                waiting.append((answer, accepted.safe))
    if acks == ACKS_NONE:
        if refused:
            raise Refused(ErrorCode.INVALID_REQUEST, refused)
        return None
    return _Acks(response, waiting, timeout_ms).answer if waiting else response


def _batch(records: Buffer | None, version: int) -> memoryview:
    if not records:
        raise Refused(ErrorCode.INVALID_RECORD, "no records")
    batch = memoryview(records)
    if version < _ZSTD_FROM and len(batch) > _CODEC_AT and batch[_CODEC_AT] & CODEC_BITS == Codec.ZSTD:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7")
    return batch


@final
class _Acks:
    """Fills in *response* once every batch is safe, or the client's patience is over.

    Callbacks rather than a task: this is done for every request that writes.
    """

    __slots__ = ("_left", "_response", "_timer", "_waiting", "answer")

    def __init__(self, response: ProduceResponse, waiting: Waiting, timeout_ms: int) -> None:
        loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[ProduceResponse] = loop.create_future()
        self._response = response
        self._waiting = waiting
        self._left = len(waiting)
        self._timer = loop.call_later(max(timeout_ms, 0) / 1000, self._finish)
        for _, safe in waiting:
            safe.add_done_callback(self._settled)

    def _settled(self, safe: "asyncio.Future[None]") -> None:
        self._left -= 1
        if self._left == 0:
            self._finish()

    def _finish(self) -> None:
        self._timer.cancel()
        if self.answer.done():
            return  # the client has gone, or was told that it took too long
        for answer, safe in self._waiting:
            if not safe.done():
                _refuse(
                    answer, Refused(ErrorCode.REQUEST_TIMED_OUT, "written, but not known to be safe in time")
                )
                continue
            failure = safe.exception()
            if isinstance(failure, Refused):
                _refuse(answer, failure)
        self.answer.set_result(self._response)


def _refuse(answer: ProduceResponsePartition, refusal: Refused) -> None:
    answer.error_code = refusal.code
    answer.error_message = refusal.detail
    answer.base_offset = -1
    answer.log_append_time_ms = -1
    if isinstance(refusal, InvalidRecords):
        answer.record_errors = [
            ProduceResponseRecordError(batch_index=index, batch_index_error_message=message)
            for index, message in refusal.record_errors
        ]
