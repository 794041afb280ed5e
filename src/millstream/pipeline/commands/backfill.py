"""`millstream pipeline backfill`."""

import click

from millstream.cli.exits import Exit, Failure
from millstream.pipeline.commands.common import (
    Asked,
    pipeline_options,
    progress,
    show_states,
    spark_options,
    spark_session,
    stopping,
)


@click.command("backfill")
@click.option(
    "--from",
    "first",
    default="start",
    show_default=True,
    metavar="OFFSET",
    help="Where history begins: start, @2026-11-01.",
)
@click.option(
    "--until",
    metavar="OFFSET",
    help="Where it ends.  [default: where the pipeline began; now, if it never ran]",
)
@click.option("--flow", "only", multiple=True, metavar="NAME", help="Only this flow; may be repeated.")
@spark_options
@pipeline_options
def command(
    asked: Asked, first: str, until: str | None, only: tuple[str, ...], master: str, confs: tuple[str, ...]
) -> int:
    """Put what was in the topics before the pipeline of FILE began into the same tables and topics.

    Flows that keep state, or read no topic, have no way to take history in
    behind what they have read, nor has a table with a key and no sequence_by:
    it is refused, and nothing is done.

    What was filled in once is not filled in again: a backfill that was
    stopped is completed by running it again.
    """
    context = asked.context()
    from millstream.pipeline.again import backfills
    from millstream.pipeline.order import chosen
    from millstream.pipeline.run import FlowFailed, finish

    out = asked.output()
    states = []
    with spark_session(context, master, confs) as spark:
        try:
            with stopping(lambda: None) as stopped, progress(out) as watch:
                for start in backfills(context, spark, chosen(context.pipeline, only), first, until):
                    states.append(finish(start, watch, stopped))
        except FlowFailed as problem:
            raise Failure(str(problem)) from None
        show_states(out, states)
    return Exit.INTERRUPTED if stopped.is_set() else Exit.OK
