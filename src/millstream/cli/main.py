"""The entry: finds the command, runs it, and turns what went wrong into one line and an exit code."""

import os
import sys
from typing import Any, NoReturn

import click

from millstream.cli.exits import EPILOG, Exit, Failure, seen_enough
from millstream.cli.lazy import LazyGroup


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"millstream {version('millstream')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    name="millstream",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    lazy={
        "serve": ("millstream.cli.serve:command", "Run a broker on this machine."),
        "topic": ("millstream.cli.topic:group", "List, create, describe, alter, trim and delete topics."),
        "produce": ("millstream.cli.produce:command", "Write records to a topic, from lines or JSON."),
        "consume": ("millstream.cli.consume:command", "Read records of a topic."),
        "group": ("millstream.cli.group:group", "List, describe, reset and delete consumer groups."),
        "cluster": ("millstream.cli.cluster:group", "Who is in the cluster, and whether it is well."),
        "pipeline": (
            "millstream.pipeline.commands:group",
            "Topics and tables, made by Spark: run, status, replay.",
        ),
        "tinymq": ("millstream.cli.tinymq:commands", "Read a topic by way of the JSON lines door."),
        "import": ("millstream.cli.imports:group", "Read what Panda-Q or TinyMQ left on disk into topics."),
        "completion": ("millstream.cli.completion:command", "Print the completion script for your shell."),
    },
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """Millstream: event streaming that speaks the Kafka protocol.

    Every command but `serve` works with any Kafka cluster: name it with
    --brokers or in MILLSTREAM_BROKERS.
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line; the process ends with an exit code of `Exit`."""
    sys.exit(run(args))


def run(args: list[str] | None = None, **extra: Any) -> int:
    """What `main` does, with the exit code returned."""
    try:
        code = cli.main(args=args, prog_name="millstream", standalone_mode=False, color=_colour(), **extra)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as help:
        click.echo(help.ctx.get_help() if help.ctx else "", err=True)
        return Exit.USAGE
    except click.UsageError as problem:
        where = problem.ctx.command_path if problem.ctx else "millstream"
        return _fail(f"{problem.format_message().rstrip('.')} (see '{where} --help')", Exit.USAGE)
    except click.ClickException as problem:
        return _fail(problem.format_message(), Exit.USAGE)
    except Failure as failure:
        return _fail(str(failure), failure.code)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return seen_enough()
    return code if isinstance(code, int) else Exit.OK


def _fail(message: str, code: Exit) -> int:
    click.echo(f"{click.style('error:', fg='red', bold=True)} {message}", err=True, color=_colour())
    return code


def _colour() -> bool | None:
    """No colour where the user wants none (no-color.org); else click sees whether a terminal is there."""
    return False if os.environ.get("NO_COLOR") else None
