"""A group of the newer protocol as it is written, and as it would be after a step.

`ModernState` is what the log says, and changes by `apply` alone. A step is
decided on a `Draft` laid over it, which notes what it changes and nothing
else; only when that is in the log does the state follow.
"""

from collections.abc import Iterator
from typing import Final, final

from millstream.groups.admission import metadata_bytes
from millstream.groups.modern_changes import (
    NOTHING,
    EpochWritten,
    KnownTopic,
    MemberWritten,
    ModernChange,
    Place,
    PlaceWritten,
    RegexWritten,
    Resolved,
    Share,
    Subscriber,
    TargetEpochWritten,
    TargetWritten,
    TopicPartition,
    TopicsWritten,
)

_NOWHERE: Final = Place()
_OVERHEAD_BYTES: Final = 64  # a name takes memory even when it is empty


@final
class ModernState:
    """Everything known of a group's members, found by id, by instance id and by what they have."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.target_epoch = 0
        self.topics: tuple[KnownTopic, ...] = ()
        self.members: dict[str, Subscriber] = {}
        self.targets: dict[str, Share] = {}
        self.places: dict[str, Place] = {}
        self.resolved: dict[str, Resolved] = {}  # by regex
        self.instances: dict[str, str] = {}
        self.owners: dict[TopicPartition, str] = {}
        self.bytes = 0  # of what members say of themselves

    @property
    def is_nothing(self) -> bool:
        said = (self.target_epoch, self.topics, self.members, self.targets, self.places, self.resolved)
        return self.epoch is None and not any(said)

    def apply(self, change: ModernChange) -> None:
        """*change* is in the log."""
        match change:
            case EpochWritten(epoch):
                self.epoch = epoch
            case TopicsWritten(topics):
                self.topics = topics or ()
            case MemberWritten(id, member):
                self._apply_member(id, member)
            case TargetEpochWritten(epoch):
                self.target_epoch = epoch or 0
            case TargetWritten(id, share):
                if share is None:
                    self.targets.pop(id, None)
                else:
                    self.targets[id] = share
            case PlaceWritten(id, place):
                self._apply_place(id, place)
            case RegexWritten(regex, resolved):
                if resolved is None:
                    self.resolved.pop(regex, None)
                else:
                    self.resolved[regex] = resolved

    def _apply_member(self, id: str, member: Subscriber | None) -> None:
        before = self.members.pop(id, None)
        if before is not None:
            self.bytes -= size_of(before)
            if before.instance_id is not None and self.instances.get(before.instance_id) == id:
                del self.instances[before.instance_id]
        if member is not None:
            self.members[id] = member
            self.bytes += size_of(member)
            if member.instance_id is not None:
                self.instances[member.instance_id] = id

    def _apply_place(self, id: str, place: Place | None) -> None:
        before = self.places.pop(id, _NOWHERE)
        for partition in before.assigned | before.revoking:
            if self.owners.get(partition) == id:
                del self.owners[partition]
        if place is not None:
            self.places[id] = place
            self.owners.update(dict.fromkeys(place.assigned | place.revoking, id))


@final
class Draft:
    """What a step makes of a state. *changes* are in the order they are to be written."""

    def __init__(self, state: ModernState) -> None:
        self._state = state
        self.changes: list[ModernChange] = []
        self.epoch = state.epoch or 0
        self.target_epoch = state.target_epoch
        self.topics = state.topics
        self._members: dict[str, Subscriber | None] = {}
        self._targets: dict[str, Share | None] = {}
        self._places: dict[str, Place | None] = {}
        self._resolved: dict[str, Resolved | None] = {}

    # Looking

    def member(self, id: str) -> Subscriber | None:
        return self._members[id] if id in self._members else self._state.members.get(id)

    def members(self) -> Iterator[tuple[str, Subscriber]]:
        for id, member in self._state.members.items():
            if id not in self._members:
                yield id, member
        for id, changed in self._members.items():
            if changed is not None:
                yield id, changed

    def target(self, id: str) -> Share:
        found = self._targets[id] if id in self._targets else self._state.targets.get(id)
        return found or NOTHING

    def targets(self) -> Iterator[tuple[str, Share]]:
        for id in self._state.targets.keys() | self._targets.keys():
            yield id, self.target(id)

    def place(self, id: str) -> Place:
        found = self._places[id] if id in self._places else self._state.places.get(id)
        return found or _NOWHERE

    def regexes(self) -> list[str]:
        """Those whose matches are written, in order."""
        both = {**self._state.resolved, **self._resolved}
        return sorted(regex for regex, resolved in both.items() if resolved is not None)

    def matches(self, regex: str) -> frozenset[str] | None:
        """What *regex* was found to match; None if nobody has looked."""
        found = self._resolved[regex] if regex in self._resolved else self._state.resolved.get(regex)
        return None if found is None else found.topics

    def is_free_for(self, id: str, partition: TopicPartition) -> bool:
        """Nobody but *id* has *partition*, nor has yet to give it up."""
        owner = self._state.owners.get(partition)
        if owner is None or owner == id:
            return True
        if owner not in self._places:
            return False
        place = self.place(owner)
        return partition not in place.assigned and partition not in place.revoking

    # Changing

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.changes.append(EpochWritten(epoch))

    def set_topics(self, topics: tuple[KnownTopic, ...]) -> None:
        self.topics = topics
        self.changes.append(TopicsWritten(topics))

    def set_member(self, id: str, member: Subscriber) -> None:
        self._members[id] = member
        if member != self._state.members.get(id):
            self.changes.append(MemberWritten(id, member))

    def set_target_epoch(self, epoch: int) -> None:
        self.target_epoch = epoch
        self.changes.append(TargetEpochWritten(epoch))

    def set_target(self, id: str, share: Share) -> None:
        self._targets[id] = share
        self.changes.append(TargetWritten(id, share))

    def set_place(self, id: str, place: Place) -> None:
        self._places[id] = place
        if place != self._state.places.get(id):
            self.changes.append(PlaceWritten(id, place))

    def set_resolved(self, regex: str, resolved: Resolved | None) -> None:
        self._resolved[regex] = resolved
        self.changes.append(RegexWritten(regex, resolved))

    def begin(self, id: str, place: Place) -> None:
        """Let *id* go on from *place*, which is not worth writing: a step on from there will be."""
        self._places[id] = place

    def replace(self, old_id: str, new_id: str) -> None:
        """Another comes in the place of *old_id*: it has its work, and must be told so anew."""
        member, target, place = self.member(old_id), self.target(old_id), self.place(old_id)
        assert member is not None, old_id
        self.remove(old_id)
        self._members[new_id] = member
        self.set_target(new_id, target)
        self.begin(new_id, Place(assigned=place.assigned))

    def remove(self, id: str) -> None:
        """Take back all that is written of *id*, in an order that leaves nothing half said."""
        if id in self._state.places:
            self.changes.append(PlaceWritten(id, None))
        if id in self._state.targets:
            self.changes.append(TargetWritten(id, None))
        self.changes.append(MemberWritten(id, None))
        self._members[id] = self._targets[id] = self._places[id] = None


def tombstones(state: ModernState) -> list[ModernChange]:
    """What takes back all that is written."""
    changes: list[ModernChange] = [PlaceWritten(id, None) for id in state.places]
    changes += [TargetWritten(id, None) for id in state.targets]
    changes += [MemberWritten(id, None) for id in state.members]
    changes += [RegexWritten(regex, None) for regex in state.resolved]
    changes.append(TargetEpochWritten(None))
    if state.topics:
        changes.append(TopicsWritten(None))
    changes.append(EpochWritten(None))
    return changes


def size_of(member: Subscriber) -> int:
    """What *member* takes of the memory of everyone who must keep it."""
    size = sum(len(topic) + _OVERHEAD_BYTES for topic in member.topics) + len(member.regex or "")
    if member.classic is not None:
        size += metadata_bytes(member.classic.protocols)
    return size
