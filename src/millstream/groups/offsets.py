"""How far a group has come: its committed offsets, and when they are forgotten."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from millstream.errors import ErrorCode
from millstream.groups.changes import CommittedOffset, OffsetRemoved, OffsetSaved, OffsetStaged
from millstream.groups.config import GroupConfig


class NewOffset(NamedTuple):
    """An offset a client wants kept; *metadata* is the client's own note and is given back as it came."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Offsets of one request; a *generation* below 0 comes from someone who is no member.

    With a *producer*, its id and epoch, they count once its transaction commits.
    """

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    retention_ms: int = -1
    knows_epochs: bool = True  # a generation may be a member's epoch
    producer: tuple[int, int] | None = None
    offsets: tuple[NewOffset, ...]

    @property
    def is_anonymous(self) -> bool:
        """Whether it does not say which member it comes from."""
        return self.generation < 0 and not self.member_id and self.instance_id is None


@final
class Offsets:
    """One group's offsets. The methods decide; `apply` alone writes, live and on recovery alike."""

    def __init__(self, config: Callable[[], GroupConfig]) -> None:
        self._config = config
        self._by_topic: dict[str, dict[int, CommittedOffset]] = {}
        self._staged: dict[int, dict[tuple[str, int], CommittedOffset]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_topic.values()))

    @property
    def are_staged(self) -> bool:
        """Whether an open transaction would set some."""
        return bool(self._staged)

    def producers(self) -> list[int]:
        """Whose open transactions would set some."""
        return sorted(self._staged)

    def unstable(self) -> frozenset[tuple[str, int]]:
        """Where an open transaction would set an offset."""
        return frozenset(place for staged in self._staged.values() for place in staged)

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        return self._by_topic.get(topic, {}).get(partition)

    def topics(self) -> list[str]:
        """Every topic the group has offsets in."""
        return sorted(self._by_topic)

    def all(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Every offset, by topic and partition."""
        for topic, partitions in sorted(self._by_topic.items()):
            for partition, offset in sorted(partitions.items()):
                yield topic, partition, offset

    def commit(
        self, commit: Commit, wall_ms: int
    ) -> tuple[list[OffsetSaved | OffsetStaged], dict[tuple[str, int], ErrorCode]]:
        """What to write for *commit*, and what of it cannot be kept."""
        expires_ms = wall_ms + commit.retention_ms if commit.retention_ms >= 0 else -1
        changes: list[OffsetSaved | OffsetStaged] = []
        errors: dict[tuple[str, int], ErrorCode] = {}
        for new in commit.offsets:
            metadata = new.metadata or ""
            if len(metadata.encode()) > self._config().offset_metadata_max_bytes:
                errors[new.topic, new.partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            kept = CommittedOffset(new.offset, new.leader_epoch, metadata, wall_ms, expires_ms)
            changes.append(
                OffsetSaved(new.topic, new.partition, kept)
                if commit.producer is None
                else OffsetStaged(new.topic, new.partition, kept, commit.producer[0])
            )
        return changes, errors

    def remove_all(self) -> list[OffsetRemoved]:
        return [OffsetRemoved(topic, partition) for topic, partition in sorted(self._places())]

    def remove_topic(self, topic: str) -> list[OffsetRemoved]:
        return [OffsetRemoved(*place) for place in sorted(self._places()) if place[0] == topic]

    def _places(self) -> set[tuple[str, int]]:
        """Where there is an offset, or may be one soon."""
        return {(topic, partition) for topic, partition, _ in self.all()} | self.unstable()

    def remove_expired(
        self, wall_ms: int, unused_since: Callable[[CommittedOffset], int], topics_read: Collection[str]
    ) -> list[OffsetRemoved]:
        """Those nobody has needed for the whole retention time.

        *unused_since* tells from when on an offset's time counts; one in
        *topics_read* by members stays, however old it is.
        """
        retention_ms = self._config().offsets_retention_minutes * 60_000
        removed = []
        for topic, partition, offset in self.all():
            expires_ms = offset.expires_ms if offset.expires_ms >= 0 else unused_since(offset) + retention_ms
            if wall_ms >= expires_ms and topic not in topics_read:
                removed.append(OffsetRemoved(topic, partition))
        return removed

    def settle(self, producer_id: int, committed: bool) -> bool:
        """The transaction of *producer_id* has ended; whether it had staged anything."""
        staged = self._staged.pop(producer_id, None)
        if staged is None:
            return False
        if committed:
            for (topic, partition), offset in staged.items():
                self._by_topic.setdefault(topic, {})[partition] = offset
        return True

    def apply(self, change: OffsetSaved | OffsetStaged | OffsetRemoved) -> None:
        match change:
            case OffsetStaged(topic, partition, offset, producer_id):
                self._staged.setdefault(producer_id, {})[topic, partition] = offset
            case OffsetSaved(topic, partition, offset):
                self._supersede(topic, partition)
                self._by_topic.setdefault(topic, {})[partition] = offset
            case OffsetRemoved(topic, partition):
                self._supersede(topic, partition)
                partitions = self._by_topic.get(topic, {})
                partitions.pop(partition, None)
                if not partitions:
                    self._by_topic.pop(topic, None)

    def _supersede(self, topic: str, partition: int) -> None:
        """Something is written after what is staged there, and outlasts it however that ends."""
        for producer_id in [id for id, staged in self._staged.items() if (topic, partition) in staged]:
            del self._staged[producer_id][topic, partition]
            if not self._staged[producer_id]:
                del self._staged[producer_id]
