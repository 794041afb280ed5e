"""`millstream import tinymq`."""

from pathlib import Path

import click

from millstream.cli.exits import Exit
from millstream.cli.imports.common import import_options, parsed, run, show
from millstream.cli.output import Output
from millstream.cli.session import Session, cluster_options
from millstream.client.cluster import Client
from millstream.imports import tinymq


@click.command("tinymq")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--partitions",
    "-p",
    multiple=True,
    metavar="TOPIC=N",
    help="How many partitions a topic has, if some were never written to; may be repeated.",
)
@import_options
@cluster_options
def command(
    session: Session,
    folder: Path,
    partitions: tuple[str, ...],
    only: tuple[str, ...],
    renames: tuple[str, ...],
    settings: tuple[str, ...],
) -> int:
    """Import FOLDER, which holds <topic>/partition-<n>.log.

    \b
    millstream import tinymq data/tinymq-demo
    millstream import tinymq data/tinymq-demo --partitions events=4
    """
    counts = {topic: _count(topic, text) for topic, text in parsed(partitions, "--partitions").items()}
    source = tinymq.open_folder(folder, counts)

    async def begin(client: Client, out: Output) -> int:
        results = await run(
            client,
            out,
            source,
            renames=parsed(renames, "--rename"),
            configs=parsed(settings, "--set"),
            only=only,
        )
        show(out, source, results)
        return Exit.OK

    return session.run(begin)


def _count(topic: str, text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise click.BadParameter(
            f"{text!r} is no number of partitions for {topic}", param_hint="--partitions"
        )
    return int(text)
