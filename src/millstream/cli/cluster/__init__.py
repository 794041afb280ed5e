"""`millstream cluster`."""

import click

from millstream.cli.lazy import LazyGroup


@click.group(
    "cluster",
    cls=LazyGroup,
    lazy={
        "info": ("millstream.cli.cluster.info:command", "The brokers and what they hold."),
        "health": ("millstream.cli.cluster.health:command", "Exit with 1 unless every partition is well."),
    },
)
def group() -> None:
    """Who is in the cluster, and whether it is well."""
