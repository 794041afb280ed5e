"""`millstream topic alter`."""

from collections.abc import Mapping, Sequence

import click

from millstream.cli import complete
from millstream.cli.exits import Exit
from millstream.cli.output import Output
from millstream.cli.session import Session, cluster_options, existing_topic, key_value
from millstream.client.admin import Admin
from millstream.client.cluster import Client


@click.command("alter")
@click.argument("topic", shell_complete=complete.topics)
@click.option(
    "--partitions", "-p", type=click.IntRange(min=1), metavar="N", help="How many in all; they can only grow."
)
@click.option("--set", "-s", "settings", multiple=True, metavar="KEY=VALUE", help="Change a setting.")
@click.option("--unset", "-u", multiple=True, metavar="KEY", help="Let a setting fall back to the cluster's.")
@cluster_options
def command(
    session: Session, topic: str, partitions: int | None, settings: tuple[str, ...], unset: tuple[str, ...]
) -> int:
    """Give TOPIC more partitions, or change its settings."""
    if partitions is None and not settings and not unset:
        raise click.UsageError("nothing to change: give --partitions, --set or --unset")
    configs = dict(key_value(each, "--set") for each in settings)
    return session.run(
        lambda client, out: run(client, out, topic, partitions=partitions, set=configs, unset=unset)
    )


async def run(
    client: Client,
    out: Output,
    topic: str,
    *,
    partitions: int | None = None,
    set: Mapping[str, str] | None = None,
    unset: Sequence[str] = (),
) -> int:
    """Settings first: the cluster may refuse them, and partitions cannot be taken back."""
    admin = Admin(client)
    await existing_topic(client, topic)
    done: dict[str, object] = {"topic": topic}
    said: list[str] = []
    if set or unset:
        await admin.alter_topic_configs(topic, set or {}, unset)
        done |= {"set": dict(set or {}), "unset": list(unset)}
        said += [f"{key}={value}" for key, value in (set or {}).items()] + [f"{key} unset" for key in unset]
    if partitions is not None:
        await admin.grow_topic(topic, partitions)
        done["partitions"] = partitions
        said.append(f"{partitions} partitions")
    out.say(done, f"{topic}: {', '.join(said)}")
    return Exit.OK
