"""`millstream consume`."""

from collections.abc import Sequence
from typing import Final

import click

from millstream.cli import complete
from millstream.cli.encoding import ENCODINGS
from millstream.cli.exits import Exit
from millstream.cli.offsets import End, Start
from millstream.cli.output import Output
from millstream.cli.places import chosen_partitions, find_places, read_span
from millstream.cli.printing import Printer, printer
from millstream.cli.remaining import Remaining
from millstream.cli.session import Session, cluster_options
from millstream.cli.template import InvalidTemplate
from millstream.client.cluster import Client
from millstream.client.consumer import Consumer, Reset
from millstream.client.fetcher import FetchConfig

_BATCH: Final = 1000
_POLL_SECONDS: Final = 0.5
_encodings = click.Choice(list(ENCODINGS))


@click.command("consume")
@click.argument("topic", shell_complete=complete.topics)
@click.option(
    "--offset",
    "-O",
    metavar="OFFSET",
    help="Where to begin, and perhaps to stop; see below.  [default: start]",
)
@click.option(
    "--partition",
    "-p",
    "partitions",
    multiple=True,
    type=click.IntRange(min=0),
    metavar="N",
    help="Only this one.",
)
@click.option(
    "--group",
    "-g",
    help="Read as a member of this group, which remembers how far it got; --offset start or end says "
    "where a new group begins.",
    shell_complete=complete.groups,
)
@click.option("--count", "-n", type=click.IntRange(min=1), metavar="N", help="End after so many records.")
@click.option(
    "--follow/--no-follow",
    " /-e",
    default=True,
    help="Wait for new records, or exit at the end.  [default: follow]",
)
@click.option("--template", "-t", metavar="TEXT", help="How to print a record; see below.")
@click.option(
    "--key-encoding", type=_encodings, default="utf-8", show_default=True, help="How to print keys."
)
@click.option(
    "--value-encoding", type=_encodings, default="utf-8", show_default=True, help="How to print values."
)
@click.option("--committed", is_flag=True, help="Leave out what belongs to open or aborted transactions.")
@cluster_options
def command(
    session: Session,
    topic: str,
    offset: str | None,
    partitions: tuple[int, ...],
    group: str | None,
    count: int | None,
    follow: bool,
    template: str | None,
    key_encoding: str,
    value_encoding: str,
    committed: bool,
) -> int:
    """Read the records of TOPIC.

    \b
    OFFSET
      start, end         the oldest record, or only what is new
      100                that offset
      -10                the last ten of each partition; +10 all but the first ten
      @-1h, @-2d12h      so long ago; also @2026-05-01, @2026-05-01T12:00Z (UTC), @1777636800000 (ms)
      100:200, @-2h:-1h  from the first up to, not including, the second

    \b
    TEMPLATE
      %v value   %k key   %h headers   %t topic   %p partition   %o offset
      %T timestamp in ms  %D as a date  %V %K sizes  %% percent   \\n \\t \\r \\0 \\\\ \\x41

    Prints values alone in a pipe, and JSON lines with --format json.
    """
    read_span(offset or "start")  # complain before anything is connected
    if group is not None and partitions:
        raise click.UsageError("a group shares partitions out by itself: leave out --group or --partition")
    try:
        printer("plain", template, key_encoding, value_encoding)
    except InvalidTemplate as problem:
        raise click.BadParameter(str(problem), param_hint="--template") from None

    async def begin(client: Client, out: Output) -> int:
        how = printer(out.format, template, key_encoding, value_encoding, colour=out.colour)
        fetch = FetchConfig(committed_only=committed)
        if group is not None:
            return await run_group(
                client, out, topic, group, how, offset=offset, count=count, follow=follow, fetch=fetch
            )
        return await run(
            client,
            out,
            topic,
            how,
            offset=offset or "start",
            partitions=partitions,
            count=count,
            follow=follow,
            fetch=fetch,
        )

    return session.run(begin)


async def run(
    client: Client,
    out: Output,
    topic: str,
    how: Printer,
    *,
    offset: str = "start",
    partitions: Sequence[int] = (),
    count: int | None = None,
    follow: bool = True,
    fetch: FetchConfig | None = None,
) -> int:
    """Print what lies in the span that *offset* means, in each of *partitions*."""
    chosen = await chosen_partitions(client, topic, partitions)
    committed_only = fetch is not None and fetch.committed_only
    places = await find_places(client, offset, chosen, committed_only=committed_only)
    remaining = Remaining(places, count=count, follow=follow)
    async with Consumer(client, reset="earliest", fetch=fetch) as consumer:
        consumer.assign({each: place.span.first for each, place in places.items()})
        while True:
            consumer.release(remaining.finished(consumer.positions()))
            if remaining.done(places):
                return Exit.OK
            await _print_some(consumer, out, how, remaining)


async def run_group(
    client: Client,
    out: Output,
    topic: str,
    group: str,
    how: Printer,
    *,
    offset: str | None = None,
    count: int | None = None,
    follow: bool = True,
    fetch: FetchConfig | None = None,
) -> int:
    """Print what *group* has not read yet, as one of its members."""
    first = Start() if offset is None else read_span(offset).first
    if first not in (Start(), End()):
        raise click.UsageError("with --group, --offset is start or end: where a group that is new begins")
    chosen = await chosen_partitions(client, topic, ())
    committed_only = fetch is not None and fetch.committed_only
    everything = await find_places(client, "start", chosen, committed_only=committed_only)
    remaining = Remaining(everything, count=count, follow=follow)
    reset: Reset = "earliest" if first == Start() else "latest"
    async with Consumer(client, group=group, topics=[topic], reset=reset, fetch=fetch) as consumer:
        while True:
            await _print_some(consumer, out, how, remaining)
            remaining.finished(consumer.positions())
            if remaining.done(consumer.assignment):
                return Exit.OK


async def _print_some(consumer: Consumer, out: Output, how: Printer, remaining: Remaining) -> None:
    for record in await consumer.poll(_POLL_SECONDS, remaining.most(_BATCH)):
        if remaining.wants(record):
            out.write(how.render(record))
    out.flush()
