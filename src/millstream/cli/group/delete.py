"""`millstream group delete`."""

from collections.abc import Sequence

import click

from millstream.cli import complete
from millstream.cli.exits import Exit
from millstream.cli.output import Output
from millstream.cli.session import Session, cluster_options, confirm
from millstream.client.admin_groups import GroupAdmin
from millstream.client.cluster import Client


@click.command("delete")
@click.argument("names", metavar="GROUP...", nargs=-1, required=True, shell_complete=complete.groups)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@cluster_options
def command(session: Session, names: tuple[str, ...], yes: bool) -> int:
    """Delete groups GROUP..., which must have no members, and how far they have read."""
    return session.run(lambda client, out: run(client, out, names, yes=yes))


async def run(client: Client, out: Output, names: Sequence[str], *, yes: bool = False) -> int:
    """Delete *names*, all of which must exist before the first is touched."""
    admin = GroupAdmin(client)
    for name in names:
        await admin.describe(name)
    confirm(out, f"Delete group {', '.join(names)}?", yes)
    for name in names:
        await admin.delete(name)
        out.say({"group": name, "deleted": True}, f"{name}: deleted")
    return Exit.OK
