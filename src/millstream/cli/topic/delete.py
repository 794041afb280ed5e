"""`millstream topic delete`."""

from collections.abc import Sequence

import click

from millstream.cli import complete
from millstream.cli.exits import Exit
from millstream.cli.output import Output
from millstream.cli.session import Session, cluster_options, confirm, existing_topic
from millstream.client.admin import Admin
from millstream.client.cluster import Client


@click.command("delete")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete.topics)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@cluster_options
def command(session: Session, names: tuple[str, ...], yes: bool) -> int:
    """Delete topics NAME... and all their records."""
    return session.run(lambda client, out: run(client, out, names, yes=yes))


async def run(client: Client, out: Output, names: Sequence[str], *, yes: bool = False) -> int:
    """Delete *names*, all of which must exist before the first is touched."""
    for name in names:
        await existing_topic(client, name)
    confirm(out, f"Delete {', '.join(names)} and all records in {'it' if len(names) == 1 else 'them'}?", yes)
    for name in names:
        await Admin(client).delete_topic(name)
        out.say({"topic": name, "deleted": True}, f"{name}: deleted")
    return Exit.OK
