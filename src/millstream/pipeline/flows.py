"""One flow brought to run: its Spark queries, from sources through its function to its sink.

There are two ways. A flow that looks at each record by itself is worked off batch
by batch, and its bad records are written by the same query: they cost nothing
unless there are some. A flow with state – windows, dedupe, joins of streams – is
a streaming plan from end to end, and a second query looks for its bad records.
"""

import io
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Final, final

from millstream.client.topics import TopicPartition
from millstream.pipeline.bad import as_read, bad_rows, bad_sink
from millstream.pipeline.context import Context, read_options
from millstream.pipeline.definition import Expectation, Flow, InvalidPipeline, Table, Topic
from millstream.pipeline.failures import briefly
from millstream.pipeline.formats import REASON, RECORD, good, marked, timed
from millstream.pipeline.group import Group, bad_work
from millstream.pipeline.home import Begun
from millstream.pipeline.sinks import Write, open_sink
from millstream.pipeline.tables import prepare_table, read_table, stream_table

log = logging.getLogger(__name__)

# Operators that look at one row at a time; whatever is not among them may keep state.
_STATELESS: Final = frozenset(
    {
        "Project",
        "Filter",
        "SubqueryAlias",
        "View",
        "Generate",
        "Join",
        "LocalRelation",
        "LogicalRelation",
        "LogicalRDD",
        "Relation",
        "StreamingRelation",
        "StreamingRelationV2",
        "StreamingDataSourceV2Relation",
        "UnresolvedHint",
        "ResolvedHint",
        "Repartition",
        "RepartitionByExpression",
        "ArrowEvalPython",
        "BatchEvalPython",
    }
)
_STREAM: Final = "Streaming"
_PLACE: Final = ("partition", "offset")


@final
@dataclass
class Counts:
    """What has become of records in this run."""

    rows: int = 0
    bad: int = 0
    warned: dict[str, int] = field(default_factory=dict)


@final
class Running:
    """The queries of one *flow*; those of *bad* serve only to find bad records."""

    def __init__(self, flow: Flow, main: Any, bad: list[Any], counts: Counts) -> None:
        self.flow = flow
        self.main = main
        self.bad = bad
        self.counts = counts

    @property
    def queries(self) -> list[Any]:
        return [self.main, *self.bad]

    @property
    def active(self) -> bool:
        return any(query.isActive for query in self.queries)


@final
class Starter:
    """Starts flows on a Spark session; once through what there is, or for ever.

    *group*, if there is one, learns how far each of their queries is.
    """

    def __init__(self, context: Context, spark: Any, *, once: bool, group: Group | None = None) -> None:
        self._context = context
        self._spark = spark
        self._once = once
        self._group = group
        self._counts: dict[str, Counts] = {}  # by work: one that is started anew counts on

    def start(self, flow: Flow, begun: Begun) -> Running:
        """Start *flow* from where it has *begun*, or from where it was when it last ran."""
        raws, rows, made = self.plan(flow, begun)
        if self._by_record(flow, made):
            (name,) = raws
            return self._start_by_record(flow, raws[name], begun, flow.name)
        counts = self._counts.setdefault(flow.name, Counts())
        sink = open_sink(self._context, flow.name, flow.into, begun.id)
        # First, so that the group never shows what only the main query has read.
        bad = [self._bad_query(flow, name, each, begun, counts) for name, each in rows.items()]
        main = self._query(made, lambda frame, batch: sink(frame, batch), flow, flow.name)
        return Running(flow, main, bad, counts)

    def backfill(self, flow: Flow, begun: Begun, until: Mapping[TopicPartition, int], work: str) -> Running:
        """Put through *flow* what lies from where *work* has *begun* up to *until*."""
        raws, _, _ = self.plan(flow, begun, until)
        (raw,) = raws.values()
        return self._start_by_record(flow, raw, begun, work)

    def replay(self, flow: Flow, begun: Begun, work: str) -> Running:
        """Put the bad records of *flow* through it again: those that have come since it was last done."""
        raws, _, _ = self.plan(flow, begun)
        ((name, raw),) = raws.items()
        table = stream_table(self._context, self._spark, flow.bad_records)
        again = table.where((table.flow == flow.name) & (table.source == name))
        return self._start_by_record(flow, as_read(again, raw), begun, work)

    def plan(
        self, flow: Flow, begun: Begun, until: Mapping[TopicPartition, int] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """The streams of *flow*'s topics as they are read, and marked, and what its function makes of all.

        Its table is then there, so that other flows can read it.
        """
        raws = {name: self._raw(each, begun, until) for name, each in flow.topics.items()}
        rows = {name: self._marked(flow, name, raw) for name, raw in raws.items()}
        made = flow.make(**self._frames(flow, rows))
        if not hasattr(made, "writeStream"):
            kind = type(made).__name__
            raise InvalidPipeline(f"flow {flow.name!r}: its function returns {kind}, which is no DataFrame")
        if isinstance(flow.into, Table):
            prepare_table(self._context, flow.into, made.drop(RECORD))
        return raws, rows, made

    def _by_record(self, flow: Flow, made: Any) -> bool:
        return len(flow.streams) == 1 and len(flow.topics) == 1 and stateless(made)

    def check_by_record(self, flow: Flow, begun: Begun, what: str) -> None:
        """InvalidPipeline if *flow* does not look at each record by itself."""
        _, _, made = self.plan(flow, begun)
        if not self._by_record(flow, made):
            kept = ", ".join(sorted(set(_operators(made)) - _STATELESS)) or "a join of streams"
            raise InvalidPipeline(
                f"flow {flow.name!r} keeps state ({kept}): its records cannot be {what}, one by one; "
                "begin anew under another pipeline name instead, and it reads all there is"
            )

    def _start_by_record(self, flow: Flow, raw: Any, begun: Begun, work: str) -> Running:
        counts = self._counts.setdefault(work, Counts())
        sink = open_sink(self._context, work, flow.into, begun.id)
        bad = bad_sink(self._context, work, flow, begun.id)
        each = self._each_batch(flow, sink, bad, counts)
        return Running(flow, self._query(raw, each, flow, work), [], counts)

    def _each_batch(self, flow: Flow, sink: Write, bad: Write, counts: Counts) -> Callable[[Any, int], None]:
        """What is done to each batch of the flow's only stream."""
        (name,) = flow.topics
        warnings = [each for each in flow.expect if each.otherwise == "warn"]

        def each(batch: Any, number: int) -> None:
            from pyspark.sql import Observation

            seen = Observation()
            rows = self._marked(flow, name, batch).observe(seen, *_counted(warnings))
            if sink(flow.make(**self._frames(flow, {name: rows})), number):
                found = seen.get
                if "rows" in found:  # Spark counts nothing if it sees that nothing can come of the records
                    counts.rows += found["rows"]
                    counts.bad += found["bad"]
                    _warn(flow, warnings, found, counts)
                    if not found["bad"]:
                        return
                    # Only what lies between the first and the last of them is decoded once more.
                    rows = self._marked(flow, name, batch.where(_around(found)))
            bad(bad_rows(rows, flow, name), number)

        return each

    def _bad_query(self, flow: Flow, name: str, rows: Any, begun: Begun, counts: Counts) -> Any:
        work = bad_work(flow, name)
        if self._group is not None:
            self._group.begin(work, [flow.topics[name].name], begun)
        bad = bad_sink(self._context, work, flow, begun.id)

        def each(batch: Any, number: int) -> None:
            found = batch.persist()
            try:
                count = found.count()
                if count:
                    counts.bad += count
                    bad(found, number)
            finally:
                found.unpersist()

        return self._query(bad_rows(rows, flow, name), each, flow, work, mode="append")

    def _query(self, frame: Any, each: Any, flow: Flow, work: str, mode: str | None = None) -> Any:
        if self._group is not None:
            each = self._group.before_each(work, each)
        writer = (
            frame.writeStream.foreachBatch(briefly(each))
            .outputMode(mode or flow.mode)
            .queryName(f"{self._context.pipeline.name}.{work}")
            .option("checkpointLocation", self._context.home.checkpoint(work))
        )
        trigger = {"availableNow": True} if self._once else {"processingTime": flow.every}
        query = writer.trigger(**trigger).start()
        if self._group is not None:
            self._group.started(work, query)
        return query

    def _raw(self, topic: Topic, begun: Begun, until: Mapping[TopicPartition, int] | None) -> Any:
        options = read_options(self._context, topic, begun.offsets, until)
        return self._spark.readStream.format("millstream").options(**options).load()

    def _marked(self, flow: Flow, name: str, raw: Any) -> Any:
        first = next(iter(flow.sources)) == name
        expect: tuple[Expectation, ...] = flow.expect if first else ()
        return marked(raw, flow.topics[name], expect, self._context.folder)

    def _frames(self, flow: Flow, rows: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._frame(flow, name, rows) for name in flow.sources}

    def _frame(self, flow: Flow, name: str, rows: Mapping[str, Any]) -> Any:
        source = flow.sources[name]
        if isinstance(source, Topic):
            return good(rows[name], source)
        session = next(iter(rows.values())).sparkSession if rows else self._spark
        assert isinstance(source, Table)
        if name in flow.streams:
            return timed(stream_table(self._context, session, source.name), source.watermark, source.dedupe)
        return read_table(self._context, session, source.name)


def stateless(frame: Any) -> bool:
    """Whether *frame*, of a stream, looks at each of its rows by itself."""
    operators = _operators(frame)
    streams = sum(each.startswith(_STREAM) for each in operators)
    return streams == 1 and set(operators) <= _STATELESS


def _operators(frame: Any) -> list[str]:
    """The operators of *frame*'s plan, by Spark's names."""
    said = io.StringIO()
    with redirect_stdout(said):  # Spark's way of telling it that works by Connect, too
        frame.explain(extended=True)
    plan = said.getvalue().partition("== Analyzed Logical Plan ==")[2]
    lines = plan.partition("== Optimized Logical Plan ==")[0].splitlines()[2:]
    return [match[1] for line in lines if (match := re.match(r"[\s:+|-]*'?~?(\w+)", line))]


def _counted(warnings: list[Expectation]) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    def broken(each: Expectation) -> Any:
        return F.col(REASON).isNull() & ~F.coalesce(F.expr(each.check).cast("boolean"), F.lit(False))

    is_bad = F.col(REASON).isNotNull()
    return [
        F.count(F.lit(1)).alias("rows"),
        F.count_if(is_bad).alias("bad"),
        *(F.min(F.when(is_bad, F.col(f"{RECORD}.{each}"))).alias(f"first {each}") for each in _PLACE),
        *(F.max(F.when(is_bad, F.col(f"{RECORD}.{each}"))).alias(f"last {each}") for each in _PLACE),
        *(F.count_if(broken(each)).alias(f"warn {at}") for at, each in enumerate(warnings)),
    ]


def _around(found: Mapping[str, int]) -> str:
    """The condition that all bad records meet, and few others if there are few of them."""
    return " AND ".join(
        f"{each} BETWEEN {found[f'first {each}']} AND {found[f'last {each}']}" for each in _PLACE
    )


def _warn(flow: Flow, warnings: list[Expectation], found: Mapping[str, int], counts: Counts) -> None:
    for at, each in enumerate(warnings):
        count = found[f"warn {at}"]
        if count:
            counts.warned[each.check] = counts.warned.get(each.check, 0) + count
            log.warning("flow %s: %d records are not as expected: %s", flow.name, count, each.check)
