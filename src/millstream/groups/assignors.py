"""How a group's partitions are shared out among its members.

    uniform   as evenly as can be, and with as little moved as that allows
    range     of each topic, runs of neighbouring partitions, in the order of the members

Both give every partition of a topic that somebody reads to exactly one of
those who read it. Members are taken in a fixed order, so that the same group
is always given the same answer.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final, final

from millstream.groups.modern_changes import NOTHING, Share, TopicPartition


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A member as an assignor needs to know it: the ids of the topics it reads, and what it had so far."""

    topics: frozenset[bytes]
    had: Share = NOTHING
    instance_id: str | None = None


Assignor = Callable[[Mapping[str, Reading], Mapping[bytes, int]], dict[str, Share]]


def uniform(members: Mapping[str, Reading], topics: Mapping[bytes, int]) -> dict[str, Share]:
    """What each of *members* is to have of *topics*, given with their numbers of partitions."""
    if len({member.topics for member in members.values()}) <= 1:
        return _evenly(members, topics)
    return _Balance(members, topics).shares()


def range_(members: Mapping[str, Reading], topics: Mapping[bytes, int]) -> dict[str, Share]:
    """As `uniform`, by neighbouring partitions: those of one number in like topics go to one member."""
    order = sorted(members, key=lambda id: _rank(id, members[id]))
    shares: dict[str, set[TopicPartition]] = {id: set() for id in order}
    for topic, count in topics.items():
        readers = [id for id in order if topic in members[id].topics]
        start = 0
        for place, id in enumerate(readers):
            end = start + count // len(readers) + (place < count % len(readers))
            shares[id].update((topic, partition) for partition in range(start, end))
            start = end
    return {id: frozenset(share) for id, share in shares.items()}


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": uniform, "range": range_}


def _rank(id: str, member: Reading) -> tuple[bool, str]:
    """Static members come first, by the name that outlives a restart."""
    return (member.instance_id is None, member.instance_id or id)


def _evenly(members: Mapping[str, Reading], topics: Mapping[bytes, int]) -> dict[str, Share]:
    """All read the same: everyone gets the same number, or one more."""
    if not members:
        return {}
    free = _all(topics, next(iter(members.values())).topics)
    quota, extra = divmod(len(free), len(members))
    had = {id: members[id].had & free for id in members}
    kept: dict[str, list[TopicPartition]] = {}
    # Who had most is first to be allowed one more, so that least is moved.
    for id in sorted(members, key=lambda id: (-len(had[id]), id)):
        kept[id] = sorted(had[id] & free)[: quota + (extra > 0)]
        extra -= len(kept[id]) > quota
        free.difference_update(kept[id])
    rest = sorted(free, reverse=True)
    for id in sorted(kept):
        while len(kept[id]) < quota:
            kept[id].append(rest.pop())
    for id in sorted(kept):
        if rest and len(kept[id]) == quota:
            kept[id].append(rest.pop())
    assert not rest, len(rest)
    return {id: frozenset(share) for id, share in kept.items()}


def _all(topics: Mapping[bytes, int], read: Iterable[bytes]) -> set[TopicPartition]:
    return {(topic, partition) for topic in read for partition in range(topics.get(topic, 0))}


@final
class _Balance:
    """Members read different topics: nobody has two more than another who could take one of them."""

    def __init__(self, members: Mapping[str, Reading], topics: Mapping[bytes, int]) -> None:
        self._readers: dict[bytes, list[str]] = {topic: [] for topic in topics}
        for id in sorted(members):
            for topic in members[id].topics & topics.keys():
                self._readers[topic].append(id)
        self._load = dict.fromkeys(sorted(members), 0)
        self._owned: dict[bytes, dict[str, list[int]]] = {topic: {} for topic in topics}
        for topic, count in sorted(topics.items(), key=lambda item: (len(self._readers[item[0]]), item[0])):
            self._keep(topic, count, members)
        # Topics with few readers leave the least choice, so they are settled first.
        for topic, count in sorted(topics.items(), key=lambda item: (len(self._readers[item[0]]), item[0])):
            self._hand_out(topic, count)
        # What one topic moves may let another move; it ends since every move makes the loads more alike.
        moved = True
        while moved:
            moved = sum(self._level(topic) for topic in sorted(topics)) > 0

    def shares(self) -> dict[str, Share]:
        shares: dict[str, set[TopicPartition]] = {id: set() for id in self._load}
        for topic, owners in self._owned.items():
            for id, partitions in owners.items():
                shares[id].update((topic, partition) for partition in partitions)
        return {id: frozenset(share) for id, share in shares.items()}

    def _keep(self, topic: bytes, count: int, members: Mapping[str, Reading]) -> None:
        taken: set[int] = set()
        for id in self._readers[topic]:
            had = {index for t, index in members[id].had if t == topic and index < count} - taken
            if had:
                self._owned[topic][id] = sorted(had)
                self._load[id] += len(had)
                taken |= had

    def _hand_out(self, topic: bytes, count: int) -> None:
        owned = self._owned[topic]
        taken = {index for indexes in owned.values() for index in indexes}
        heap = [(self._load[id], id) for id in self._readers[topic]]
        heapify(heap)
        for index in range(count) if heap else ():
            if index not in taken:
                load, id = heappop(heap)
                owned.setdefault(id, []).append(index)
                self._load[id] = load + 1
                heappush(heap, (load + 1, id))

    def _level(self, topic: bytes) -> bool:
        """Move partitions of *topic* from those who have most to those who have least."""
        owned, load, moved = self._owned[topic], self._load, False
        while True:
            most = max((id for id in owned if owned[id]), key=lambda id: (load[id], id), default=None)
            if most is None:
                return moved
            least = min(self._readers[topic], key=lambda id: (load[id], id))
            if load[most] - load[least] < 2:
                return moved
            owned.setdefault(least, []).append(owned[most].pop())
            load[most] -= 1
            load[least] += 1
            moved = True
