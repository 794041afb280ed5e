"""`millstream topic`."""

import click

from millstream.cli.lazy import LazyGroup


@click.group(
    "topic",
    cls=LazyGroup,
    lazy={
        "list": ("millstream.cli.topic.list:command", "All topics."),
        "create": ("millstream.cli.topic.create:command", "Create topics."),
        "describe": (
            "millstream.cli.topic.describe:command",
            "Leaders, offsets, sizes and settings of topics.",
        ),
        "alter": ("millstream.cli.topic.alter:command", "Add partitions, change settings."),
        "trim": ("millstream.cli.topic.trim:command", "Delete the oldest records."),
        "delete": ("millstream.cli.topic.delete:command", "Delete topics and all their records."),
    },
)
def group() -> None:
    """List, create, describe, alter, trim and delete topics."""
