"""What the imports share: options, the progress bar, and the table at the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from millstream.cli.exits import Exit, Failure
from millstream.cli.output import Cell, Output, Table, counted, number
from millstream.cli.session import key_value
from millstream.client.cluster import Client
from millstream.imports.run import Different, Import, Imported
from millstream.imports.source import Damaged, Source

_KEEP_ALL: Final = {"retention.ms": "-1"}  # neither Panda-Q nor TinyMQ ever deletes anything


def import_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give *command* the options of every import."""
    command = click.option(
        "--topic", "-t", "only", multiple=True, metavar="NAME", help="Only this topic; may be repeated."
    )(command)
    command = click.option(
        "--rename",
        "renames",
        multiple=True,
        metavar="OLD=NEW",
        help="Import a topic under another name; may be repeated.",
    )(command)
    return click.option(
        "--set",
        "-s",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of topics that are created; may be repeated.  [default: retention.ms=-1]",
    )(command)


def parsed(pairs: tuple[str, ...], option: str) -> dict[str, str]:
    return dict(key_value(each, option) for each in pairs)


async def run(
    client: Client,
    out: Output,
    source: Source,
    *,
    renames: Mapping[str, str],
    configs: Mapping[str, str],
    only: tuple[str, ...] = (),
    read_group: str | None = None,
) -> list[Imported]:
    """Import the topics of *source*; what became of each partition."""
    wanted = [topic for topic in source.topics if not only or topic.name in only]
    missing = sorted({*only, *renames} - {topic.name for topic in source.topics})
    if missing:
        there = ", ".join(topic.name for topic in source.topics)
        raise Failure(f"no topic {missing[0]!r} in the source; it has {there or 'none'}")
    if not wanted:
        raise Failure("no topics found: is this the right folder?")
    total = sum(each.size_bytes for topic in wanted for each in topic.partitions)
    results: list[Imported] = []
    with _progress(out, total) as advance:
        importing = Import(client, {**_KEEP_ALL, **configs}, advance)
        for topic in wanted:
            try:
                results += await importing.topic(topic, renames.get(topic.name, topic.name), read_group)
            except (Damaged, Different) as problem:
                raise Failure(f"{problem} ({_so_far(results)})", Exit.REFUSED) from None
    return results


def show(out: Output, source: Source, results: list[Imported]) -> None:
    """Print a row a partition, then what is worth knowing besides."""
    columns = ["topic", "partition>", "written>", "already there>", "read to>", "registered to"]
    rows: list[Sequence[object]] = [
        [
            each.topic,
            each.partition,
            number(each.written),
            number(each.present),
            number(each.read_offset),
            Cell(each.consumer or None),
        ]
        for each in results
    ]
    document = {
        "partitions": [vars(each) for each in results],
        "written": sum(each.written for each in results),
        "notes": source.notes,
    }
    out.show(document, Table(columns, rows))
    for note in source.notes:
        out.warn(note)
    out.note(_so_far(results))


def _so_far(results: list[Imported]) -> str:
    written = sum(each.written for each in results)
    return f"{counted(written, 'record')} imported"


@contextmanager
def _progress(out: Output, total: int) -> Iterator[Callable[[int], None]]:
    """A bar, if somebody is there to see it."""
    if not total or not out.err.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=total, label="importing", file=out.err) as bar:
        yield bar.update
