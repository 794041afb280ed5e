"""How a group's leader shares partitions out among its members.

Pure functions of the members' subscriptions and the topics' partition counts;
the names are Kafka's, so that our members sit in one group with Java's.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from typing import ClassVar, Final, final

from millstream.client.consumer_protocol import Subscription
from millstream.client.topics import TopicPartition

Assignment = dict[str, list[TopicPartition]]


class Assignor(ABC):
    """A rule for sharing out; *cooperative* ones take a partition away one rebalance before they give it."""

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    @abstractmethod
    def assign(self, counts: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
        """Every partition of *counts* (topic to number of partitions) to one subscribed member, if any."""


@final
class Range(Assignor):
    """Topic by topic, a run of neighbouring partitions each: equal numbers meet across topics."""

    name = "range"

    def assign(self, counts: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
        result = _nothing(members)
        for topic in sorted(counts):
            takers = [member for member in sorted(members) if topic in members[member].topics]
            first = 0
            for place, member in enumerate(takers):
                size = counts[topic] // len(takers) + (place < counts[topic] % len(takers))
                result[member].extend(TopicPartition(topic, index) for index in range(first, first + size))
                first += size
        return result


@final
class RoundRobin(Assignor):
    """One partition after the other to one member after the other, across topics."""

    name = "roundrobin"

    def assign(self, counts: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
        result = _nothing(members)
        turn = cycle(sorted(members))
        for partition in _wanted(counts, members):
            taker = next(member for member in turn if partition.topic in members[member].topics)
            result[taker].append(partition)
        return result


@final
class CooperativeSticky(Assignor):
    """Members keep what they hold as far as fairness allows; only what moves stops, and for one rebalance."""

    name = "cooperative-sticky"
    cooperative = True

    def assign(self, counts: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
        owner = _owners(counts, members)
        target = self._balance(list(_wanted(counts, members)), members, owner)
        # What somebody else still holds is given out only when a further
        # rebalance has shown it released.
        return {
            member: [each for each in partitions if owner.get(each, member) == member]
            for member, partitions in target.items()
        }

    def _balance(
        self,
        wanted: list[TopicPartition],
        members: Mapping[str, Subscription],
        owner: Mapping[TopicPartition, str],
    ) -> Assignment:
        result = _nothing(members)
        fewest, odd = divmod(len(wanted), len(members)) if members else (0, 0)
        homeless = []
        for partition in wanted:
            member = owner.get(partition)
            if member is not None and _may_keep(len(result[member]), fewest, odd):
                odd -= len(result[member]) == fewest
                result[member].append(partition)
            else:
                homeless.append(partition)
        for partition in homeless:
            takers = [member for member in sorted(members) if partition.topic in members[member].topics]
            # The one with least; among equals, the owner: then nothing moves.
            taker = min(takers, key=lambda each: (len(result[each]), owner.get(partition) != each))
            result[taker].append(partition)
        return {member: sorted(partitions) for member, partitions in result.items()}


ASSIGNORS: Final[dict[str, Assignor]] = {
    each.name: each for each in (Range(), RoundRobin(), CooperativeSticky())
}


def _nothing(members: Iterable[str]) -> Assignment:
    return {member: [] for member in sorted(members)}


def _wanted(counts: Mapping[str, int], members: Mapping[str, Subscription]) -> Iterator[TopicPartition]:
    subscribed = {topic for each in members.values() for topic in each.topics}
    for topic in sorted(subscribed & counts.keys()):
        yield from (TopicPartition(topic, index) for index in range(counts[topic]))


def _may_keep(held: int, fewest: int, odd: int) -> bool:
    return held < fewest or (held == fewest and odd > 0)


def _owners(counts: Mapping[str, int], members: Mapping[str, Subscription]) -> dict[TopicPartition, str]:
    """Who holds what. Of two that claim the same the later generation is right; equals void each other."""
    claims: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in sorted(members):
        said = members[member]
        for partition in said.owned:
            if partition.topic not in said.topics or partition.partition >= counts.get(partition.topic, 0):
                continue
            generation, _ = claims.get(partition, (-2, None))
            if said.generation > generation:
                claims[partition] = (said.generation, member)
            elif said.generation == generation:
                claims[partition] = (generation, None)
    return {partition: member for partition, (_, member) in claims.items() if member is not None}
