"""Records in, batches out.

Records wait in a queue per partition; a queue sends one batch at a time, and
what arrives meanwhile makes up the next. So order is kept and batches grow
with the load, without a timer. A batch that gets no answer is sent again byte
for byte: with idempotence the broker knows it by its producer id and sequence.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Self, final

from millstream.client.cluster import Client
from millstream.client.partitioner import Sticky
from millstream.client.refusals import check
from millstream.client.send_queue import NOBODY, Delivered, Identity, Outcome, Promise, SendQueue, Transaction
from millstream.client.topics import TopicPartition
from millstream.client.transaction_errors import TransactionFailed
from millstream.client.unreachable import Unreachable
from millstream.env.clock import Clock, SystemClock
from millstream.errors import ErrorCode, Refused
from millstream.records.build import Headers, NewRecord, build
from millstream.records.compression import Codec
from millstream.records.keys import partition_of_key
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from millstream.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartitionData,
    ProduceRequestTopicData,
    ProduceResponse,
)

_BY_NAME: Final = 12  # the last Produce version that names topics
_EXPLICIT: Final = 11  # the last one that does not make partitions part of a transaction
_PER_RECORD: Final = 24  # bytes of overhead we reckon with; a batch is cut well before it is too large
_SEQUENCES: Final = 1 << 31
_CREATION_SECONDS: Final = (
    5.0  # while a topic that is being created may still be unknown to the broker we ask
)

# The topic may have been created a moment ago, or its leader moved: a producer waits for it.
_PASSING: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@final
class Producer:
    """Sends records to a cluster. Use as `async with Producer(client) as producer`.

    *acks* is 0, 1 or -1 (all). A record that cannot be delivered within
    *delivery_timeout* seconds fails its future, and only its own batch's. With a
    *transaction*, for which see `transactions.py`, all of it goes there.
    """

    def __init__(
        self,
        client: Client,
        *,
        acks: int = -1,
        codec: Codec = Codec.NONE,
        idempotent: bool = True,
        batch_bytes: int = 900_000,
        buffer_bytes: int = 32 << 20,
        delivery_timeout: float = 120.0,
        clock: Clock | None = None,
        on_batch: Callable[[Outcome], None] = lambda _: None,
        transaction: Transaction | None = None,
    ) -> None:
        self.records_delivered = 0
        self.bytes_delivered = 0
        self._client = client
        self._acks = acks
        self._codec = codec
        self._idempotent = idempotent and acks == -1
        self._batch_bytes = batch_bytes
        self._buffer_bytes = buffer_bytes
        self._delivery_timeout = delivery_timeout
        self._clock = clock or SystemClock()
        self._on_batch = on_batch
        self._transaction = transaction
        self._queues: dict[TopicPartition, SendQueue] = {}
        self._counts: dict[str, int] = {}
        self._sticky: dict[str, Sticky] = {}
        self._identity: tuple[int, int] | None = None
        self._identifying = asyncio.Lock()
        self._buffered = 0
        self._closed = False
        self._room = asyncio.Event()
        self._room.set()

    @property
    def buffered_bytes(self) -> int:
        """How much is on its way or waits for it."""
        return self._buffered

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.close(flush=kind is None)

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> Promise:
        """Put a record on its way; the future tells where it came to lie, or why it did not.

        Returns at once unless the buffer is full or the topic is new to us.
        """
        delivered: Promise = asyncio.get_running_loop().create_future()
        await self.post(topic, NewRecord(key, value, headers, timestamp_ms), partition, delivered)
        return delivered

    async def post(
        self, topic: str, record: NewRecord, partition: int | None = None, delivered: Promise | None = None
    ) -> None:
        """Put *record* on its way; for many, without a future each: *on_batch* tells what became of them."""
        if self._closed:
            raise Unreachable("the producer was closed")
        count = self._counts.get(topic) or await self._learn(topic)
        while self._buffered >= self._buffer_bytes:
            self._room.clear()
            await self._room.wait()
        queue = self._queue(topic, count, record.key, partition)
        size = _PER_RECORD + len(record.key or b"") + len(record.value or b"")
        if record.headers:
            size += sum(len(each) + len(value or b"") + 4 for each, value in record.headers)
        queue.put(record, size, delivered)
        self._buffered += size
        if queue.sender is None:
            queue.sender = asyncio.create_task(self._drain(queue))
        if queue.size_bytes >= self._batch_bytes:
            await asyncio.sleep(0)  # a caller that never waits would keep the batch from being sent

    async def deliver(
        self, topic: str, value: bytes | None, *, key: bytes | None = None, partition: int | None = None
    ) -> Delivered:
        """Send one record and wait until it is delivered."""
        return await (await self.send(topic, value, key=key, partition=partition))

    async def flush(self) -> None:
        """Wait until nothing is on its way any more; who failed knows by its own future."""
        while senders := [queue.sender for queue in self._queues.values() if queue.sender is not None]:
            await asyncio.wait(senders)

    async def close(self, *, flush: bool = True) -> None:
        """Stop; without *flush*, what is still on its way fails."""
        if flush:
            await self.flush()
        self._closed = True
        senders = [queue.sender for queue in self._queues.values() if queue.sender is not None]
        for sender in senders:
            sender.cancel()
        if senders:
            await asyncio.wait(senders)
        for queue in self._queues.values():  # a sender that never ran has cleared up nothing
            self._abandon(queue, [], asyncio.CancelledError())

    def _queue(self, topic: str, count: int, key: bytes | None, partition: int | None) -> SendQueue:
        if partition is None:
            partition = self._choose(topic, count, key)
        elif not 0 <= partition < count:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{topic!r} has partitions 0 to {count - 1}, not {partition}",
            )
        name = TopicPartition(topic, partition)
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = SendQueue(name)
        return queue

    def _choose(self, topic: str, count: int, key: bytes | None) -> int:
        if key is not None:
            return partition_of_key(key, count)
        sticky = self._sticky.get(topic)
        if sticky is None:
            sticky = self._sticky[topic] = Sticky(self._client.random.randrange(count))
        return sticky.choose(count)

    def _move_on(self, partition: TopicPartition) -> None:
        """A batch for *partition* is taken: keyless records that went there go elsewhere now."""
        sticky = self._sticky.get(partition.topic)
        if sticky is not None and sticky.choose(self._counts[partition.topic]) == partition.partition:
            sticky.batch_taken()

    async def _learn(self, topic: str) -> int:
        """How many partitions *topic* has; it is created if the cluster does that."""

        found = await self._client.retry(
            lambda: self._client.topic(topic, create=True), patience=_CREATION_SECONDS, passing=_PASSING
        )
        self._counts[topic] = len(found.partitions)
        return len(found.partitions)

    async def _drain(self, queue: SendQueue) -> None:
        """Send *queue*'s records, a batch at a time, until none is left."""
        futures: list[Promise | None] = []
        try:
            while queue.records:
                records, futures, size = queue.take(self._batch_bytes)
                self._move_on(queue.partition)
                try:
                    offset = await self._send_batch(queue, records)
                except (Refused, Unreachable, TransactionFailed) as problem:
                    # The broker may have the batch or not, so its sequence is
                    # spoilt: the partition goes on under a new identity.
                    queue.identity, queue.spoilt = None, True
                    if self._transaction is not None and not isinstance(problem, TransactionFailed):
                        self._transaction.spoilt(problem)
                    self._reject(queue.partition, futures, problem)
                else:
                    self._accept(queue.partition, futures, offset, size)
                finally:
                    self._release(size)
        except BaseException as problem:
            self._abandon(queue, futures, problem)
            raise
        finally:
            queue.sender = None

    async def _send_batch(self, queue: SendQueue, records: list[NewRecord]) -> int:
        """Send *records* as one batch until it is acknowledged; the offset of the first."""
        me = await self._identify(queue) if self._idempotent else NOBODY
        batch = build(
            records,
            codec=self._codec,
            now_ms=self._clock.now_ms(),
            producer_id=me.producer_id,
            producer_epoch=me.epoch,
            base_sequence=me.sequence,
            transactional=self._transaction is not None,
        )
        offset = await self._client.retry(
            lambda: self._produce(queue.partition, batch), patience=self._delivery_timeout, passing=_PASSING
        )
        if self._idempotent:
            me.sequence = (me.sequence + len(records)) % _SEQUENCES
        return offset

    async def _identify(self, queue: SendQueue) -> Identity:
        """Who we are to *queue*'s partition; a spoilt identity is replaced by one nobody has seen."""
        if self._transaction is not None:
            return await self._transaction.enlist(queue.partition)
        if queue.identity is None:
            async with self._identifying:
                if self._identity is None or queue.spoilt:
                    self._identity = await self._client.retry(self._init, patience=self._delivery_timeout)
            queue.identity = Identity(*self._identity)
            queue.spoilt = False
        return queue.identity

    async def _init(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        said = await self._client.ask(request, InitProducerIdResponse)
        check(said.error_code, "producer id")
        return said.producer_id, said.producer_epoch

    async def _produce(self, partition: TopicPartition, batch: bytearray) -> int:
        connection = await self._client.to(await self._client.leader(partition))
        timeout = self._client.timeout
        transaction = self._transaction
        at_most = _BY_NAME if transaction is None or transaction.implicit else _EXPLICIT
        request = ProduceRequest(
            transactional_id=None if transaction is None else transaction.transactional_id,
            acks=self._acks,
            timeout_ms=int(timeout * 1000),
            topic_data=[
                ProduceRequestTopicData(
                    name=partition.topic,
                    partition_data=[ProduceRequestPartitionData(index=partition.partition, records=batch)],
                )
            ],
        )
        if self._acks == 0:
            await connection.tell(request, at_most=at_most)
            return -1
        said = await connection.request(request, ProduceResponse, at_most=at_most, timeout=timeout + 5)
        answer = said.responses[0].partition_responses[0]
        if answer.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return -1  # it lies there already, further back than the broker remembers offsets
        check(answer.error_code, f"produce to {partition}", answer.error_message)
        return answer.base_offset

    def _accept(
        self, partition: TopicPartition, futures: list[Promise | None], offset: int, size: int
    ) -> None:
        self.records_delivered += len(futures)
        self.bytes_delivered += size - _PER_RECORD * len(futures)
        self._on_batch(Outcome(partition, len(futures), offset))
        for place, delivered in enumerate(futures):
            if delivered is not None and not delivered.done():
                at = offset + place if offset >= 0 else -1
                delivered.set_result(Delivered(partition.topic, partition.partition, at))

    def _reject(self, partition: TopicPartition, futures: list[Promise | None], problem: Exception) -> None:
        self._on_batch(Outcome(partition, len(futures), -1, problem))
        for delivered in futures:
            if delivered is not None and not delivered.done():
                delivered.set_exception(problem)
                if self._transaction is not None:
                    delivered.exception()  # who commits is told: nobody need ask each record

    def _abandon(self, queue: SendQueue, futures: list[Promise | None], problem: BaseException) -> None:
        while queue.records:
            _, more, size = queue.take(self._buffer_bytes)
            futures = futures + more
            self._release(size)
        why = problem if isinstance(problem, Exception) else Unreachable("the producer was closed")
        if futures:
            self._reject(queue.partition, futures, why)

    def _release(self, size: int) -> None:
        self._buffered -= size
        self._room.set()
