"""`millstream topic trim`."""

from collections.abc import Sequence

import click

from millstream.cli import complete
from millstream.cli.exits import Exit
from millstream.cli.output import Output, Table, number
from millstream.cli.places import chosen_partitions, find_places, read_span
from millstream.cli.session import Session, cluster_options, confirm
from millstream.client.admin import Admin
from millstream.client.cluster import Client


@click.command("trim")
@click.argument("topic", shell_complete=complete.topics)
@click.option(
    "--before",
    required=True,
    metavar="OFFSET",
    help="Where to begin from now on: end, 100, -10, @-1h, @2026-05-01.",
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
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@cluster_options
def command(session: Session, topic: str, before: str, partitions: tuple[int, ...], yes: bool) -> int:
    """Delete the records of TOPIC that come before an offset or a time."""
    if read_span(before).stop is not None:
        raise click.UsageError(f"--before {before} is a range; give one place")
    return session.run(lambda client, out: run(client, out, topic, before, partitions=partitions, yes=yes))


async def run(
    client: Client, out: Output, topic: str, before: str, *, partitions: Sequence[int] = (), yes: bool = False
) -> int:
    """Delete what lies before *before* in each partition."""
    chosen = await chosen_partitions(client, topic, partitions)
    places = await find_places(client, before, chosen)
    gone = sum(place.span.first - place.low for place in places.values())
    confirm(out, f"Delete {gone:,} records of {topic}?", yes or gone == 0)
    starts = await Admin(client).trim({each: place.span.first for each, place in places.items()})
    table = Table(["partition>", "deleted>", "start>"])
    for partition, start in sorted(starts.items()):
        table.rows.append([partition.partition, number(start - places[partition].low), number(start)])
    document = [
        {"topic": topic, "partition": each.partition, "deleted": start - places[each].low, "start": start}
        for each, start in sorted(starts.items())
    ]
    out.show(document, table)
    return Exit.OK
