"""One transactional id: who may write under it, and how far its transaction has come.

    Empty ── partitions join ──> Ongoing ── end ──> PrepareCommit ── markers are written ──> CompleteCommit
                                        └─ or ──> PrepareAbort  ── markers are written ──> CompleteAbort

A transaction is a value. Its steps decide: they return what it becomes, which
counts once it is written, or raise Refused. Once Prepare… is written nothing
can change how the transaction ends; whatever happens, its markers follow.

Clients are of two generations. Older ones (of version 0) name the partitions
before they write to them, and keep their epoch. From version 2 on partitions
join by being written to, and each end raises the epoch, so that nothing
written late can get into the next transaction.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple, final

from millstream.errors import ErrorCode, Refused

IMPLICIT: Final = 2  # the version of clients from which on partitions join by being written to
NO_PRODUCER: Final = -1
_LAST_EPOCH: Final = 0x7FFF
_EXHAUSTED: Final = _LAST_EPOCH - 1  # no client is given more; the last is for fencing it


class State(Enum):
    """Kafka's names; the number is how a state is written."""

    EMPTY = 0, "Empty"
    ONGOING = 1, "Ongoing"
    PREPARE_COMMIT = 2, "PrepareCommit"
    PREPARE_ABORT = 3, "PrepareAbort"
    COMPLETE_COMMIT = 4, "CompleteCommit"
    COMPLETE_ABORT = 5, "CompleteAbort"

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def title(self) -> str:
        return self.value[1]


PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})


class Identity(NamedTuple):
    """Who a producer says it is: of two with the same id, the one with the higher epoch."""

    producer_id: int
    epoch: int


class Place(NamedTuple):
    """One partition that a transaction writes to."""

    topic: str
    partition: int


NOWHERE: Final[frozenset[Place]] = frozenset()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """All that is known of a transactional id. *earlier_epoch* alone is not written: who asks again
    after a restart, and is not sure what epoch it has, is fenced and has to begin anew."""

    producer_id: int
    epoch: int
    timeout_ms: int
    state: State = State.EMPTY
    places: frozenset[Place] = NOWHERE
    updated_ms: int
    started_ms: int = -1
    previous_id: int = NO_PRODUCER
    next_id: int = NO_PRODUCER
    client_version: int = 0
    earlier_epoch: int = -1

    @property
    def identity(self) -> Identity:
        """Who writes under this name now, or will once the transaction that is ending has ended."""
        if self.next_id != NO_PRODUCER:
            return Identity(self.next_id, 0)
        return Identity(self.producer_id, self.epoch)

    @property
    def is_exhausted(self) -> bool:
        """Whether the next epoch needs a new producer id."""
        return self.epoch >= _EXHAUSTED

    @property
    def is_prepared(self) -> bool:
        """Whether its end is decided and its markers have to be written."""
        return self.state in PREPARED

    @property
    def commits(self) -> bool:
        return self.state is State.PREPARE_COMMIT

    # A producer begins to use the name

    def must_abort_first(self, expected: Identity | None) -> bool:
        """Whether a producer that begins has to wait, as a transaction is open or ending.

        Refused if it expects to be someone who has been replaced.
        """
        if expected is not None and not self._knows(expected):
            raise fenced(expected, self)
        if self.is_prepared:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS, "a transaction is just ending; ask again")
        if self.state is not State.ONGOING:
            return False
        if expected is not None and expected.epoch not in (self.epoch, self.earlier_epoch):
            raise fenced(expected, self)
        return True

    def initialized(
        self, expected: Identity | None, timeout_ms: int, new_id: int, now_ms: int
    ) -> "Transaction":
        """A producer begins: it alone writes from now on. *new_id* is used if epochs are exhausted."""
        begun = replace(
            self,
            timeout_ms=timeout_ms,
            state=State.EMPTY,
            places=NOWHERE,
            started_ms=-1,
            updated_ms=now_ms,
            earlier_epoch=-1 if expected is None else self.epoch,
        )
        if self.is_exhausted and (expected is None or expected.epoch == self.epoch):
            return replace(begun, producer_id=new_id, previous_id=self.producer_id, epoch=0)
        if expected is None or expected.epoch == self.epoch:
            return replace(begun, epoch=self.epoch + 1)
        if expected.epoch == self.earlier_epoch:
            return replace(begun, earlier_epoch=self.earlier_epoch)  # it did not hear the first answer
        raise fenced(expected, self)

    def _knows(self, expected: Identity) -> bool:
        if expected.producer_id == self.producer_id:
            return True
        return expected.producer_id == self.previous_id and expected.epoch >= _EXHAUSTED

    # Partitions join

    def joined(self, by: Identity, places: Set[Place], client_version: int, now_ms: int) -> "Transaction":
        """*places* are part of the transaction, which begins with the first of them."""
        self.check_writer(by)
        if self.is_prepared:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS, "the last transaction is just ending; ask again")
        if self.state is State.ONGOING:
            if places <= self.places:
                return self
            return replace(self, places=self.places | places, updated_ms=now_ms)
        return replace(
            self,
            state=State.ONGOING,
            places=frozenset(places),
            started_ms=now_ms,
            updated_ms=now_ms,
            client_version=client_version,
        )

    def has(self, by: Identity, place: Place) -> bool:
        """Whether *by* may write to *place* in the transaction that is open now."""
        self.check_writer(by)
        return self.state is State.ONGOING and place in self.places

    def check_writer(self, by: Identity) -> None:
        """Refuse all but the one producer that writes under this name."""
        if by.producer_id != self.producer_id:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"the transactional id belongs to producer {self.producer_id}, not {by.producer_id}",
            )
        if by.epoch != self.epoch:
            raise fenced(by, self)

    # A transaction ends

    def ended(
        self, by: Identity, commit: bool, client_version: int, new_id: int, now_ms: int
    ) -> "Transaction":
        """Its end is decided, or the same transaction if it has ended in that way already."""
        raises_epoch = client_version >= IMPLICIT
        # Only of one that is ending or has ended: later, who is one epoch behind has been replaced.
        again = raises_epoch and self.client_version >= IMPLICIT and self._is_ended_by(by)
        if not again:
            self.check_writer(by)
        match self.state:
            case State.ONGOING:
                return self._prepared(commit, client_version, new_id, now_ms)
            case State.PREPARE_COMMIT | State.PREPARE_ABORT if self.commits == commit:
                raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS, "the transaction is just ending; ask again")
            case State.COMPLETE_COMMIT | State.COMPLETE_ABORT if again or not raises_epoch:
                if commit == (self.state is State.COMPLETE_COMMIT):
                    return self
            case State.EMPTY | State.COMPLETE_COMMIT | State.COMPLETE_ABORT if raises_epoch and not commit:
                # Its client cannot know whether anything it wrote has arrived; it gets a new epoch.
                return self._prepared(commit, client_version, new_id, now_ms)
        raise Refused(
            ErrorCode.INVALID_TXN_STATE,
            f"a transaction that is {self.state.title} cannot be {'committed' if commit else 'aborted'}",
        )

    def aborted(self, new_id: int, now_ms: int) -> "Transaction":
        """We end it, since its time is over or another producer takes the name: its own is locked out."""
        locked_out = replace(self, epoch=min(self.epoch + 1, _LAST_EPOCH), earlier_epoch=self.epoch)
        aborted = locked_out._prepared(False, self.client_version, new_id, now_ms)
        return replace(aborted, earlier_epoch=self.epoch)

    def completed(self, now_ms: int) -> "Transaction":
        """Every marker is written."""
        done = replace(
            self,
            state=State.COMPLETE_COMMIT if self.commits else State.COMPLETE_ABORT,
            places=NOWHERE,
            updated_ms=now_ms,
        )
        if self.next_id == NO_PRODUCER:
            return done
        return replace(
            done, producer_id=self.next_id, epoch=0, previous_id=self.producer_id, next_id=NO_PRODUCER
        )

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        """Whether nobody has used the name for so long that it may be forgotten."""
        idle = self.state is not State.ONGOING and not self.is_prepared
        return idle and now_ms - self.updated_ms >= expiration_ms

    def _prepared(self, commit: bool, client_version: int, new_id: int, now_ms: int) -> "Transaction":
        ending = replace(
            self,
            state=State.PREPARE_COMMIT if commit else State.PREPARE_ABORT,
            updated_ms=now_ms,
            started_ms=self.started_ms if self.state is State.ONGOING else now_ms,
            client_version=client_version,
        )
        if client_version < IMPLICIT:
            return ending
        return replace(
            ending,
            epoch=min(self.epoch + 1, _LAST_EPOCH),
            earlier_epoch=self.epoch,
            next_id=new_id if self.is_exhausted else NO_PRODUCER,
        )

    def _is_ended_by(self, by: Identity) -> bool:
        """Whether the transaction ends, or has ended, and *by* is its producer as it was before that."""
        if self.state in (State.EMPTY, State.ONGOING):
            return False
        if by.producer_id == self.producer_id:
            return by.epoch == self.epoch - 1
        return by.producer_id == self.previous_id and by.epoch >= _EXHAUSTED and self.epoch == 0


def fenced(who: Identity, transaction: Transaction) -> Refused:
    return Refused(
        ErrorCode.PRODUCER_FENCED,
        f"producer {who.producer_id} with epoch {who.epoch} has been replaced:"
        f" {transaction.producer_id} with epoch {transaction.epoch} writes under its transactional id",
    )
