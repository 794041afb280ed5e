"""What members ask of a group, and what it answers.

A group never speaks to anyone. Every request comes with a *caller*, a number
the driver made up; what is to be said to it, now or much later, comes back
in an `Outcome`, and may be said once the outcome's changes are committed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, final

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import Change, CommittedOffset
from millstream.groups.modern_changes import Share

JOIN: Final = 0  # the epoch of a member that is to be


class State(Enum):
    """Kafka's names for where a group stands."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    ASSIGNING = "Assigning"  # these two of the newer protocol alone
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class Now(NamedTuple):
    """One moment on two clocks: *ms* never jumps and measures time-outs, *wall_ms* is what gets written."""

    ms: int
    wall_ms: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A wish to be a member. *protocols* are (name, metadata), the favourite first."""

    member_id: str = ""
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    knows_two_steps: bool = True  # a newcomer can be sent back with an id before it is let in
    knows_skipping: bool = True  # a leader can be told that the assignment stands


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """A member asks for its assignment; the leader brings everyone's."""

    member_id: str
    instance_id: str | None = None
    generation: int
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A member of the newer protocol is heard. What it leaves out (None, or -1) is as it was.

    *epoch* 0 is a wish to join, -1 to leave, and -2 to be back soon under the same instance id.
    """

    member_id: str = ""
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Share | None = None
    client_id: str = ""
    client_host: str = ""

    @property
    def joins(self) -> bool:
        return self.epoch == JOIN


class Leaver(NamedTuple):
    """Someone who is to leave: a member id, or an instance id alone if an operator asks."""

    member_id: str
    instance_id: str | None = None


@final
@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the leader needs to know it."""

    id: str
    instance_id: str | None
    metadata: bytes


@final
@dataclass(frozen=True, slots=True)
class Joined:
    """You are in *generation*; the leader alone is told who else is."""

    member_id: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class MemberIdGiven:
    """Join once more, as *member_id*."""

    member_id: str


@final
@dataclass(frozen=True, slots=True)
class Synced:
    """Your part of the work."""

    protocol_type: str | None
    protocol: str | None
    assignment: bytes


@final
@dataclass(frozen=True, slots=True)
class Heard:
    """Your session goes on, and there is nothing new."""


@final
@dataclass(frozen=True, slots=True)
class Reconciled:
    """You are in *epoch*, and may work on *assigned*; None: on what you were told before."""

    member_id: str
    epoch: int
    interval_ms: int = 0
    assigned: Share | None = None


@final
@dataclass(frozen=True, slots=True)
class Left:
    """What became of each who was to leave, in the order asked."""

    members: tuple[tuple[Leaver, ErrorCode], ...]


@final
@dataclass(frozen=True, slots=True)
class Done:
    """As you asked; *errors* tells for which (topic, partition) not, and why."""

    errors: dict[tuple[str, int], ErrorCode] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Fetched:
    """Offsets by (topic, partition), None where none is committed; *unstable* ones may change any moment,
    as a transaction that would set them is still open."""

    offsets: dict[tuple[str, int], CommittedOffset | None]
    unstable: frozenset[tuple[str, int]] = frozenset()


Reply = Joined | MemberIdGiven | Synced | Heard | Reconciled | Left | Done | Fetched | Refused


@final
@dataclass(slots=True)
class Outcome:
    """What follows from a step: write the changes, and when they are committed give the replies.

    With a *producer*, its id and epoch, they are written as part of its transaction.
    """

    changes: list[Change] = field(default_factory=list)
    replies: list[tuple[int, Reply]] = field(default_factory=list)
    producer: tuple[int, int] | None = None

    def reply(self, caller: int, reply: Reply) -> None:
        self.replies.append((caller, reply))

    def refuse(self, caller: int, code: ErrorCode, detail: str) -> None:
        self.replies.append((caller, Refused(code, detail)))

    def with_errors(self, errors: Mapping[tuple[str, int], ErrorCode]) -> "Outcome":
        """Itself, with *errors* added to what it says is done."""
        for _, reply in self.replies:
            if isinstance(reply, Done):
                reply.errors.update(errors)
        return self
