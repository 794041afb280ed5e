"""`millstream produce`."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, final

import click

from millstream.cli import complete
from millstream.cli.encoding import ENCODINGS
from millstream.cli.exits import Exit, Failure
from millstream.cli.incoming import InvalidLine, JsonLines, LineParser, PlainLines
from millstream.cli.output import Output, counted, size
from millstream.cli.session import Session, cluster_options, key_value
from millstream.cli.source import lines
from millstream.client.cluster import Client
from millstream.client.producer import Producer
from millstream.client.send_queue import Outcome
from millstream.records.compression import Codec

_ACKS: Final = {"0": 0, "1": 1, "all": -1}
_encodings = click.Choice(list(ENCODINGS))

Lines = AsyncIterator[list[bytes]]
Progress = Callable[[int], None]


@click.command("produce")
@click.argument("topic", shell_complete=complete.topics)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option(
    "--input",
    "-i",
    "input_",
    type=click.Choice(["lines", "json"]),
    default="lines",
    show_default=True,
    help="A value a line, or a JSON object a line with value, key, headers, partition, timestamp.",
)
@click.option(
    "--key-separator", "-K", metavar="TEXT", help="What stands before it in a line is the key; \\t is a tab."
)
@click.option("--key", "-k", help="The key of every record.")
@click.option(
    "--header", "-H", "headers", multiple=True, metavar="KEY=VALUE", help="A header for every record."
)
@click.option("--partition", "-p", type=click.IntRange(min=0), metavar="N", help="Write to this one only.")
@click.option(
    "--empty-as-null", is_flag=True, help="An empty key or value is null: in a compacted topic, a deletion."
)
@click.option(
    "--codec",
    "-z",
    type=click.Choice([each.name.lower() for each in Codec]),
    default="none",
    show_default=True,
    help="How to compress.",
)
@click.option(
    "--acks",
    "-a",
    type=click.Choice(list(_ACKS)),
    default="all",
    show_default=True,
    help="Whose word to wait for: nobody's, the leader's, all replicas'.",
)
@click.option(
    "--key-encoding", type=_encodings, default="utf-8", show_default=True, help="How JSON input writes keys."
)
@click.option(
    "--value-encoding",
    type=_encodings,
    default="utf-8",
    show_default=True,
    help="How JSON input writes values.",
)
@cluster_options
def command(
    session: Session,
    topic: str,
    file: str,
    input_: str,
    key_separator: str | None,
    key: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    empty_as_null: bool,
    codec: str,
    acks: str,
    key_encoding: str,
    value_encoding: str,
) -> int:
    """Write records to TOPIC: a line each, from FILE or the standard input.

    \b
    echo hello | millstream produce greetings
    millstream produce orders orders.csv --key-separator , --codec zstd
    millstream consume a --format json -e | millstream produce b --input json
    """
    given = tuple((name, value.encode()) for name, value in (key_value(each, "--header") for each in headers))
    parser: LineParser
    if input_ == "json":
        if key_separator is not None or key is not None or empty_as_null:
            raise click.UsageError("--key-separator, --key and --empty-as-null are for --input lines")
        parser = JsonLines(ENCODINGS[key_encoding], ENCODINGS[value_encoding], given)
    else:
        parser = PlainLines(
            separator=None if key_separator is None else _unescape(key_separator),
            key=None if key is None else key.encode(),
            headers=given,
            empty_is_null=empty_as_null,
        )

    async def begin(client: Client, out: Output) -> int:
        options: dict[str, Any] = {"acks": _ACKS[acks], "codec": Codec[codec.upper()], "partition": partition}
        with click.open_file(file, "rb") as source, _progress(out, source.fileno(), file) as advance:
            return await run(client, out, topic, lines(source.fileno()), parser, advance=advance, **options)

    return session.run(begin)


async def run(
    client: Client,
    out: Output,
    topic: str,
    source: Lines,
    parser: LineParser,
    *,
    partition: int | None = None,
    acks: int = -1,
    codec: Codec = Codec.NONE,
    advance: Progress = lambda _: None,
) -> int:
    """Send a record a line of *source*; print how many were delivered, to where."""
    tally = Tally()
    line_number = 0
    patience = client.patience
    async with Producer(
        client, acks=acks, codec=codec, delivery_timeout=patience, on_batch=tally.count
    ) as producer:
        async for some in source:
            for line in some:
                line_number += 1
                try:
                    record = parser.parse(line)
                except InvalidLine as problem:
                    raise Failure(f"line {line_number}: {problem}; {tally}", Exit.USAGE) from None
                where = record.partition if partition is None else partition
                await producer.post(topic, record.record, where)
            advance(sum(map(len, some)) + len(some))
            tally.check()
        await producer.flush()
        tally.check()
        total = producer.bytes_delivered
    document = {
        "topic": topic,
        "records": tally.records,
        "bytes": total,
        "partitions": dict(sorted(tally.partitions.items())),
    }
    out.say(document, f"{tally} to {topic} ({size(total).shown})")
    return Exit.OK


@final
class Tally:
    """Counts what was delivered, and keeps the first failure."""

    def __init__(self) -> None:
        self.partitions: Counter[int] = Counter()
        self._problem: Exception | None = None

    @property
    def records(self) -> int:
        return self.partitions.total()

    def count(self, outcome: Outcome) -> None:
        if outcome.problem is None:
            self.partitions[outcome.partition.partition] += outcome.records
        elif self._problem is None:
            self._problem = outcome.problem

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self._problem is not None:
            raise self._problem

    def __str__(self) -> str:
        return f"{counted(self.records, 'record')} delivered"


@contextmanager
def _progress(out: Output, fd: int, name: str) -> Iterator[Progress]:
    """A bar while a file is read, if somebody is there to see it."""
    length = os.fstat(fd).st_size
    if name == "-" or not length or not out.err.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=length, label=name, file=out.err) as bar:
        yield bar.update


def _unescape(text: str) -> bytes:
    return text.replace("\\t", "\t").replace("\\n", "\n").encode()
