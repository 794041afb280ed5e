"""What a request must satisfy whatever the group's state: bounds on times, names and sizes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from millstream.errors import ErrorCode, Refused
from millstream.groups.config import GroupConfig

if TYPE_CHECKING:
    from millstream.groups.outcomes import Join, Sync

MAX_STRING_BYTES: Final = 2**15 - 1  # what the formats of the log, and older responses, can hold
_PROTOCOL_OVERHEAD_BYTES: Final = 64  # an entry takes memory even when its name and metadata are empty


def check_group_id(group: str, *, may_be_empty: bool) -> None:
    """Members need a group with a name; offsets do not, since Kafka's first clients had none."""
    if not group and not may_be_empty:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "a group needs a name")
    if len(group.encode()) > MAX_STRING_BYTES:
        raise Refused(ErrorCode.INVALID_GROUP_ID, f"a group id of more than {MAX_STRING_BYTES} bytes")


def check_join(join: "Join", config: GroupConfig) -> None:
    if not config.min_session_timeout_ms <= join.session_timeout_ms <= config.max_session_timeout_ms:
        raise Refused(
            ErrorCode.INVALID_SESSION_TIMEOUT,
            f"a session timeout of {join.session_timeout_ms} ms; group.min.session.timeout.ms is "
            f"{config.min_session_timeout_ms}, group.max.session.timeout.ms {config.max_session_timeout_ms}",
        )
    names = [join.instance_id or "", join.protocol_type, *(name for name, _ in join.protocols)]
    if any(len(name.encode()) > MAX_STRING_BYTES for name in names):
        raise Refused(ErrorCode.INVALID_REQUEST, f"a name of more than {MAX_STRING_BYTES} bytes")
    size = metadata_bytes(join.protocols)
    if size > config.member_max_bytes:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{size} bytes of metadata; group.member.max.bytes is {config.member_max_bytes}",
        )
    if not join.protocol_type or not join.protocols:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "a member needs a protocol type and a protocol")


def metadata_bytes(protocols: Iterable[tuple[str, bytes]]) -> int:
    """What a member's *protocols* take of the memory of everyone who must keep them."""
    return sum(len(name) + len(metadata) + _PROTOCOL_OVERHEAD_BYTES for name, metadata in protocols)


def check_assignments(sync: "Sync", config: GroupConfig) -> None:
    size = sum(len(assignment) for _, assignment in sync.assignments)
    if size > config.max_bytes:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE, f"{size} bytes of assignments; group.max.bytes is {config.max_bytes}"
        )
    for member_id, assignment in sync.assignments:
        if len(assignment) > config.member_max_bytes:
            raise Refused(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"an assignment of {len(assignment)} bytes for {member_id!r}; "
                f"group.member.max.bytes is {config.member_max_bytes}",
            )


def rebalance_timeout_ms(join: "Join") -> int:
    """How long the member may take to rejoin; those that do not say have as long as their session."""
    return join.rebalance_timeout_ms if join.rebalance_timeout_ms > 0 else join.session_timeout_ms


def without_repeats(protocols: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    """*protocols* with the first of each name."""
    first: dict[str, bytes] = {}
    for name, metadata in protocols:
        first.setdefault(name, metadata)
    return tuple(first.items())
