"""`millstream group list`."""

from typing import Final

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Cell, Output, Table
from millstream.cli.session import Session, cluster_options
from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client

_STYLES: Final = {"Stable": "green", "Empty": "dim", "Dead": "red"}


@click.command("list")
@cluster_options
def command(session: Session) -> int:
    """All groups, with their state and coordinator."""
    return session.run(run)


async def run(client: Client, out: Output) -> int:
    """Print a line a group."""
    groups = await GroupAdmin(client).groups()
    table = Table(["group", "state", "type", "protocol", "coordinator>"])
    for each in groups:
        table.rows.append(
            [each.id, state(each.state), each.kind or "-", each.protocol_type or "-", each.coordinator]
        )
    document = [
        {
            "group": each.id,
            "state": each.state,
            "type": each.kind,
            "protocol_type": each.protocol_type,
            "coordinator": each.coordinator,
        }
        for each in groups
    ]
    out.show(document, table)
    if not groups:
        out.note("No groups: a consumer makes one when it first joins.")
    return Exit.OK


def state(name: str) -> Cell:
    """A group's state, coloured by whether it is at rest."""
    return Cell(name or "-", style=_STYLES.get(name, "yellow"))
