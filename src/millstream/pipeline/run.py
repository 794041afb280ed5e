"""A run of a pipeline: starts its flows, watches them, tells the cluster how far they are, and stops them."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final, final

from millstream.client.topics import TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused
from millstream.pipeline.cluster import Cluster
from millstream.pipeline.context import Context
from millstream.pipeline.definition import Flow, InvalidPipeline, Topic
from millstream.pipeline.failures import MOST_TRIES, cause, may_pass, patiently
from millstream.pipeline.flows import Running, Starter
from millstream.pipeline.group import Group
from millstream.pipeline.home import Begun, Offsets
from millstream.pipeline.order import chosen, in_order, in_turn

log = logging.getLogger(__name__)

RUN_FILE: Final = "run.json"
_LOOK_EVERY: Final = 0.2
_TELL_EVERY: Final = 2.0


class FlowFailed(RuntimeError):
    """A flow has stopped by itself; the message says which and why."""


@final
@dataclass
class FlowState:
    """How far a flow is, for whoever watches."""

    flow: str
    state: str = "waiting"
    batch: int = -1
    rows: int = 0
    rows_per_second: float = 0.0
    bad: int = 0
    warned: dict[str, int] = field(default_factory=dict)
    lag: int = 0

    def document(self) -> dict[str, object]:
        return asdict(self)


Watch = Callable[[list[FlowState]], None]


def finish(start: Callable[[], Running], watch: Watch, stopped: threading.Event) -> FlowState:
    """Start and wait for a run that stops by itself, such as a backfill; how far it has come."""
    for tries in range(1, MOST_TRIES + 1):
        running = patiently(start)
        state = FlowState(running.flow.name, "running")
        try:
            while not stopped.is_set() and running.active and failure(running) is None:
                stopped.wait(_LOOK_EVERY)
                _update(state, running)
                watch([state])
            problem = failure(running)
        finally:
            for query in running.queries:
                query.stop()
        if problem is None:
            break
        if tries == MOST_TRIES or not may_pass(problem):
            raise FlowFailed(f"flow {running.flow.name!r}: {cause(problem)}")
    state.state = "stopped" if stopped.is_set() else "done"
    _update(state, running)
    watch([state])
    return state


@final
class Run:
    """One run of the pipeline of *context* on a Spark session.

    If *once*, each flow catches up with what is there when it starts, those
    that feed others first, and the run ends; otherwise it goes on until
    `stop`. *start* says where flows begin that have never run before. Progress
    goes to the consumer group that has the pipeline's name.
    """

    def __init__(
        self, context: Context, spark: Any, *, once: bool, start: str | None = None, only: Iterable[str] = ()
    ) -> None:
        self._context = context
        self._cluster = Cluster(context.reach)
        self._publisher = Cluster(
            context.reach
        )  # the group's own, who publishes in the batches' threads, too
        self._group = Group(context.home, partial(self._publisher.publish, context.pipeline.name))
        self._starter = Starter(context, spark, once=once, group=self._group)
        self._once = once
        self._start = start
        self._flows = chosen(context.pipeline, only)
        self.states = {flow.name: FlowState(flow.name) for flow in self._flows}
        self._running: list[Running] = []
        self._stopped = threading.Event()
        self._told = 0.0
        self._warned = ""
        self._tries: dict[str, int] = {}

    def run(self, watch: Watch = lambda states: None) -> list[FlowState]:
        """Run to the end; how far each flow has come. FlowFailed if one stops by itself."""
        watch(list(self.states.values()))  # starting takes a while: show that something goes on
        try:
            self._group.rest(self._context.pipeline.flows.values())
            self._cluster.create_missing(
                each.into.name for each in self._flows if isinstance(each.into, Topic)
            )
            stages = in_order(self._flows) if self._once else [in_turn(self._flows)]
            for stage in stages:
                self._work_off(stage, watch)
            return list(self.states.values())
        finally:
            self._end()
            self._group.close()
            self._publisher.close()
            self._cluster.close()

    def stop(self) -> None:
        """Have the run end: what is under way is given up, and done again by the next run."""
        self._stopped.set()

    def _work_off(self, stage: list[Flow], watch: Watch) -> None:
        begun = [self._begun(flow) for flow in stage]  # all, before one of them tells how far it is
        for flow, place in zip(stage, begun, strict=True):
            if self._stopped.is_set():
                return
            self._start_flow(flow, place)
            self.states[flow.name].state = "running"
        while not self._stopped.is_set():
            over = [each for each in self._running if failure(each) or not each.active]
            self._look(watch)
            for each in over:
                if not self._again(each):
                    self.states[each.flow.name].state = "done"
            if all(self.states[each.flow.name].state == "done" for each in self._running):
                break
            self._stopped.wait(_LOOK_EVERY)

    def _again(self, each: Running) -> bool:
        """Start a flow anew that has failed for a reason that may pass; FlowFailed if it is another."""
        problem = failure(each)
        if problem is None:
            return False
        name = each.flow.name
        self._tries[name] = self._tries.get(name, 0) + 1
        if not may_pass(problem) or self._tries[name] > MOST_TRIES:
            raise FlowFailed(f"flow {name!r}: {cause(problem)}")
        log.warning("flow %s is started anew: %s", name, cause(problem))
        for query in each.queries:
            query.stop()
        self._running.remove(each)
        self._start_flow(each.flow, self._begun(each.flow))
        return True

    def _start_flow(self, flow: Flow, begun: Begun) -> None:
        self._running.append(patiently(lambda: self._starter.start(flow, begun)))

    def _begun(self, flow: Flow) -> Begun:
        home = self._context.home
        begun = home.begun(flow.name)
        topics = flow.topics.values()
        if begun is None:
            offsets: Offsets = {}
            for each in topics:
                offsets |= self._cluster.start(each.name, self._start or each.start or "start")
            begun = home.begin(flow.name, offsets)
        elif self._start is not None and flow.name not in self._tries:
            raise InvalidPipeline(
                f"flow {flow.name!r} has begun already, so --from comes too late: use 'pipeline backfill'"
            )
        self._group.begin(flow.name, (each.name for each in topics), begun)
        return begun

    def _look(self, watch: Watch) -> None:
        """See how far everything is, and tell it."""
        self._group.look()
        ends = self._ends()
        for each in self._running:
            state = self.states[each.flow.name]
            _update(state, each)
            state.lag = lag_of(self._group.position(each.flow.name), ends)
        watch(list(self.states.values()))
        now = time.monotonic()
        if now - self._told > _TELL_EVERY:
            self._told = now
            self._write_down("running")

    def _ends(self) -> Offsets:
        partitions = {at for each in self._running for at in self._group.position(each.flow.name)}
        try:
            return self._cluster.ends(partitions)
        except (Refused, Unreachable) as problem:
            self._warn(f"the cluster does not say where topics end: {problem}")
            return {}

    def _warn(self, text: str) -> None:
        """Say *text*, once as long as nothing else is to be said."""
        if text != self._warned:
            self._warned = text
            log.warning("%s", text)

    def _end(self) -> None:
        for each in self._running:
            for query in each.queries:
                query.stop()
        self._group.settle()
        for each in self._running:
            self._settle(each)
        if self._running:
            self._write_down("stopped")

    def _settle(self, each: Running) -> None:
        """What the checkpoint says counts in the end: Spark tells of a batch some time after it is done."""
        state = self.states[each.flow.name]
        _update(state, each)
        if state.state == "running":
            state.state = "stopped"
        found = self._context.home.committed(each.flow.name, ())
        if found is not None:
            state.batch = found[0]
        state.lag = lag_of(self._group.position(each.flow.name), self._ends())

    def _write_down(self, word: str) -> None:
        document = {
            "state": word,
            "time": time.time(),
            "flows": [state.document() for state in self.states.values()],
        }
        self._context.home.write(RUN_FILE, document)


def _update(state: FlowState, running: Running) -> None:
    """Take over what Spark has told of the flow's last batch."""
    counts = running.counts
    state.bad, state.warned = counts.bad, dict(counts.warned)
    progress = running.main.lastProgress
    if progress is None or progress["batchId"] < state.batch:
        return
    if progress["batchId"] > state.batch and not counts.rows:
        state.rows += progress["numInputRows"]
    state.rows = max(state.rows, counts.rows)
    state.batch = progress["batchId"]
    state.rows_per_second = progress["processedRowsPerSecond"] if progress["numInputRows"] else 0.0


def failure(running: Running) -> str | None:
    """What Spark says of the query of *running* that has failed, if one has."""
    problems = [query.exception() for query in running.queries]
    return next((str(each) for each in problems if each is not None), None)


def lag_of(position: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """How many records lie ahead of *position*."""
    return sum(max(0, end - position[at]) for at, end in ends.items() if at in position)
