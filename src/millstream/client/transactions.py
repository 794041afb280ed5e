"""Writing in transactions: all of what is sent, and the offsets it was made of, or nothing.

    async with TransactionalProducer(client, "payments-1") as producer:
        await producer.init()
        producer.begin()
        await producer.send("out", value)
        await producer.send_offsets(consumer.member, consumer.positions())
        await producer.commit()

Both generations of the protocol are spoken. Where the cluster is at
`transaction.version` 2 partitions become part of a transaction by being written
to, and every end of one gives the producer a new epoch. Else they are added
first, and the epoch changes only when something went wrong.

What can go wrong is of three kinds, as Kafka has it. What passes is tried again
here. What spoils the transaction raises MustAbort: abort, and begin anew. What
ends the producer, such as another with its transactional id, raises Ended.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import Final, Self, TypeVar, final

from millstream.client.cluster import Client
from millstream.client.connection import Connection
from millstream.client.group_offsets import Member
from millstream.client.producer import Producer
from millstream.client.refusals import check
from millstream.client.send_queue import Identity, Promise
from millstream.client.topics import TopicPartition
from millstream.client.transaction_errors import Ended, MustAbort, Severity, severity
from millstream.client.unreachable import Unreachable
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.records.build import Headers
from millstream.records.compression import Codec
from millstream.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from millstream.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnRequestTopic,
    AddPartitionsToTxnResponse,
)
from millstream.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from millstream.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from millstream.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

__all__ = ["Ended", "MustAbort", "TransactionalProducer"]

T = TypeVar("T")

_FEATURE: Final = "transaction.version"
_SECOND_GENERATION: Final = 2
_LAST_ADD_OF_CLIENTS: Final = 3  # later versions of AddPartitionsToTxn are for brokers
_LAST_EXPLICIT: Final = 4  # of EndTxn and TxnOffsetCommit
_SMALLEST_WAIT_S: Final = 0.02


class _State(Enum):
    NEW = "not yet initialised"
    READY = "between two transactions"
    OPEN = "in a transaction"
    SPOILT = "in a transaction that must be aborted"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ENDED = "of no more use"


@final
class TransactionalProducer:
    """The one producer of *transactional_id*: whoever initialises next puts an end to this one.

    A transaction that is not ended within *timeout* seconds is aborted by the
    cluster. `commit` and `abort` may be called again if they raise Unreachable:
    the cluster may have heard of it or not, and is asked until it has. *version*
    is the newest transaction version to speak, whatever the cluster is at.
    """

    def __init__(
        self,
        client: Client,
        transactional_id: str,
        *,
        timeout: float = 60.0,
        codec: Codec = Codec.NONE,
        batch_bytes: int = 900_000,
        buffer_bytes: int = 32 << 20,
        delivery_timeout: float = 120.0,
        clock: Clock | None = None,
        version: int = _SECOND_GENERATION,
    ) -> None:
        self._client = client
        self._ledger = _Ledger(client, transactional_id, timeout, delivery_timeout, version)
        self._producer = Producer(
            client,
            codec=codec,
            batch_bytes=batch_bytes,
            buffer_bytes=buffer_bytes,
            delivery_timeout=delivery_timeout,
            clock=clock,
            transaction=self._ledger,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def transactional_id(self) -> str:
        return self._ledger.transactional_id

    @property
    def producer_id(self) -> int:
        return self._ledger.producer_id

    @property
    def epoch(self) -> int:
        return self._ledger.epoch

    @property
    def in_transaction(self) -> bool:
        return self._ledger.state in (_State.OPEN, _State.SPOILT)

    async def init(self) -> None:
        """Become the producer of the transactional id; what an earlier one left open is aborted first."""
        await self._ledger.init()

    def begin(self) -> None:
        """From now on what is sent belongs together."""
        self._ledger.begin()

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
        """Put a record on its way; the future tells where it lies, readable once it is committed."""
        self._ledger.check_open()
        return await self._producer.send(
            topic, value, key=key, partition=partition, headers=headers, timestamp_ms=timestamp_ms
        )

    async def send_offsets(self, member: Member, offsets: Mapping[TopicPartition, int]) -> None:
        """Let *offsets* be committed for *member*'s group if, and only if, the transaction is."""
        if offsets:
            await self._ledger.send_offsets(member, offsets)

    async def commit(self) -> None:
        """End the transaction: all that was sent is there. MustAbort if any of it could not be delivered."""
        self._ledger.check_open(_State.COMMITTING)
        await self._producer.flush()
        await self._ledger.end(committed=True)

    async def abort(self) -> None:
        """End the transaction: nothing that was sent counts."""
        self._ledger.give_up()
        await self._producer.flush()
        await self._ledger.end(committed=False)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """Begin, and commit at the end of the block; whatever is raised in it aborts."""
        self.begin()
        try:
            yield self
            await self.commit()
        except BaseException:
            with suppress(Ended, Refused, Unreachable):
                if self.in_transaction:
                    await self.abort()
            raise

    async def close(self) -> None:
        """Stop; a transaction that is still open is aborted if the cluster can be reached."""
        with suppress(MustAbort, Ended, Refused, Unreachable):
            if self.in_transaction:
                await self.abort()
        await self._producer.close(flush=False)


@final
class _Ledger:
    """One transactional id as its coordinator knows it: who we are, and what is part of the transaction."""

    def __init__(
        self, client: Client, transactional_id: str, timeout: float, patience: float, version: int
    ) -> None:
        self.transactional_id = transactional_id
        self.implicit = True
        self.producer_id = -1
        self.epoch = -1
        self.state = _State.NEW
        self._client = client
        self._timeout_ms = int(timeout * 1000)
        self._patience = patience
        self._version = version
        self._problem: Exception | None = None
        self._identities: dict[TopicPartition, Identity] = {}
        self._wanted: set[TopicPartition] = set()
        self._partitions: set[TopicPartition] = set()
        self._groups: set[str] = set()
        self._begun = False  # the coordinator may have heard of the transaction
        self._must_bump = False
        self._adding = asyncio.Lock()

    # Between transactions

    async def init(self) -> None:
        if self.state is not _State.NEW:
            raise _misuse("init", self.state)
        await self._identify(-1, -1)
        self.state = _State.READY

    def begin(self) -> None:
        if self.state is not _State.READY:
            raise self._not_now("begin")
        self.state = _State.OPEN
        self._problem = None

    def check_open(self, *also: _State) -> None:
        """Raise unless a transaction is open, and can still be committed."""
        if self.state is not _State.OPEN and self.state not in also:
            raise self._not_now("write or commit")

    def give_up(self) -> None:
        if self.state not in (_State.OPEN, _State.SPOILT, _State.ABORTING):
            raise self._not_now("abort")
        if self.state is _State.OPEN:
            self.state, self._problem = _State.SPOILT, Unreachable("the transaction is being aborted")

    # In a transaction

    async def enlist(self, partition: TopicPartition) -> Identity:
        self.check_open(_State.COMMITTING)
        self._begun = True
        if not self.implicit and partition not in self._partitions:
            self._wanted.add(partition)
            async with self._adding:
                if self._wanted:
                    await self._judged(self._add, sorted(self._wanted))
        self._partitions.add(partition)
        found = self._identities.get(partition)
        if found is None:
            found = self._identities[partition] = Identity(self.producer_id, self.epoch)
        return found

    def spoilt(self, problem: Exception) -> None:
        if self.state in (_State.OPEN, _State.COMMITTING):
            self.state, self._problem = _State.SPOILT, problem
        # The broker may have the batch or not, so sequences of this epoch are worth nothing.
        self._must_bump = True
        if severity(problem) is Severity.FATAL:
            self.state, self._problem = _State.ENDED, problem

    async def send_offsets(self, member: Member, offsets: Mapping[TopicPartition, int]) -> None:
        self.check_open()
        self._begun = True
        if not self.implicit and member.group not in self._groups:
            await self._judged(self._add_group, member.group)
            self._groups.add(member.group)
        await self._judged(self._commit_offsets, member, offsets, group=member.group)

    async def end(self, *, committed: bool) -> None:
        """Tell the coordinator how it ends, until it says that it has ended."""
        if committed and self.state is _State.SPOILT:
            assert self._problem is not None
            raise MustAbort(self._problem)
        if self.state is _State.ENDED:
            raise self._not_now("end")
        self.state = _State.COMMITTING if committed else _State.ABORTING
        if self._begun:
            await self._judged(self._end, committed)
        if self._must_bump and not self.implicit:
            await self._identify(self.producer_id, self.epoch)
        self._begun = self._must_bump = False
        self._partitions.clear()
        self._groups.clear()
        self._wanted.clear()
        self.state = _State.READY

    # What the coordinators are asked

    async def _identify(self, producer_id: int, epoch: int) -> None:
        async def attempt() -> InitProducerIdResponse:
            connection = await self._coordinator()
            # Which generation is spoken may change with the cluster, but not while a transaction is open.
            version = min(self._version, connection.features.get(_FEATURE, 0))
            self.implicit = version >= _SECOND_GENERATION
            request = InitProducerIdRequest(self.transactional_id, self._timeout_ms, producer_id, epoch)
            said = await connection.request(request, InitProducerIdResponse, timeout=self._client.timeout)
            check(said.error_code, f"transactional id {self.transactional_id!r}")
            return said

        said = await self._judged(attempt)
        self._become(said.producer_id, said.producer_epoch)

    async def _add(self, partitions: list[TopicPartition]) -> None:
        topics: dict[str, list[int]] = {}
        for partition in partitions:
            topics.setdefault(partition.topic, []).append(partition.partition)
        request = AddPartitionsToTxnRequest(
            self.transactional_id,
            self.producer_id,
            self.epoch,
            [AddPartitionsToTxnRequestTopic(name, indexes) for name, indexes in topics.items()],
        )
        connection = await self._coordinator()
        said = await connection.request(
            request, AddPartitionsToTxnResponse, at_most=_LAST_ADD_OF_CLIENTS, timeout=self._client.timeout
        )
        for topic in said.results_by_topic_v3_and_below:
            for answer in topic.results_by_partition:
                # One that was not even tried says nothing; the one to blame is in the list as well.
                if answer.partition_error_code != ErrorCode.OPERATION_NOT_ATTEMPTED:
                    where = f"{topic.name}-{answer.partition_index}"
                    check(answer.partition_error_code, f"{where} in a transaction")
        self._partitions.update(partitions)
        self._wanted.difference_update(partitions)

    async def _add_group(self, group: str) -> None:
        request = AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group)
        connection = await self._coordinator()
        said = await connection.request(request, AddOffsetsToTxnResponse, timeout=self._client.timeout)
        check(said.error_code, f"group {group!r} in a transaction")

    async def _commit_offsets(self, member: Member, offsets: Mapping[TopicPartition, int]) -> None:
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for partition in sorted(offsets):
            one = TxnOffsetCommitRequestPartition(partition.partition, offsets[partition])
            topics.setdefault(partition.topic, []).append(one)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=member.group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=member.generation,
            member_id=member.id,
            group_instance_id=member.instance_id,
            topics=[TxnOffsetCommitRequestTopic(name, each) for name, each in topics.items()],
        )
        connection = await self._client.to(await self._client.coordinator(member.group))
        at_most = None if self.implicit else _LAST_EXPLICIT
        said = await connection.request(
            request, TxnOffsetCommitResponse, at_most=at_most, timeout=self._client.timeout
        )
        for topic in said.topics:
            for answer in topic.partitions:
                where = f"{topic.name}-{answer.partition_index}"
                check(answer.error_code, f"offset of group {member.group!r} for {where}")

    async def _end(self, committed: bool) -> None:
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, committed)
        connection = await self._coordinator()
        at_most = None if self.implicit else _LAST_EXPLICIT
        said = await connection.request(
            request, EndTxnResponse, at_most=at_most, timeout=self._client.timeout
        )
        unheard_of = not self.implicit and not self._partitions and not self._groups
        if unheard_of and not committed and said.error_code == ErrorCode.INVALID_TXN_STATE:
            return  # nothing of it ever reached the coordinator, so there is nothing to abort
        check(said.error_code, f"end of a transaction of {self.transactional_id!r}")
        if self.implicit:
            self._become(said.producer_id, said.producer_epoch)

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self._identities.clear()

    async def _coordinator(self) -> Connection:
        node = await self._client.transaction_coordinator(self.transactional_id)
        return await self._client.to(node)

    async def _judged(
        self, attempt: Callable[..., Awaitable[T]], *args: object, group: str | None = None
    ) -> T:
        """*attempt* until it succeeds; a problem that does not pass is told apart, and remembered."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        tries = 0
        while True:
            try:
                return await attempt(*args)
            except (Refused, Unreachable) as problem:
                kind = severity(problem)
                if kind is Severity.FATAL or self._is_fenced(problem):
                    self.state, self._problem = _State.ENDED, problem
                    raise Ended(problem) from problem
                if kind is Severity.ABORTABLE and self.state in (_State.OPEN, _State.COMMITTING):
                    self.state, self._problem = _State.SPOILT, problem
                    raise MustAbort(problem) from problem
                if kind is Severity.ABORTABLE or loop.time() >= deadline:
                    raise
                busy = isinstance(problem, Refused) and problem.code is ErrorCode.CONCURRENT_TRANSACTIONS
                if not busy:
                    self._client.forget(group or self.transactional_id)
            # An earlier transaction is about to be done with: that takes a moment only.
            await asyncio.sleep(_SMALLEST_WAIT_S if busy and tries < 5 else self._client.backoff(tries))
            tries += 1

    @staticmethod
    def _is_fenced(problem: Exception) -> bool:
        """So older versions say it. From a partition's leader it need not mean that; here it does."""
        return isinstance(problem, Refused) and problem.code is ErrorCode.INVALID_PRODUCER_EPOCH

    def _not_now(self, what: str) -> Exception:
        if self.state is _State.ENDED and self._problem is not None:
            return Ended(self._problem)
        if self.state is _State.SPOILT and self._problem is not None:
            return MustAbort(self._problem)
        return _misuse(what, self.state)


def _misuse(what: str, state: _State) -> RuntimeError:
    return RuntimeError(f"cannot {what}: the producer is {state.value}")
