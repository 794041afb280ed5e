"""How far the flows of a pipeline are, from what its runs have left behind: no Spark needed."""

from typing import Any

from millstream.pipeline.cluster import Cluster
from millstream.pipeline.context import Context
from millstream.pipeline.definition import Flow, Table
from millstream.pipeline.run import RUN_FILE, lag_of
from millstream.pipeline.tables import count_rows, find_table


def look(context: Context) -> tuple[list[dict[str, Any]], Any]:
    """A document for each flow, and what the last run has written of itself, if there was one."""
    run = context.home.read(RUN_FILE)
    by_flow = {each["flow"]: each for each in run["flows"]} if run else {}
    cluster = Cluster(context.reach)
    try:
        return [_flow(context, cluster, each, by_flow) for each in context.pipeline.flows.values()], run
    finally:
        cluster.close()


def _flow(context: Context, cluster: Cluster, flow: Flow, run: dict[str, Any]) -> dict[str, Any]:
    home = context.home
    begun = home.begun(flow.name)
    done = home.committed(flow.name, (each.name for each in flow.topics.values()))
    position = {} if begun is None else {**begun.offsets, **(done[1] if done else {})}
    bad = find_table(context, flow.bad_records)
    said = run.get(flow.name, {})
    return {
        "flow": flow.name,
        "into": str(flow.into),
        "batch": None if done is None else done[0],
        "lag": None if begun is None else lag_of(position, cluster.ends(position)),
        "rows_per_second": said.get("rows_per_second", 0.0),
        "table_rows": _rows(context, flow.into) if isinstance(flow.into, Table) else None,
        "bad": 0 if bad is None else count_rows(bad, flow.name),
        "waiting": 0 if bad is None else count_rows(bad, flow.name, after=_replayed(context, flow)),
    }


def _rows(context: Context, into: Table) -> int | None:
    """As the table's own summary has it, where it has one."""
    if into.kind != "iceberg":
        return None
    table = find_table(context, into.name)
    snapshot = None if table is None else table.current_snapshot()
    return 0 if snapshot is None else int(snapshot.summary["total-records"])


def _replayed(context: Context, flow: Flow) -> int:
    """The number of the last snapshot of bad records that was put through again."""
    return context.home.sequence(f"{flow.name}/replay")
