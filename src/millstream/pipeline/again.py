"""Records put through a flow beside its live run: history before it began, and bad records after a fix.

Each is a run of its own with a checkpoint of its own, so it can be killed and
run again, and what it has done is never done twice.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from millstream.client.topics import TopicPartition
from millstream.pipeline.cluster import Cluster
from millstream.pipeline.context import Context
from millstream.pipeline.definition import Flow, InvalidPipeline, Table
from millstream.pipeline.failures import patiently
from millstream.pipeline.flows import Running, Starter
from millstream.pipeline.home import Begun, Offsets
from millstream.pipeline.tables import count_rows, find_table

_BACKFILL: Final = "backfill-"
_REPLAY: Final = "replay"
_SAY_WHICH: Final = "name the column that tells which of two rows is newer, as sequence_by of the table"


def backfills(
    context: Context, spark: Any, flows: Iterable[Flow], first: str, until: str | None
) -> list[Callable[[], Running]]:
    """What puts all that lies from *first* up to *until* through *flows*, one after another.

    *until* is where the live run of a flow began, unless it is given; a flow
    that has never run will go on from there. InvalidPipeline, before anything
    is done, if one of them would not come to what a live run makes.
    """
    starter = Starter(context, spark, once=True)
    cluster = Cluster(context.reach)
    try:
        starts = [(flow, _start(cluster, flow, first)) for flow in flows]
        for flow, start in starts:
            _check_backfill(context, starter, flow, start)
        return [
            _backfill(starter, flow, *_plan(context, cluster, flow, start, until)) for flow, start in starts
        ]
    finally:
        cluster.close()


def replay(context: Context, spark: Any, flow: Flow) -> Callable[[], Running] | None:
    """What puts the bad records of *flow* through it again; None if it never had any.

    InvalidPipeline if it does not look at each record by itself, or if they
    would take the place of newer rows.
    """
    table = find_table(context, flow.bad_records)
    if table is None or not count_rows(table, flow.name):
        return None
    work = f"{flow.name}/{_REPLAY}"
    if _keeps_the_last_come(flow):
        raise InvalidPipeline(
            f"flow {flow.name!r} has bad records, and {flow.into} keeps the last row of each key: "
            f"they would take the place of what came after them; {_SAY_WHICH}"
        )
    starter = Starter(context, spark, once=True)
    live = Begun("", _live(context, flow))
    patiently(lambda: starter.check_by_record(flow, live, "replayed"))
    begun = context.home.begun(work) or context.home.begin(work, live.offsets)
    return lambda: starter.replay(flow, begun, work)


def _start(cluster: Cluster, flow: Flow, first: str) -> Offsets:
    start: Offsets = {}
    for topic in flow.topics.values():
        start |= cluster.start(topic.name, first)
    return start


def _check_backfill(context: Context, starter: Starter, flow: Flow, start: Offsets) -> None:
    if not flow.topics:
        raise InvalidPipeline(
            f"flow {flow.name!r} reads no topic, so it has no history of its own: "
            "say with --flow which flows to fill in"
        )
    if _keeps_the_last_come(flow) and context.home.committed(flow.name, ()) is not None:
        raise InvalidPipeline(
            f"flow {flow.name!r} has run, and {flow.into} keeps the last row of each key: "
            f"history would take the place of what came after it; {_SAY_WHICH}, "
            "or begin anew under another pipeline name"
        )
    patiently(lambda: starter.check_by_record(flow, Begun("", start), "filled in later"))


def _keeps_the_last_come(flow: Flow) -> bool:
    """Whether the order in which rows come decides what its table holds."""
    return isinstance(flow.into, Table) and bool(flow.into.key) and flow.into.sequence_by is None


def _backfill(starter: Starter, flow: Flow, work: str, begun: Begun) -> Callable[[], Running]:
    ends = begun.until
    assert ends is not None
    return lambda: starter.backfill(flow, begun, ends, work)


def _plan(
    context: Context, cluster: Cluster, flow: Flow, start: Offsets, until: str | None
) -> tuple[str, Begun]:
    """The name of the backfill, and from where to where it goes."""
    live = context.home.begun(flow.name)
    if until is not None:
        ends = {
            at: offset
            for topic in flow.topics.values()
            for at, offset in cluster.start(topic.name, until).items()
        }
    elif live is not None:
        ends = {at: live.offsets.get(at, 0) for at in start}
    else:
        ends = cluster.ends(start)
    ends = {at: max(offset, start[at]) for at, offset in ends.items()}
    if live is None:
        context.home.begin(flow.name, ends)
    elif any(ends[at] > live.offsets.get(at, 0) for at in ends):
        raise InvalidPipeline(
            f"flow {flow.name!r} has read what lies after {_said(live.offsets)} by itself; "
            "a backfill ends there: leave out --until"
        )
    return _unfinished_or_new(context, flow, start, ends)


def _unfinished_or_new(context: Context, flow: Flow, start: Offsets, ends: Offsets) -> tuple[str, Begun]:
    known = context.home.works(flow.name, _BACKFILL)
    for work in known:
        begun = context.home.begun(work)
        if begun is None or begun.until is None:
            continue
        if begun.offsets == start and begun.until == ends:
            return work, begun
        if any(start[at] < begun.until.get(at, 0) and begun.offsets.get(at, 0) < ends[at] for at in start):
            raise InvalidPipeline(
                f"flow {flow.name!r}: {_said(begun.offsets)} to {_said(begun.until)} was filled in already, "
                "and would be there twice; say --from and --until so that they do not overlap"
            )
    work = f"{flow.name}/{_BACKFILL}{len(known)}"
    return work, context.home.begin(work, start, ends)


def _live(context: Context, flow: Flow) -> Mapping[TopicPartition, int]:
    begun = context.home.begun(flow.name)
    if begun is None:
        raise InvalidPipeline(f"flow {flow.name!r} has never run; 'pipeline run' does")
    return begun.offsets


def _said(offsets: Mapping[TopicPartition, int]) -> str:
    return ", ".join(f"{at} offset {offset}" for at, offset in sorted(offsets.items()))
