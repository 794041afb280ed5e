"""What the pipeline commands share: options, failures told in one line, and how progress is shown."""

import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import click

from millstream.cli.exits import Exit, Failure, exit_of
from millstream.cli.output import FORMATS, Cell, Output, Table, number
from millstream.cli.session import key_value
from millstream.client.unreachable import Unreachable
from millstream.errors import Refused
from millstream.pipeline.definition import InvalidPipeline
from millstream.spark.words import InvalidOption


@final
@dataclass(frozen=True)
class Asked:
    """What the options of every pipeline command say."""

    file: Path
    brokers: str | None
    format: str | None

    def output(self) -> Output:
        return Output(sys.stdout, sys.stderr, self.format, ask=sys.stdin)

    def context(self) -> Any:
        """The pipeline of the file, in its place."""
        check_installed()
        from millstream.pipeline.context import settle
        from millstream.pipeline.load import load

        return settle(load(self.file), self.brokers)


def pipeline_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give *command* a FILE and the options of every pipeline command, as its first argument, an `Asked`."""

    @click.argument("file", type=click.Path(path_type=Path))
    @click.option(
        "--brokers",
        "-b",
        envvar="MILLSTREAM_BROKERS",
        metavar="HOST:PORT,...",
        help="Where the cluster is.  [default: as the pipeline says, or 127.0.0.1:9092]",
    )
    @click.option(
        "--format",
        "-o",
        type=click.Choice(FORMATS),
        help="How to print: a table on a terminal, tab-separated in a pipe, JSON on request.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
    @functools.wraps(command)
    def asked(
        *args: Any, file: Path, brokers: str | None, format: str | None, as_json: bool, **kwargs: Any
    ) -> Any:
        with told():
            return command(Asked(file, brokers, "json" if as_json else format), *args, **kwargs)

    return asked


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give *command* options for the Spark it runs on."""
    command = click.option(
        "--master",
        envvar="MILLSTREAM_SPARK",
        default="local[*]",
        show_default=True,
        help="Spark's master: local[*], spark://host:7077, k8s://https://host, yarn.",
    )(command)
    return click.option(
        "--conf", "confs", multiple=True, metavar="KEY=VALUE", help="Spark's configuration; may be repeated."
    )(command)


@contextmanager
def told() -> Iterator[None]:
    """What goes wrong becomes one line."""
    try:
        yield
    except (InvalidPipeline, InvalidOption) as problem:
        raise Failure(str(problem), Exit.USAGE) from None
    except Unreachable as problem:
        raise Failure(
            f"{problem}; is a broker running there? Name another with --brokers", Exit.UNREACHABLE
        ) from None
    except Refused as refusal:
        raise Failure(f"{refusal.detail} ({refusal.code.name})", exit_of(refusal.code)) from None


@contextmanager
def spark_session(context: Any, master: str, confs: tuple[str, ...]) -> Iterator[Any]:
    """A Spark for the pipeline; it is stopped in the end."""
    from millstream.pipeline.session import NoSpark, open_session

    settings = {**context.pipeline.spark, **dict(key_value(each, "--conf") for each in confs)}
    try:
        session = open_session(context.pipeline.name, master, settings)
    except NoSpark as problem:
        raise Failure(str(problem), Exit.CANNOT_START) from None
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[threading.Event]:
    """The first Ctrl-C, or SIGTERM, calls *stop* and sets the event; the second ends at once."""
    asked = threading.Event()

    def heard(_number: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        stop()

    before = {each: signal.signal(each, heard) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def progress(out: Output) -> Iterator[Callable[[list[Any]], None]]:
    """A bar a flow, if somebody is there to see it."""
    if not out.err.isatty() or out.format == "json":
        yield lambda states: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=out.err), refresh_per_second=4) as bars:
        tasks: dict[str, Any] = {}

        def show(states: list[Any]) -> None:
            for state in states:
                if state.flow not in tasks:
                    tasks[state.flow] = bars.add_task(state.flow, total=None, said=state.state)
                total = state.rows + state.lag
                bars.update(tasks[state.flow], completed=state.rows, total=total or None, said=said(state))

        yield show


def said(state: Any) -> str:
    """One line on how a flow is getting on."""
    if state.state == "waiting":
        return "waiting"
    words = [f"{state.rows:,} rows", f"{state.rows_per_second:,.0f}/s", f"lag {state.lag:,}"]
    if state.bad:
        words.append(f"[yellow]{state.bad:,} bad[/yellow]")
    return "  ".join(words)


def show_states(out: Output, states: list[Any]) -> None:
    """The end of a run: a row a flow."""
    table = Table(["flow", "state", "batch>", "rows>", "bad>", "lag>"])
    for each in states:
        bad = number(each.bad, "yellow" if each.bad else "")
        table.rows.append(
            [
                each.flow,
                Cell(each.state),
                number(each.batch if each.batch >= 0 else None),
                number(each.rows),
                bad,
                number(each.lag),
            ]
        )
    out.show([each.document() for each in states], table)
    for each in states:
        for check, count in each.warned.items():
            out.warn(f"flow {each.flow}: {count:,} records are not as expected: {check}")


def check_installed() -> None:
    """A Failure that says what to install, if Spark is not."""
    from importlib.util import find_spec

    for module in ("pyarrow", "pyiceberg", "pyspark"):
        if find_spec(module) is None:
            raise Failure('pipelines need Spark: pip install "millstream[spark]"', Exit.CANNOT_START)
