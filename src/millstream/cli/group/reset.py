"""`millstream group reset`."""

from collections.abc import Sequence

import click

from millstream.cli import complete
from millstream.cli.exits import Exit, Failure
from millstream.cli.output import Cell, Output, Table, counted, number
from millstream.cli.places import chosen_partitions, find_places, read_span
from millstream.cli.session import Session, cluster_options, confirm
from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client
from millstream.client.topics import TopicPartition
from millstream.errors import ErrorCode, Refused


@click.command("reset")
@click.argument("group", shell_complete=complete.groups)
@click.option(
    "--offset",
    "-O",
    required=True,
    metavar="OFFSET",
    help="Where to go on: start, end, 100, -10, @-1h, @2026-05-01T12:00Z.",
)
@click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    metavar="TOPIC[:0,1,...]",
    shell_complete=complete.topics,
    help="Only this topic, or these partitions of it.  [default: all that the group has read]",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@cluster_options
def command(
    session: Session, group: str, offset: str, topics: tuple[str, ...], dry_run: bool, yes: bool
) -> int:
    """Make GROUP go on from somewhere else when it next starts.

    The group must have no members meanwhile. A group that does not exist yet
    is made, if topics are named.
    """
    if read_span(offset).stop is not None:
        raise click.UsageError(f"--offset {offset} is a range; a group goes on from one place")
    wanted = [_topic(each) for each in topics]
    return session.run(lambda client, out: run(client, out, group, offset, wanted, dry_run=dry_run, yes=yes))


async def run(
    client: Client,
    out: Output,
    group: str,
    offset: str,
    topics: Sequence[tuple[str, list[int]]] = (),
    *,
    dry_run: bool = False,
    yes: bool = False,
) -> int:
    """Show from where to where each partition moves, and move it if that is agreed to."""
    admin = GroupAdmin(client)
    committed = await admin.offsets(group)
    partitions = sorted(committed)
    if topics:
        partitions = [
            each for name, chosen in topics for each in await chosen_partitions(client, name, chosen)
        ]
    if not partitions:
        raise Failure(f"group {group!r} has read nothing yet; name topics with --topic")
    await _check_empty(admin, group)
    places = await find_places(client, offset, partitions)
    target = {each: place.span.first for each, place in places.items()}
    out.show(*_plan(committed, target))
    if not dry_run:
        confirm(out, f"Reset group {group}?", yes)
        await admin.set_offsets(group, target)
        out.note(f"Group {group} goes on from there.")
    return Exit.OK


async def _check_empty(admin: GroupAdmin, group: str) -> None:
    """A group with members would only overwrite what we set."""
    try:
        found = await admin.describe(group)
    except Refused as refusal:
        if refusal.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return
    if found.members:
        raise Failure(
            f"group {group!r} is {found.state} with {counted(len(found.members), 'member')}; stop them first",
            Exit.REFUSED,
        )


def _plan(
    committed: dict[TopicPartition, int], target: dict[TopicPartition, int]
) -> tuple[list[dict[str, object]], Table]:
    table = Table(["topic", "partition>", "from>", "to>", "by>"])
    document: list[dict[str, object]] = []
    for each, offset in sorted(target.items()):
        before = committed.get(each)
        moved = None if before is None else offset - before
        by = Cell(None) if moved is None else Cell(moved, f"{moved:+,}" if moved else "0")
        table.rows.append([each.topic, each.partition, number(before), number(offset), by])
        document.append({"topic": each.topic, "partition": each.partition, "from": before, "to": offset})
    return document, table


def _topic(text: str) -> tuple[str, list[int]]:
    name, _, rest = text.partition(":")
    if not all(each.isdecimal() for each in rest.split(",") if rest):
        raise click.BadParameter(f"{text!r} is not of the form topic or topic:0,1", param_hint="--topic")
    return name, [int(each) for each in rest.split(",")] if rest else []
