"""The driver's view of the cluster: which partitions there are, and where they begin and end."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import final

from millstream.client.offsets import EARLIEST, LATEST, list_offsets
from millstream.client.topics import Topic, TopicPartition
from millstream.spark.blocking import Blocking
from millstream.spark.options import Place, SourceOptions
from millstream.spark.plan import DataLoss, Gap, Loss, Range
from millstream.spark.words import InvalidOption

log = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]


@final
class View:
    """Asks the cluster what *options* are about; each answer is of now."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster = Blocking(options.reach)

    def close(self) -> None:
        self._cluster.close()

    def partitions(self) -> list[TopicPartition]:
        """The partitions to read, as of now."""
        options = self._options
        if options.pattern is None:
            wanted = sorted({each.topic for each in options.assigned} or options.topics)
            topics = [self._topic(name) for name in wanted]
        else:
            topics = self._matching(options.pattern)
        found = [TopicPartition(topic.name, each.index) for topic in topics for each in topic.partitions]
        missing = sorted(set(options.assigned) - set(found))
        if missing:
            raise InvalidOption(
                f"assign names {', '.join(map(str, missing))}, which the cluster does not have"
            )
        return sorted(options.assigned or found)

    def start(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Where reading begins."""
        return self._place("starting", self._options.start, list(partitions))

    def end(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Where reading ends, for a batch."""
        return self._place("ending", self._options.end, list(partitions))

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Where the partitions end; what is not committed lies beyond, if only the committed is read."""
        return self._all(dict.fromkeys(partitions, LATEST))

    def readable(self, ranges: Iterable[Range]) -> list[Range]:
        """The part of *ranges* that the log holds; DataLoss, or a warning, if that is not all."""
        wanted = [each for each in ranges if each.size > 0]
        begins = self._all({each.partition: EARLIEST for each in wanted})
        ends = self._all({each.partition: LATEST for each in wanted})
        found: list[Range] = []
        gaps: list[Gap] = []
        for each in wanted:
            begin, end = begins[each.partition], ends[each.partition]
            if each.first < begin:
                gaps.append(Gap(each.partition, each.first, min(begin, each.until), begin))
            if each.until > end:
                gaps.append(Gap(each.partition, max(end, each.first), each.until, begin, end))
            found.append(Range(each.partition, max(each.first, begin), min(each.until, end)))
        self.lost(gaps)
        return [each for each in found if each.size > 0]

    def lost(self, losses: Sequence[Loss]) -> None:
        """Say that these are gone: DataLoss, or a warning if that is how the user wants it."""
        report(losses, fail=self._options.fail_on_data_loss)

    def _topic(self, name: str) -> Topic:
        return self._cluster.retry(lambda: self._cluster.client.topic(name))

    def _matching(self, pattern: str) -> list[Topic]:
        try:
            matches = re.compile(pattern).fullmatch
        except re.error as problem:
            raise InvalidOption(f"subscribePattern is {pattern!r}: {problem}") from None
        found = self._cluster.retry(lambda: self._cluster.client.metadata(None))
        topics = [found.topics[name].check() for name in sorted(found.topics) if matches(name)]
        return [topic for topic in topics if not topic.internal]

    def _all(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        found = self._list(wanted)
        return {each: offset or 0 for each, offset in found.items()}

    def _list(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        return self._cluster.run(
            list_offsets(self._cluster.client, wanted, committed_only=self._options.committed_only)
        )

    def _place(self, side: str, place: Place, partitions: list[TopicPartition]) -> Offsets:
        if place.each is None:
            assert place.everywhere is not None
            wanted = dict.fromkeys(partitions, place.everywhere)
        else:
            _check_complete(f"{side}Offsets{'ByTimestamp' if place.by_time else ''}", place.each, partitions)
            wanted = dict(place.each)
        if place.by_time:
            return self._by_time(side, place, wanted)
        asked = self._all({each: offset for each, offset in wanted.items() if offset in (EARLIEST, LATEST)})
        return wanted | asked

    def _by_time(self, side: str, place: Place, wanted: Offsets) -> Offsets:
        found = self._list(wanted)
        later = [each for each, offset in found.items() if offset is None]
        if later and place.no_match == "error":
            where = ", ".join(f"{each} (time {wanted[each]})" for each in later)
            raise InvalidOption(
                f"{side} time: no record that late in {where}; "
                "to begin at the end there set startingOffsetsByTimestampStrategy to latest"
            )
        ends = self.latest(later)
        return {each: ends[each] if offset is None else offset for each, offset in found.items()}


def report(losses: Sequence[Loss], *, fail: bool) -> None:
    """DataLoss if there are *losses* and that is to *fail*, else a warning for each."""
    if losses and fail:
        raise DataLoss(losses)
    for loss in losses:
        log.warning("data lost: %s", loss)


def _check_complete(name: str, given: Mapping[TopicPartition, int], partitions: list[TopicPartition]) -> None:
    missing = sorted(set(partitions) - set(given))
    surplus = sorted(set(given) - set(partitions))
    if missing:
        raise InvalidOption(f"{name} must name every partition; it leaves out {', '.join(map(str, missing))}")
    if surplus:
        raise InvalidOption(f"{name} names {', '.join(map(str, surplus))}, which are not to be read")
