"""What the clients of a simulated run did, and what they were told.

Every operation has a beginning and, if an answer came, an end. Values are
unique numbers, so that each record can be recognised wherever it turns up.
"""

import itertools
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, TypeVar, final

Key = tuple[str, int]  # topic and partition
NEVER: Final = 1 << 62


class Outcome(Enum):
    OK = "ok"  # it happened
    FAIL = "fail"  # it surely did not
    INFO = "info"  # nobody can tell


@dataclass(kw_only=True, slots=True)
class Operation:
    """*begun* and *ended* count the history's events, so that no two are equal."""

    process: str
    begun: int
    ended: int = NEVER
    outcome: Outcome = Outcome.INFO


@final
@dataclass(kw_only=True, slots=True)
class Transaction(Operation):
    """OK if it was committed, FAIL if aborted; *ending* is when a commit was first asked for."""

    transactional_id: str
    ending: int = NEVER


@final
@dataclass(kw_only=True, slots=True)
class Send(Operation):
    """One batch, retried under the same sequence until answered; *offset* is that of its first value.

    *names* are the keys of its records, where compaction may keep but the last of each;
    those in *gone* say that their key is. In a *transaction*, to be acknowledged
    is not yet to be there.
    """

    key: Key
    values: tuple[int, ...]
    names: tuple[bytes, ...] = ()
    gone: frozenset[int] = frozenset()
    offset: int | None = None
    transaction: Transaction | None = None

    @property
    def fate(self) -> Outcome:
        """Whether it is there for those who want only what is committed."""
        if self.transaction is None:
            return self.outcome
        return Outcome.FAIL if self.transaction.ending == NEVER else self.transaction.outcome


@final
@dataclass(kw_only=True, slots=True)
class Poll(Operation):
    """One fetch from *position*; *final* marks the last full read, after all is healed.

    It went on to *reached*, which may lie beyond its last record where what is
    between is not for consumers, or not for those who want only what is *committed*.
    """

    key: Key
    position: int
    records: list[tuple[int, int]] = field(default_factory=list)  # offset, value
    reached: int = -1
    generation: int | None = None
    committed: bool = False
    final: bool = False


@final
@dataclass(kw_only=True, slots=True)
class Assign(Operation):
    """The group told member *process* that it owns *keys* in *generation*."""

    group: str
    generation: int
    keys: tuple[Key, ...]


@final
@dataclass(kw_only=True, slots=True)
class Hold(Operation):
    """Member *process* was given *key*, asked at *begun* and told at *ended*.

    *confirmed* is when it last asked something to which the broker answered
    as to one who still has it.
    """

    group: str
    key: Key
    confirmed: int = -1


@final
@dataclass(kw_only=True, slots=True)
class Commit(Operation):
    """Member *process* says that it has done with everything before *offset*."""

    group: str
    generation: int
    key: Key
    offset: int


@final
@dataclass(kw_only=True, slots=True)
class ReadCommit(Operation):
    """The group was asked where to go on; -1 if it knew of no commit."""

    group: str
    key: Key
    offset: int = -1


@final
@dataclass(kw_only=True, slots=True)
class Processed(Operation):
    """All that came out of processing *source*: key, offset and the input's value."""

    source: str
    records: list[tuple[Key, int, int]]


Op = TypeVar("Op", bound=Operation)


class Anomaly(NamedTuple):
    """One broken promise."""

    kind: str
    where: object
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}: {self.detail}"


@final
class History:
    """The operations of one run, in the order they began."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.complaints: list[Anomaly] = []
        self._count = itertools.count()

    def tick(self) -> int:
        return next(self._count)

    def begin(self, operation: Op) -> Op:
        """Note that *operation* has been asked for; its outcome is unknown until `end`."""
        self.operations.append(operation)
        return operation

    def end(self, operation: Operation, outcome: Outcome) -> None:
        operation.outcome = outcome
        operation.ended = self.tick()

    def complain(self, kind: str, where: object, detail: str) -> None:
        """A client met something that should not have happened."""
        self.complaints.append(Anomaly(kind, where, detail))

    def of(self, kind: type[Op]) -> list[Op]:
        return [op for op in self.operations if isinstance(op, kind)]
