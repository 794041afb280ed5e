"""What is still to be read before a `consume` may end."""

from collections.abc import Iterable, Mapping
from typing import final

from millstream.cli.places import Place
from millstream.client.consumed import Consumed
from millstream.client.topics import TopicPartition


@final
class Remaining:
    """Counts down: records, if a *count* was given, and partitions that end somewhere.

    Unless *follow*, a partition ends where it ended when we began, if not before.
    """

    def __init__(self, places: Mapping[TopicPartition, Place], *, count: int | None, follow: bool) -> None:
        self._count = count
        self._shown = {each: place.span.shown for each, place in places.items()}
        self._stops: dict[TopicPartition, int] = {}
        for each, place in places.items():
            stops = [] if place.span.stop is None else [place.span.stop]
            if not follow:
                stops.append(place.high)
            if stops:
                self._stops[each] = min(stops)
        self._open = set(places)

    def most(self, batch: int) -> int:
        """How many records may be taken at once, at most *batch*."""
        return batch if self._count is None else min(batch, self._count)

    def wants(self, record: Consumed) -> bool:
        """Whether *record* is to be shown; it then counts."""
        where = TopicPartition(record.topic, record.partition)
        if record.offset < self._shown.get(where, 0):
            return False
        stop = self._stops.get(where)
        if stop is not None and record.offset >= stop:
            return False
        if self._count is not None:
            if self._count == 0:
                return False
            self._count -= 1
        return True

    def finished(self, positions: Mapping[TopicPartition, int]) -> list[TopicPartition]:
        """Partitions that have now been read to their stop; each is told once."""
        done = [
            each
            for each in sorted(self._open)
            if each in self._stops and positions.get(each, -1) >= self._stops[each]
        ]
        self._open.difference_update(done)
        return done

    def done(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether nothing is left to wait for, if *partitions* are all that we read."""
        return self._count == 0 or self._open.isdisjoint(partitions)
