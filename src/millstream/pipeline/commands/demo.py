"""`millstream pipeline demo`."""

import sys
from pathlib import Path

import click

from millstream.cli.exits import Exit, Failure
from millstream.cli.output import Cell, Output, Table, counted, number
from millstream.pipeline.commands.common import (
    check_installed,
    progress,
    show_states,
    spark_options,
    spark_session,
    stopping,
    told,
)


@click.command("demo")
@click.option(
    "--orders", "count", type=click.IntRange(100), default=50_000, show_default=True, help="How many."
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("millstream-demo"),
    show_default=True,
    help="Where everything is kept; run it again to go on from there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@spark_options
def command(count: int, folder: Path, as_json: bool, master: str, confs: tuple[str, ...]) -> int:
    """Orders, a broker, Spark, an Iceberg table, a question to it, and a chart.

    Generated orders go to a topic of a broker in this process. One flow cleans
    them into a table, another makes totals by the minute into a second topic.
    """
    check_installed()
    out = Output(sys.stdout, sys.stderr, "json" if as_json else "table")
    with told():
        return run(out, count, folder, master, confs)


def run(out: Output, count: int, folder: Path, master: str, confs: tuple[str, ...]) -> int:
    """The demo, step by step."""
    from millstream.pipeline import demo
    from millstream.pipeline.chart import svg_chart, text_chart
    from millstream.pipeline.context import settle
    from millstream.pipeline.load import load
    from millstream.pipeline.run import FlowFailed, Run

    folder.mkdir(parents=True, exist_ok=True)
    definition = folder / "demo.yaml"
    definition.write_text(demo.DEFINITION)
    broker = demo.open_broker(folder / "broker")
    try:
        _say(out, f"a broker serves on {broker.bootstrap_servers}")
        sent = demo.send_orders(broker.bootstrap_servers, count)
        _say(out, f"{counted(sent, 'record')} sent to the topic orders, three of them broken")
        context = settle(load(definition), broker.bootstrap_servers)
        _say(out, f"Spark starts, and runs {definition}")
        with spark_session(context, master, confs) as spark:
            pipeline = Run(context, spark, once=True)
            try:
                with stopping(pipeline.stop) as stopped, progress(out) as watch:
                    states = pipeline.run(watch)
            except FlowFailed as problem:
                raise Failure(str(problem)) from None
        if stopped.is_set():
            return Exit.INTERRUPTED
        sold, bars = demo.best_sellers(context), demo.totals(broker.bootstrap_servers)
    finally:
        broker.stop()
    picture = folder / "orders-per-minute.svg"
    picture.write_text(
        svg_chart(bars, "Sales by the minute", "from the topic order-totals, made by the flow 'totals'")
    )
    if out.format == "json":
        document = {
            "flows": [each.document() for each in states],
            "best_sellers": [vars(each) for each in sold],
            "totals": [{"minute": minute, "total": total} for minute, total in bars],
            "chart": str(picture),
        }
        out.show(document)
        return Exit.OK
    show_states(out, states)
    table = Table(["product", "orders>", "total>"], title="\nWhat sold best, asked of the table lake.orders")
    for each in sold:
        table.rows.append([each.product, number(each.orders), Cell(each.total, f"{each.total:,.2f}")])
    out.show(None, table)
    click.echo("\nSales by the minute, read from the topic order-totals")
    for line in text_chart(bars, min(100, _width())):
        click.echo(line)
    click.echo(f"\nThe chart: {picture}\nThe table: {folder / 'warehouse'}\nThe pipeline: {definition}")
    return Exit.OK


def _say(out: Output, text: str) -> None:
    if out.format != "json":
        click.secho(f"{text} …", err=True, dim=True)


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns
