"""A group of the newer protocol as an operator sees it."""

from dataclasses import dataclass
from typing import final

from millstream.groups.modern import ModernGroup
from millstream.groups.modern_changes import NOTHING, Place, Share, Subscriber
from millstream.groups.outcomes import State


@final
@dataclass(frozen=True, slots=True)
class ModernMemberDescription:
    """A member, what it says of itself, what it has and what it is to have."""

    id: str
    member: Subscriber
    epoch: int
    assigned: Share
    target: Share


@final
@dataclass(frozen=True, slots=True)
class ModernDescription:
    """The group, and each of its members."""

    name: str
    state: State
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[ModernMemberDescription, ...]


def described(name: str, modern: ModernGroup) -> ModernDescription:
    state = modern.state
    return ModernDescription(
        name=name,
        state=modern.where(),
        epoch=state.epoch or 0,
        target_epoch=state.target_epoch,
        assignor=modern.assignor(),
        members=tuple(
            ModernMemberDescription(
                id=id,
                member=member,
                epoch=state.places.get(id, Place()).epoch,
                assigned=state.places.get(id, Place()).assigned,
                target=state.targets.get(id, NOTHING),
            )
            for id, member in state.members.items()
        ),
    )
