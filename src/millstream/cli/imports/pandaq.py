"""`millstream import panda-q`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from millstream.cli.exits import Exit, Failure
from millstream.cli.imports.common import import_options, parsed, run, show
from millstream.cli.output import Output
from millstream.cli.session import Session, cluster_options
from millstream.client.cluster import Client
from millstream.imports import pandaq
from millstream.imports.registrations import NotRegistered, Registrar
from millstream.imports.run import Imported
from millstream.imports.source import Damaged

READ_GROUP: Final = "panda-q"  # whose offsets the HTTP queue's readOffset is


@click.command("panda-q")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--admin",
    default="http://127.0.0.1:8080",
    show_default=True,
    envvar="MILLSTREAM_ADMIN",
    metavar="URL",
    help="The broker's admin API, which registers consumers.",
)
@click.option("--no-registrations", is_flag=True, help="Leave out who has which partition.")
@click.option(
    "--json", "parse_json", is_flag=True, help="Take content that is JSON as that value, not as its text."
)
@import_options
@cluster_options
def command(
    session: Session,
    folder: Path,
    admin: str,
    no_registrations: bool,
    parse_json: bool,
    only: tuple[str, ...],
    renames: tuple[str, ...],
    settings: tuple[str, ...],
) -> int:
    """Import FOLDER, Panda-Q's DATA_STORAGE_VOLUME, with read offsets and registrations.

    Stop Panda-Q first. Content is imported as Panda-Q itself would serve it
    after a restart: as text.

    \b
    millstream import panda-q ./pandaq-data
    """
    if not pandaq.is_folder(folder):
        raise Failure(f"{folder} is no data folder of Panda-Q: there is no {folder / 'topics'}", Exit.USAGE)
    try:
        source = pandaq.open_folder(folder, parse_json=parse_json)
    except Damaged as problem:
        raise Failure(str(problem), Exit.USAGE) from None

    async def begin(client: Client, out: Output) -> int:
        results = await run(
            client,
            out,
            source,
            renames=parsed(renames, "--rename"),
            configs=parsed(settings, "--set"),
            only=only,
            read_group=READ_GROUP,
        )
        if no_registrations:
            for each in results:
                each.consumer = ""
        try:
            await register(Registrar(admin, session.timeout), results)
        finally:
            show(out, source, results)
        return Exit.OK

    return session.run(begin)


async def register(registrar: Registrar, results: Sequence[Imported]) -> None:
    """Register the consumers of *results*, topic by topic; a topic that has some already keeps those."""
    by_topic: dict[str, dict[int, str]] = {}
    for each in results:
        if each.consumer:
            by_topic.setdefault(each.topic, {})[each.partition] = each.consumer
    for topic, consumers in by_topic.items():
        try:
            done = await registrar.register(topic, consumers)
        except NotRegistered as problem:
            raise Failure(
                f"records are imported, registrations are not: {problem}; run it again with --admin, "
                "or with --no-registrations to leave them out",
                Exit.UNREACHABLE,
            ) from None
        if not done:
            for each in results:
                if each.topic == topic:
                    each.consumer = ""
