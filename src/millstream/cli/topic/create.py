"""`millstream topic create`."""

from collections.abc import Mapping, Sequence

import click

from millstream.cli.exits import Exit
from millstream.cli.output import Output
from millstream.cli.session import Session, cluster_options, key_value
from millstream.client.admin import Admin
from millstream.client.cluster import Client
from millstream.errors import ErrorCode, Refused


@click.command("create")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--partitions", "-p", type=click.IntRange(min=1), metavar="N", help="How many.  [default: the cluster's]"
)
@click.option(
    "--replicas",
    "-r",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many copies.  [default: the cluster's]",
)
@click.option(
    "--set", "-s", "settings", multiple=True, metavar="KEY=VALUE", help="A setting, such as retention.ms=-1."
)
@click.option("--if-missing", is_flag=True, help="Do not mind if it exists.")
@click.option("--dry-run", is_flag=True, help="Only check whether it could be created.")
@cluster_options
def command(
    session: Session,
    names: tuple[str, ...],
    partitions: int | None,
    replicas: int | None,
    settings: tuple[str, ...],
    if_missing: bool,
    dry_run: bool,
) -> int:
    """Create topics NAME..."""
    configs = dict(key_value(each, "--set") for each in settings)
    return session.run(
        lambda client, out: run(
            client,
            out,
            names,
            partitions=partitions or -1,
            replicas=replicas or -1,
            configs=configs,
            if_missing=if_missing,
            dry_run=dry_run,
        )
    )


async def run(
    client: Client,
    out: Output,
    names: Sequence[str],
    *,
    partitions: int = -1,
    replicas: int = -1,
    configs: Mapping[str, str] | None = None,
    if_missing: bool = False,
    dry_run: bool = False,
) -> int:
    """Create each of *names*; the first that is refused ends it."""
    for name in names:
        created = True
        try:
            await Admin(client).create_topic(
                name,
                partitions=partitions,
                replication_factor=replicas,
                configs=configs,
                validate_only=dry_run,
            )
        except Refused as refusal:
            if not (if_missing and refusal.code is ErrorCode.TOPIC_ALREADY_EXISTS):
                raise
            created = False
        said = "exists" if not created else "could be created" if dry_run else "created"
        out.say({"topic": name, "created": created and not dry_run}, f"{name}: {said}")
    return Exit.OK
