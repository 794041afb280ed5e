"""A group with members changes from one protocol to the other, and nobody must stop for it.

Upwards, when the first member of the newer protocol joins: the others keep
what they have, and their generation becomes the epoch. Downwards, when the
last one leaves: the others are told to join again, as in any rebalance.
"""

from collections.abc import Collection, Mapping

from millstream.errors import ErrorCode, Refused
from millstream.groups.changes import Change, GroupSaved, SavedGroup
from millstream.groups.classic import ClassicGroup
from millstream.groups.members import Member, Members
from millstream.groups.mixed import ClassicMembers
from millstream.groups.modern import ModernGroup, Topic
from millstream.groups.modern_changes import (
    ClassicSide,
    EpochWritten,
    KnownTopic,
    MemberWritten,
    ModernChange,
    Place,
    PlaceWritten,
    Share,
    Subscriber,
    TargetEpochWritten,
    TargetWritten,
    TopicPartition,
    TopicsWritten,
)
from millstream.groups.modern_state import tombstones
from millstream.groups.subscription import CONSUMER, read_assignment, read_subscription


def upgraded(classic: ClassicGroup, topics: Mapping[str, Topic]) -> list[ModernChange]:
    """What makes a group of the newer protocol of *classic*; Refused if its members say what nobody knows."""
    changes: list[ModernChange] = []
    read: set[str] = set()
    taken: set[TopicPartition] = set()
    for member in classic.members:
        if member.is_new and not member.knows_id:
            continue  # it waits in its first join, will be told to join again, and does not know as whom
        try:
            subscription = read_subscription(member.protocols[0][1])
            has = _share(read_assignment(member.assignment), topics) - taken
        except Refused as refusal:
            raise Refused(
                ErrorCode.GROUP_ID_NOT_FOUND, f"not a group of consumers: {refusal.detail}"
            ) from None
        taken |= has
        read |= subscription.topics
        subscriber = Subscriber(
            instance_id=member.instance_id,
            rack_id=subscription.rack,
            client_id=member.client_id,
            client_host=member.client_host,
            topics=subscription.topics,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            classic=ClassicSide(member.session_timeout_ms, member.protocols),
        )
        place = Place(classic.generation, classic.generation, assigned=has)
        changes += [
            MemberWritten(member.id, subscriber),
            TargetWritten(member.id, has),
            PlaceWritten(member.id, place),
        ]
    known = tuple(
        KnownTopic(name, topics[name].id.bytes, topics[name].partitions)
        for name in sorted(read)
        if name in topics
    )
    settled: list[ModernChange] = [
        EpochWritten(classic.generation),
        TopicsWritten(known),
        TargetEpochWritten(classic.generation),
    ]
    return settled + changes


def downgraded(
    modern: ModernGroup, without: Collection[str], wall_ms: int
) -> tuple[list[Change], SavedGroup]:
    """What makes a classic group of all in *modern* but those in *without*, and that group.

    Nobody leads it: a group found so, now or after a restart, must rebalance.
    """
    state, members = modern.state, Members()
    for id, subscriber in state.members.items():
        classic = subscriber.classic
        if id in without or classic is None:
            continue
        place = state.places.get(id, Place())
        has = place.assigned | place.revoking  # all that it may be working on until it joins again
        members.add(
            Member(
                id=id,
                instance_id=subscriber.instance_id,
                client_id=subscriber.client_id,
                client_host=subscriber.client_host,
                session_timeout_ms=classic.session_timeout_ms,
                rebalance_timeout_ms=subscriber.rebalance_timeout_ms,
                protocols=classic.protocols,
                assignment=ClassicMembers(modern).assignment(classic.protocols[0][1], has),
            )
        )
    protocol = members.elect_protocol()
    saved = SavedGroup(
        protocol_type=CONSUMER,
        generation=state.epoch or 0,
        protocol=protocol,
        leader=None,
        since_ms=wall_ms,
        members=tuple(member.saved(protocol) for member in members),
    )
    return [*tombstones(state), GroupSaved(saved)], saved


def speaks_only_classic(modern: ModernGroup, without: Collection[str]) -> bool:
    """Whether there are members left when *without* are gone, and all of them of the classic protocol."""
    left = [member for id, member in modern.state.members.items() if id not in without]
    return bool(left) and all(member.classic is not None for member in left)


def _share(partitions: tuple[tuple[str, int], ...], topics: Mapping[str, Topic]) -> Share:
    return frozenset(
        (topics[name].id.bytes, index)
        for name, index in partitions
        if name in topics and 0 <= index < topics[name].partitions
    )
