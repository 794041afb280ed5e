"""`millstream import`."""

import click

from millstream.cli.lazy import LazyGroup


@click.group(
    "import",
    cls=LazyGroup,
    lazy={
        "panda-q": ("millstream.cli.imports.pandaq:command", "A data folder of Panda-Q."),
        "tinymq": ("millstream.cli.imports.tinymq:command", "Log files of TinyMQ."),
    },
)
def group() -> None:
    """Read what another broker left on disk into topics.

    An import may be run again: what is there already is compared, and nothing
    is written twice.
    """
