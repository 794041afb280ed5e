"""The consumer group that shows how far a pipeline is.

It has committed, of each partition, up to where every work – a query of a flow – has
read *and* written. It never claims more, since retention may be held back for it. It
is at most a batch behind, whatever else the driver is busy with: a batch begins when
the end of the one before has been committed, by the thread that does it.
"""

import functools
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused
from millstream.pipeline.definition import Flow
from millstream.pipeline.home import Begun, Home, Offsets, offsets_of

log = logging.getLogger(__name__)

Publish = Callable[[Offsets], None]
Each = Callable[[Any, int], object]


@final
class Group:
    """Commits by *publish* how far works are that keep their checkpoints in *home*. Any thread may call."""

    def __init__(self, home: Home, publish: Publish) -> None:
        self._home = home
        self._publish = publish
        self._topics: dict[str, list[str]] = {}
        self._positions: dict[str, Offsets] = {}
        self._resting: dict[str, Offsets] = {}
        self._queries: dict[str, Any] = {}
        self._noting = threading.Lock()  # of positions; never held while the cluster is asked
        self._telling = threading.Lock()
        self._committed: Offsets = {}
        self._failing = False
        self._closed = False

    def rest(self, flows: Iterable[Flow]) -> None:
        """Heed *flows* as they were left, as long as they do not run: what they have not read is not read."""
        for flow in flows:
            begun = self._home.begun(flow.name)
            if begun is None:
                continue
            names = [each.name for each in flow.topics.values()]
            self._resting[flow.name] = self._left(flow.name, names, begun)
            for name, topic in flow.topics.items():
                work = bad_work(flow, name)
                if work in self._home.works(flow.name, work.rpartition("/")[2]):
                    self._resting[work] = self._left(work, [topic.name], begun)

    def begin(self, work: str, topics: Iterable[str], begun: Begun) -> None:
        """*work* reads *topics*, from where it was left or has *begun*."""
        names = list(topics)
        position = self._left(work, names, begun)
        with self._noting:
            self._topics[work], self._positions[work] = names, position
            self._resting.pop(work, None)

    def before_each(self, work: str, each: Each) -> Each:
        """*each*, for `foreachBatch`, done when what *work* did before has been committed.

        While that fails `look` alone tries it again: records must not wait for it.
        """

        @functools.wraps(each)
        def call(batch: Any, number: int) -> None:
            self._note([work])
            if not self._failing:
                self._tell(unless_failing=True)  # which somebody else may find out meanwhile
            each(batch, number)

        return call

    def started(self, work: str, query: Any) -> None:
        """Spark's *query* does *work* from now on; what else a flow of that name has left is over."""
        with self._noting:
            self._queries[work] = query
            for other in [each for each in self._resting if each.startswith(f"{work}/")]:
                del self._resting[other]

    def look(self) -> None:
        """See how far everything is, and commit it."""
        self._note(list(self._queries))
        self._tell()

    def settle(self) -> None:
        """Commit what checkpoints say, when queries have stopped: Spark tells of a batch some time after."""
        for work, names in self._topics.items():
            found = self._home.committed(work, names)
            if found is not None:
                with self._noting:
                    self._positions[work] |= found[1]
        self._tell()

    def position(self, work: str) -> Offsets:
        """Up to where *work* has come."""
        with self._noting:
            return dict(self._positions.get(work, {}))

    def close(self) -> None:
        """Commit nothing more: Spark may still be at a batch that nobody waits for."""
        with self._telling:
            self._closed = True

    def _left(self, work: str, topics: list[str], begun: Begun) -> Offsets:
        found = self._home.committed(work, topics)
        start = {at: offset for at, offset in begun.offsets.items() if at.topic in topics}
        return start if found is None else {**start, **found[1]}

    def _note(self, works: Iterable[str]) -> None:
        with self._noting:  # around the question, too: an older answer must not come after a newer one
            for work in works:
                progress = self._queries[work].lastProgress if work in self._queries else None
                if progress is not None:
                    ends = (each["endOffset"] for each in progress["sources"])
                    self._positions[work] |= offsets_of(ends, self._topics[work])

    def _tell(self, *, unless_failing: bool = False) -> None:
        with self._telling:
            news = {at: offset for at, offset in self._least().items() if self._committed.get(at) != offset}
            if self._closed or not news or (unless_failing and self._failing):
                return
            try:
                self._publish(news)
            except (Refused, Unreachable) as problem:
                if not self._failing:
                    log.warning("progress could not be told to the cluster: %s", problem)
                self._failing = True
            else:
                self._failing = False
                self._committed |= news

    def _least(self) -> Mapping[TopicPartition, int]:
        """Up to where all have come that read a partition, of those that a work reads that runs."""
        with self._noting:
            read = {at for position in self._positions.values() for at in position}
            everyone = [*self._positions.values(), *self._resting.values()]
            return {at: min(each[at] for each in everyone if at in each) for at in read}


def bad_work(flow: Flow, source: str) -> str:
    """The work that looks for bad records of *source*, if *flow* has one beside its own."""
    return f"{flow.name}/bad-{source}"
