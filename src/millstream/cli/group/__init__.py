"""`millstream group`."""

import click

from millstream.cli.lazy import LazyGroup


@click.group(
    "group",
    cls=LazyGroup,
    lazy={
        "list": ("millstream.cli.group.list:command", "All groups."),
        "describe": ("millstream.cli.group.describe:command", "Members, offsets and lag of groups."),
        "reset": ("millstream.cli.group.reset:command", "Make a group go on from elsewhere."),
        "delete": ("millstream.cli.group.delete:command", "Delete groups and what they remember."),
    },
)
def group() -> None:
    """List, describe, reset and delete consumer groups."""
