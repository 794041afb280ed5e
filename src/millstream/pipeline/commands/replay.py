"""`millstream pipeline replay`."""

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


@click.command("replay")
@click.option("--flow", "only", multiple=True, metavar="NAME", help="Only this flow; may be repeated.")
@spark_options
@pipeline_options
def command(asked: Asked, only: tuple[str, ...], master: str, confs: tuple[str, ...]) -> int:
    """Put the bad records of the pipeline of FILE through it again.

    Those that are good now go where they belong; the others are added to the
    table of bad records once more. Nothing is put through twice, however often
    this is run, and the pipeline may be running meanwhile.

    Flows that keep state are refused, and so are flows into a table with a key
    and no sequence_by, where old rows would replace newer ones: then nothing
    is done, unless --flow says which flows to do.
    """
    context = asked.context()
    from millstream.pipeline.again import replay
    from millstream.pipeline.order import chosen
    from millstream.pipeline.run import FlowFailed, finish

    out = asked.output()
    states = []
    with spark_session(context, master, confs) as spark:
        try:
            with stopping(lambda: None) as stopped, progress(out) as watch:
                flows = chosen(context.pipeline, only)
                starts = [replay(context, spark, flow) for flow in flows]  # all, or none is done
                for start in starts:
                    if start is not None:
                        states.append(finish(start, watch, stopped))
        except FlowFailed as problem:
            raise Failure(str(problem)) from None
        show_states(out, states)
        if not states:
            out.note("There are no bad records.")
    return Exit.INTERRUPTED if stopped.is_set() else Exit.OK
