"""`millstream pipeline status`."""

import time
from typing import Any, Final

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Cell, Table, number
from millstream.pipeline.commands.common import Asked, pipeline_options

_SILENT: Final = 30.0  # a run that has said nothing for so long was killed


@click.command("status")
@click.option(
    "--max-lag", type=click.IntRange(min=0), metavar="N", help="Exit with 1 if a flow lags more than this."
)
@pipeline_options
def command(asked: Asked, max_lag: int | None) -> int:
    """How far each flow of the pipeline of FILE is, whether or not it runs now."""
    context = asked.context()
    from millstream.pipeline.status import look

    out = asked.output()
    flows, run = look(context)
    state = _state(run)
    table = Table(["flow", "into", "batch>", "lag>", "rows/s>", "rows in table>", "bad>", "waiting>"])
    for each in flows:
        lag = number(each["lag"], "yellow" if each["lag"] else "green")
        table.rows.append(
            [
                each["flow"],
                each["into"],
                number(each["batch"]),
                lag,
                number(round(each["rows_per_second"]) if state == "running" else None),
                number(each["table_rows"]),
                number(each["bad"], "yellow" if each["bad"] else ""),
                number(each["waiting"], "yellow" if each["waiting"] else ""),
            ]
        )
    summary = Table(
        ["", ""], [[Cell("state", style="dim"), state]], title=context.pipeline.name, header=False
    )
    out.show({"pipeline": context.pipeline.name, "state": state, "flows": flows}, summary, table)
    behind = max_lag is not None and any((each["lag"] or 0) > max_lag for each in flows)
    return Exit.NO if behind else Exit.OK


def _state(run: Any) -> str:
    if run is None:
        return "never run"
    if run["state"] == "running" and time.time() - run["time"] > _SILENT:
        return "killed"
    return str(run["state"])
