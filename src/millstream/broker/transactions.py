"""Every transaction this node coordinates: what is decided is written, and then done.

A transaction's end takes three steps, each begun when the one before is
committed: that it ends and how, markers in all its partitions, and that they
are there. After a crash between them it goes on where it was. So whoever was
told that a transaction is committed finds all of it, and never a part.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Set
from typing import Final, NamedTuple, final

from millstream.broker.change_log import ChangeLog, Ended
from millstream.broker.group_errors import as_clients_know_it
from millstream.broker.markers import Markers
from millstream.broker.producer_ids import ProducerIds
from millstream.cluster.coordinators import coordinator_partition
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.storage.retention import ClockGuard
from millstream.transactions.changes import TRANSACTIONS_TOPIC, decode, encode
from millstream.transactions.config import TransactionConfig
from millstream.transactions.transaction import NO_PRODUCER, Identity, Place, State, Transaction

log = logging.getLogger(__name__)

_RECORDS_A_SLICE: Final = 500  # replayed in one go before others get the loop
_END_SECONDS: Final = 5.0  # how long a caller waits for markers of what is decided anyway
_RETRY_SECONDS: Final = 1.0
_ID_MAX_BYTES: Final = 0x7FFF


class Listed(NamedTuple):
    """A transactional id in a list of many."""

    id: str
    transaction: Transaction
    age_ms: int  # since it began; -1 if it has not


@final
class _Held:
    """A transactional id, the last of its changes that may not be committed yet, and its end under way."""

    __slots__ = ("committed", "ending", "id", "opened_at", "partition", "transaction")

    def __init__(self, id: str, partition: int, transaction: Transaction) -> None:
        self.id = id
        self.partition = partition
        self.transaction = transaction
        self.committed: asyncio.Future[None] | None = None
        self.ending: asyncio.Task[None] | None = None
        self.opened_at = 0.0  # by the loop's time, which never jumps

    @property
    def unsafe(self) -> "asyncio.Future[None] | None":
        """Done once all that was written is committed; None if it is."""
        last = self.committed
        is_safe = last is None or (last.done() and not last.cancelled() and last.exception() is None)
        return None if is_safe else last


@final
class Transactions:
    """Every transactional id by name. Methods act at once, and return when what they did is safe."""

    def __init__(
        self,
        change_log: ChangeLog,
        markers: Markers,
        producer_ids: ProducerIds,
        clock: Clock,
        config: Callable[[], TransactionConfig],
    ) -> None:
        self._log = change_log
        self._markers = markers
        self._producer_ids = producer_ids
        self._clock = clock
        self._config = config
        self._partitions = 0
        self._loaded: set[int] = set()
        self._held: dict[str, _Held] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._held)

    def start(self) -> None:
        """Load all transactions while other work goes on, end those that were ending, and look after them."""
        loop = asyncio.get_running_loop()
        self._partitions = self._log.partitions
        self._tasks = [
            loop.create_task(self._load_all()),
            loop.create_task(self._watch_time()),
            loop.create_task(self._watch_age()),
        ]

    async def ready(self) -> None:
        """Return once every transaction is loaded."""
        await asyncio.wait(self._tasks[:1])

    def stop(self) -> None:
        """Coordinate nothing any more. What is ending goes on at the next start."""
        self._is_stopped = True
        for task in self._tasks:
            task.cancel()
        for held in self._held.values():
            if held.ending is not None:
                held.ending.cancel()

    # What producers ask

    async def begin(self, id: str, timeout_ms: int, expected: Identity | None) -> Identity:
        """A producer begins to use *id*: who it is from now on. All that used it before are locked out."""
        if not id:
            raise Refused(ErrorCode.INVALID_REQUEST, "an empty transactional id")
        if len(id.encode()) > _ID_MAX_BYTES:
            raise Refused(ErrorCode.INVALID_REQUEST, "a transactional id too long to be written")
        if not 0 < timeout_ms <= self._config().max_timeout_ms:
            raise Refused(
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"a transaction of {timeout_ms} ms; transaction.max.timeout.ms is"
                f" {self._config().max_timeout_ms}",
            )
        self._check_loaded(id)
        held = self._held.get(id)
        new_id = NO_PRODUCER
        if held is None or held.transaction.is_exhausted:
            new_id = await self._producer_ids.new()
            held = self._held.get(id)
        if held is None:
            return await self._begin_new(id, timeout_ms, new_id)
        if held.transaction.must_abort_first(expected):
            await self._abort(held, "another producer uses its id")
            raise Refused(
                ErrorCode.CONCURRENT_TRANSACTIONS, "its last transaction is being aborted; ask again"
            )
        begun = held.transaction.initialized(expected, timeout_ms, new_id, self._clock.now_ms())
        await self._write(held, begun)
        return begun.identity

    async def _begin_new(self, id: str, timeout_ms: int, new_id: int) -> Identity:
        if len(self._held) >= self._config().max_count:
            raise Refused(
                ErrorCode.POLICY_VIOLATION, f"transactional.id.max.count is {self._config().max_count}"
            )
        transaction = Transaction(
            producer_id=new_id, epoch=0, timeout_ms=timeout_ms, updated_ms=self._clock.now_ms()
        )
        held = _Held(id, coordinator_partition(id, self._partitions), transaction)
        self._held[id] = held
        try:
            await self._write(held, transaction)
        except Refused:
            if held.committed is None:
                self._held.pop(id, None)  # nothing was written
            raise
        return transaction.identity

    def join(
        self, id: str, by: Identity, places: Set[Place], client_version: int
    ) -> "asyncio.Future[None] | None":
        """Make *places* part of the transaction; done once that is safe, None if it is already."""
        held = self._find(id)
        before = held.transaction
        joined = before.joined(by, places, client_version, self._clock.now_ms())
        if joined is not before:
            if before.state is not State.ONGOING:
                held.opened_at = asyncio.get_running_loop().time()
            self._append(held, joined)
        return held.unsafe

    def check(self, id: str, by: Identity, places: Set[Place]) -> "asyncio.Future[None] | None":
        """Refuse unless all *places* are part of the transaction; otherwise as `join`."""
        held = self._find(id)
        for place in sorted(places):
            if not held.transaction.has(by, place):
                raise Refused(
                    ErrorCode.INVALID_TXN_STATE,
                    f"{place.topic}-{place.partition} is not part of the transaction of {id!r}, which is"
                    f" {held.transaction.state.title}",
                )
        return held.unsafe

    async def end(self, id: str, by: Identity, commit: bool, client_version: int) -> Identity:
        """The transaction ends; who its producer is afterwards."""
        held = self._find(id)
        new_id = await self._new_id_for(held)
        before = held.transaction
        ended = before.ended(by, commit, client_version, new_id, self._clock.now_ms())
        if ended is not before:
            self._append(held, ended)
            self._finish(held)
        await self._safe(held)
        if held.ending is not None:
            # It is decided. That it can be read is worth waiting for, but not for ever.
            await asyncio.wait([held.ending], timeout=_END_SECONDS)
        return ended.identity

    # What operators ask

    def describe(self, id: str) -> Transaction:
        self._check_loaded(id)
        held = self._held.get(id)
        if held is None:
            raise Refused(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"nobody uses the transactional id {id!r}")
        return held.transaction

    def listed(self) -> list[Listed]:
        """Every transactional id, by name."""
        if len(self._loaded) < self._partitions:
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "transactions are being loaded")
        now_ms = self._clock.now_ms()
        return [
            Listed(id, held.transaction, _age_ms(held.transaction, now_ms))
            for id, held in sorted(self._held.items())
        ]

    # Writing

    def _find(self, id: str) -> _Held:
        if not id:
            raise Refused(ErrorCode.INVALID_REQUEST, "an empty transactional id")
        self._check_loaded(id)
        held = self._held.get(id)
        if held is None:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"no producer has begun to use {id!r}; begin again"
            )
        return held

    def _check_loaded(self, id: str) -> None:
        if self._is_stopped:
            raise Refused(ErrorCode.NOT_COORDINATOR, "this node is shutting down")
        if coordinator_partition(id, self._partitions) not in self._loaded:
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the transaction is being loaded")

    async def _new_id_for(self, held: _Held) -> int:
        """A producer id, if the next epoch of *held* needs one."""
        return await self._producer_ids.new() if held.transaction.is_exhausted else NO_PRODUCER

    def _append(self, held: _Held, transaction: Transaction) -> None:
        """Write what *held* becomes; if it cannot be written, it stays what it is."""
        try:
            held.committed = self._log.append(held.partition, [encode(held.id, transaction)])
        except Refused as refusal:
            raise Refused(as_clients_know_it(refusal.code, of_members=True), refusal.detail) from None
        held.transaction = transaction

    async def _write(self, held: _Held, transaction: Transaction) -> None:
        self._append(held, transaction)
        await self._safe(held)

    async def _safe(self, held: _Held) -> None:
        """Return once all that was written of *held* is committed."""
        if held.committed is not None:
            try:
                await asyncio.shield(held.committed)
            except Refused as refusal:
                raise Refused(as_clients_know_it(refusal.code, of_members=True), refusal.detail) from None

    # Ending

    async def _abort(self, held: _Held, why: str) -> None:
        """End an open transaction of ours accord."""
        new_id = await self._new_id_for(held)
        if held.transaction.state is not State.ONGOING:
            return
        log.info(
            "transaction aborted id=%r producer=%d reason=%s", held.id, held.transaction.producer_id, why
        )
        self._append(held, held.transaction.aborted(new_id, self._clock.now_ms()))
        self._finish(held)
        await self._safe(held)

    def _finish(self, held: _Held) -> None:
        held.ending = asyncio.get_running_loop().create_task(self._complete(held))

    async def _complete(self, held: _Held) -> None:
        """Write the markers of a transaction whose end is decided, and then that they are written."""
        ending = held.transaction
        left = ending.places
        while True:
            try:
                await self._safe(held)
                left = await self._markers.write(ending, left)
                if not left:
                    self._append(held, ending.completed(self._clock.now_ms()))
                    held.ending = None
                    return
            except Refused as refusal:
                log.warning("transaction cannot end yet id=%r reason=%s", held.id, refusal)
            await asyncio.sleep(_RETRY_SECONDS)

    # Time

    async def _watch_time(self) -> None:
        """Abort what takes longer than its producer said, or nobody could read past it."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._config().timeout_check_interval_ms / 1000)
            for held in list(self._held.values()):
                transaction = held.transaction
                due = held.opened_at + transaction.timeout_ms / 1000
                if transaction.state is State.ONGOING and loop.time() >= due:
                    try:
                        await self._abort(held, f"not ended within {transaction.timeout_ms} ms")
                    except Refused as refusal:
                        log.warning("transaction not aborted id=%r reason=%s", held.id, refusal)

    async def _watch_age(self) -> None:
        """Forget ids that nobody has used for long."""
        guard = ClockGuard()
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._config().expiration_check_interval_ms / 1000)
            now_ms = self._clock.now_ms()
            if not guard.trusts(now_ms, round(loop.time() * 1000)):
                continue  # a clock that was set must not make everything old at once
            for held in list(self._held.values()):
                if held.transaction.is_expired(now_ms, self._config().id_expiration_ms):
                    self._forget(held)

    def _forget(self, held: _Held) -> None:
        try:
            self._log.append(held.partition, [encode(held.id, None)])
        except Refused as refusal:
            log.warning("transactional id not forgotten id=%r reason=%s", held.id, refusal)
            return
        del self._held[held.id]

    # Loading

    async def _load_all(self) -> None:
        for partition in range(self._partitions):
            try:
                for _ in self._load(partition):
                    await asyncio.sleep(0)
            except (Refused, OSError) as error:
                log.error(
                    "transactions not loaded topic=%s partition=%d reason=%s",
                    TRANSACTIONS_TOPIC,
                    partition,
                    error,
                )

    def _load(self, partition: int) -> Iterator[None]:
        """Read the transactions of *partition* from its log, pausing now and then."""
        found: dict[str, Transaction] = {}
        for count, entry in enumerate(self._log.replay(partition), 1):
            if isinstance(entry, Ended):
                continue
            try:
                change = decode(entry.key, entry.value)
            except Refused as refusal:
                log.error(
                    "record skipped topic=%s partition=%d reason=%s", TRANSACTIONS_TOPIC, partition, refusal
                )
                continue
            if change is not None:
                id, transaction = change
                if transaction is None:
                    found.pop(id, None)
                else:
                    found[id] = transaction
            if count % _RECORDS_A_SLICE == 0:
                yield
        now_ms, now = self._clock.now_ms(), asyncio.get_running_loop().time()
        for id, transaction in found.items():
            held = self._held[id] = _Held(id, partition, transaction)
            age_ms = min(max(_age_ms(transaction, now_ms), 0), transaction.timeout_ms)
            held.opened_at = now - age_ms / 1000
            if transaction.is_prepared:
                self._finish(held)
        self._loaded.add(partition)


def _age_ms(transaction: Transaction, now_ms: int) -> int:
    return now_ms - transaction.started_ms if transaction.started_ms >= 0 else -1
