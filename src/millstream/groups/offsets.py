"""How far a group has come: its committed offsets, and when they are forgotten."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from millstream.errors import ErrorCode
from millstream.groups.changes import CommittedOffset, OffsetRemoved, OffsetSaved
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
    """Offsets of one request; a *generation* below 0 comes from someone who is no member."""

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    retention_ms: int = -1
    knows_epochs: bool = True  # a generation may be a member's epoch
    offsets: tuple[NewOffset, ...]


@final
class Offsets:
    """One group's offsets. The methods decide; `apply` alone writes, live and on recovery alike."""

    def __init__(self, config: Callable[[], GroupConfig]) -> None:
        self._config = config
        self._by_topic: dict[str, dict[int, CommittedOffset]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_topic.values()))

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
    ) -> tuple[list[OffsetSaved], dict[tuple[str, int], ErrorCode]]:
        """What to write for *commit*, and what of it cannot be kept."""
        expires_ms = wall_ms + commit.retention_ms if commit.retention_ms >= 0 else -1
        changes: list[OffsetSaved] = []
        errors: dict[tuple[str, int], ErrorCode] = {}
        for new in commit.offsets:
            metadata = new.metadata or ""
            if len(metadata.encode()) > self._config().offset_metadata_max_bytes:
                errors[new.topic, new.partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            kept = CommittedOffset(new.offset, new.leader_epoch, metadata, wall_ms, expires_ms)
            changes.append(OffsetSaved(new.topic, new.partition, kept))
        return changes, errors

    def remove_all(self) -> list[OffsetRemoved]:
        return [OffsetRemoved(topic, partition) for topic, partition, _ in self.all()]

    def remove_topic(self, topic: str) -> list[OffsetRemoved]:
        return [OffsetRemoved(topic, partition) for partition in sorted(self._by_topic.get(topic, ()))]

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

    def apply(self, change: OffsetSaved | OffsetRemoved) -> None:
        match change:
            case OffsetSaved(topic, partition, offset):
                self._by_topic.setdefault(topic, {})[partition] = offset
            case OffsetRemoved(topic, partition):
                partitions = self._by_topic.get(topic, {})
                partitions.pop(partition, None)
                if not partitions:
                    self._by_topic.pop(topic, None)
