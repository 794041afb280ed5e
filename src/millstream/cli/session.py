"""What every command that talks to a cluster shares: its options, and how its failures are told."""

import asyncio
import difflib
import functools
import ssl
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, final

import click

from millstream.cli.exits import Exit, Failure, exit_of, seen_enough
from millstream.cli.output import FORMATS, Output
from millstream.client.addresses import InvalidAddress
from millstream.client.cluster import Client
from millstream.client.topics import Topic
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused

Command = Callable[[Client, Output], Awaitable[int]]


@final
@dataclass(frozen=True)
class Session:
    """Which cluster, and how its answers are printed."""

    brokers: str
    format: str | None
    timeout: float
    tls: bool
    ca: str | None

    def run(self, command: Command) -> int:
        """Connect, do *command*, and return its exit code; what goes wrong becomes a `Failure`."""
        out = Output(sys.stdout, sys.stderr, self.format, ask=sys.stdin)
        try:
            return asyncio.run(self._run(command, out))
        except InvalidAddress as problem:
            raise click.BadParameter(str(problem), param_hint="--brokers") from None
        except Unreachable as problem:
            hint = "is a broker running there? Name another with --brokers"
            raise Failure(f"{problem}; {hint}", Exit.UNREACHABLE) from None
        except Refused as refusal:
            raise Failure(f"{refusal.detail} ({refusal.code.name})", exit_of(refusal.code)) from None
        except KeyboardInterrupt:
            # Here, as click would print an empty line for it even into a file.
            if sys.stderr.isatty():
                click.echo(err=True)
            return Exit.INTERRUPTED
        except BrokenPipeError:
            return seen_enough()

    async def _run(self, command: Command, out: Output) -> int:
        async with self.client() as client:
            return await command(client, out)

    def client(self) -> Client:
        """A client for this cluster."""
        return Client(
            self.brokers,
            client_id="millstream-cli",
            ssl=self._ssl(),
            timeout=self.timeout,
            patience=self.timeout,
        )

    def _ssl(self) -> ssl.SSLContext | None:
        if not self.tls and self.ca is None:
            return None
        return ssl.create_default_context(cafile=self.ca)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give *command* the options of every command on a cluster, as its first argument, a `Session`."""

    @click.option(
        "--brokers",
        "-b",
        default="127.0.0.1:9092",
        envvar="MILLSTREAM_BROKERS",
        metavar="HOST:PORT,...",
        help="Where the cluster is.  [env: MILLSTREAM_BROKERS; default: 127.0.0.1:9092]",
    )
    @click.option(
        "--format",
        "-o",
        type=click.Choice(FORMATS),
        help="How to print: a table on a terminal, tab-separated in a pipe, JSON on request.",
    )
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for the cluster.",
    )
    @click.option("--tls", is_flag=True, envvar="MILLSTREAM_TLS", help="Connect by TLS.")
    @click.option(
        "--ca",
        type=click.Path(exists=True, dir_okay=False),
        envvar="MILLSTREAM_CA",
        help="Certificates to trust; implies --tls.",
    )
    @functools.wraps(command)
    def with_session(
        *args: Any, brokers: str, format: str | None, timeout: float, tls: bool, ca: str | None, **kwargs: Any
    ) -> Any:
        return command(Session(brokers, format, timeout, tls, ca), *args, **kwargs)

    return with_session


async def existing_topic(client: Client, name: str) -> Topic:
    """Topic *name*; a `Failure` that names the likeliest other if there is none."""
    try:
        return await client.topic(name)
    except Refused as refusal:
        if refusal.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
    names = [each.name for each in (await client.metadata(None)).topics.values() if not each.internal]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "'millstream topic list' shows what is there"
    raise Failure(f"no topic {name!r}; {hint}")


def confirm(out: Output, question: str, yes: bool) -> None:
    """Go on only if *yes*, or if whoever sits at the terminal agrees."""
    agreed = yes or out.agrees(question)
    if agreed is None:
        raise Failure(f"not done, as nobody is there to agree: {question} Add --yes", Exit.USAGE)
    if not agreed:
        raise Failure("nothing was changed")


def key_value(text: str, option: str) -> tuple[str, str]:
    """*text* as key and value."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.BadParameter(f"{text!r} is not of the form key=value", param_hint=option)
    return key, value
