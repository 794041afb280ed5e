"""`millstream pipeline run`."""

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


@click.command("run")
@click.option("--once", is_flag=True, help="Catch up with what is there, and stop.")
@click.option(
    "--from",
    "start",
    metavar="OFFSET",
    help="Where flows begin that have never run: start, end, @-1h, @2026-11-01.  [default: start]",
)
@click.option("--flow", "only", multiple=True, metavar="NAME", help="Only this flow; may be repeated.")
@spark_options
@pipeline_options
def command(
    asked: Asked, once: bool, start: str | None, only: tuple[str, ...], master: str, confs: tuple[str, ...]
) -> int:
    """Run the pipeline of FILE until Ctrl-C, or once through what there is.

    It goes on where it was when it last ran. How far it is shows as the
    consumer group of the pipeline's name.
    """
    context = asked.context()
    from millstream.pipeline.run import FlowFailed, Run

    out = asked.output()
    with spark_session(context, master, confs) as spark:
        run = Run(context, spark, once=once, start=start, only=only)
        try:
            with stopping(run.stop) as stopped, progress(out) as watch:
                states = run.run(watch)
        except FlowFailed as problem:
            raise Failure(str(problem)) from None
        show_states(out, states)
        if stopped.is_set():
            out.note("Stopped. The next run goes on from here.")
    return Exit.INTERRUPTED if once and stopped.is_set() else Exit.OK
