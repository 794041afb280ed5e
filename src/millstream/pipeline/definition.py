"""What a pipeline is: flows from topics and tables into a topic or a table. Values; nothing runs here."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, final

Otherwise = Literal["warn", "drop", "fail"]
Mode = Literal["append", "update"]
Watermark = tuple[str, str]

OTHERWISE: Final = ("drop", "warn", "fail")
MODES: Final = ("append", "update")
KINDS: Final = ("iceberg", "delta")
PLAIN: Final = ("binary", "string", "int", "bigint", "double", "boolean")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_TABLE: Final = re.compile(r"\w+(\.\w+)+")


class InvalidPipeline(ValueError):
    """A definition that cannot be run; the message says where, and what to write instead."""


@final
@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic to read or to write, and what its values are.

    *json* is a schema in Spark's words (`id string, amount double not null`);
    *avro* a schema or the file that has it; *protobuf* names a
    file of descriptors and a message (`orders.desc#shop.Order`); *plain* a
    simple type. Of a source: *start* says where a new pipeline begins,
    *watermark* how late a time may be, *dedupe* which columns tell records
    apart. Of a sink: *key* is the column that becomes the key.
    """

    name: str
    json: str | None = None
    avro: str | None = None
    protobuf: str | None = None
    plain: str | None = None
    confluent: bool = False
    headers: bool = False
    start: str | None = None
    watermark: Watermark | None = None
    dedupe: tuple[str, ...] = ()
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def format(self) -> str:
        """Which of the four its values are in."""
        given = [name for name in ("json", "avro", "protobuf", "plain") if getattr(self, name) is not None]
        return given[0] if given else ""

    def __str__(self) -> str:
        return f"topic {self.name}"


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """A lake table, `namespace.name`, to read or to write.

    Of a source: rows are taken as they are added if *stream*, or else all that
    are there, anew for each batch of the flow's stream. Of a sink: a row takes
    the place of the one with the same *key*, if one is given, unless that is
    greater in the column *sequence_by*; a table that is made is partitioned by
    *partition_by*, such as `day(ts)`, and of a *kind*.
    """

    name: str
    key: tuple[str, ...] = ()
    sequence_by: str | None = None
    partition_by: tuple[str, ...] = ()
    kind: str = "iceberg"
    stream: bool | None = None
    watermark: Watermark | None = None
    dedupe: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"table {self.name}"


End = Topic | Table


@final
@dataclass(frozen=True)
class Expectation:
    """That *check* is true of a record; *otherwise* says what becomes of one of which it is not."""

    check: str
    otherwise: Otherwise = "drop"


@final
@dataclass(frozen=True, kw_only=True)
class Flow:
    """From *sources*, by name, through *make*, *into* one place."""

    name: str
    sources: Mapping[str, End]
    into: End
    make: Callable[..., Any]
    expect: tuple[Expectation, ...] = ()
    bad_records: str
    mode: Mode = "append"
    every: str

    @property
    def topics(self) -> dict[str, Topic]:
        """The sources that are topics, by name."""
        return {name: each for name, each in self.sources.items() if isinstance(each, Topic)}

    @property
    def streams(self) -> dict[str, End]:
        """The sources that are read as they grow: topics, and tables unless they stand beside a topic."""
        found: dict[str, End] = dict(self.topics)
        for name, each in self.sources.items():
            if isinstance(each, Table) and (
                each.stream if each.stream is not None else len(self.sources) == 1
            ):
                found[name] = each
        return found


@final
class Pipeline:
    """Flows that run together, under a *name* that the cluster knows them by as a consumer group.

    Tables lie in *warehouse*, a folder or a URL; *catalog* gives pyiceberg's
    properties of a catalog other than the SQLite file there. What Spark must
    remember lies in *checkpoints*, by default beside the tables. Paths are
    relative to the file that defines the pipeline. *options* are `kafka.*`
    options for every topic, *spark* is Spark's configuration, *batch* the most
    records of a topic that one batch takes.
    """

    def __init__(
        self,
        name: str,
        *,
        brokers: str | None = None,
        warehouse: str = "warehouse",
        catalog: Mapping[str, str] | None = None,
        checkpoints: str | None = None,
        bad_records: str | None = None,
        batch: int = 1_000_000,
        options: Mapping[str, str] | None = None,
        spark: Mapping[str, str] | None = None,
        folder: str | Path | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidPipeline(f"pipeline {name!r}: a name is of letters, digits, '-' and '_'")
        if batch < 1:
            raise InvalidPipeline(f"pipeline {name!r}: batch is {batch}; a batch takes at least one record")
        for option in options or {}:
            if not option.startswith("kafka."):
                raise InvalidPipeline(
                    f"pipeline {name!r}: option {option!r} is not of 'kafka.': set it at a topic"
                )
        self.name = name
        self.brokers = brokers
        self.warehouse = warehouse
        self.catalog = catalog
        self.checkpoints = checkpoints
        self.bad_records = checked_table(bad_records or f"lake.{re.sub(r'[^A-Za-z0-9]', '_', name)}_bad")
        self.batch = batch
        self.options = dict(options or {})
        self.spark = dict(spark or {})
        self.folder = None if folder is None else Path(folder)
        self.flows: dict[str, Flow] = {}

    def flow(
        self,
        *,
        source: End | Mapping[str, End],
        into: End,
        expect: str | Iterable[str] | Mapping[str, str] = (),
        bad_records: str | None = None,
        mode: str = "append",
        every: str | None = None,
        name: str | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare that the function makes, of the DataFrames of *source*, the DataFrame that goes *into*.

        One source is its only argument; several, in a mapping, are its
        arguments by name. *expect* are checks in SQL, each with what to do
        about a record of which it is not true: `drop` it to the bad records,
        `warn`, or `fail`. *mode* and *every* are Spark's output mode and the
        time between two batches.
        """

        def declare(make: Callable[..., Any]) -> Callable[..., Any]:
            self.add(
                name or make.__name__,
                source,
                into,
                make,
                expect=expect,
                bad_records=bad_records,
                mode=mode,
                every=every,
            )
            return make

        return declare

    def add(
        self,
        name: str,
        source: End | Mapping[str, End],
        into: End,
        make: Callable[..., Any],
        *,
        expect: str | Iterable[str] | Mapping[str, str] = (),
        bad_records: str | None = None,
        mode: str = "append",
        every: str | None = None,
    ) -> None:
        """What the decorator does, as a plain call."""
        where = f"flow {name!r}"
        if name in self.flows:
            raise InvalidPipeline(f"{where}: there is one of that name already")
        if not _NAME.fullmatch(name):
            raise InvalidPipeline(f"{where}: a name is of letters, digits, '-' and '_'")
        one = isinstance(source, Topic | Table)
        sources = {_view_name(source): source} if isinstance(source, Topic | Table) else dict(source)
        for each in sources.values():
            _check_source(where, each)
        _check_sink(where, into)
        flow = Flow(
            name=name,
            sources=sources,
            into=into,
            make=_single(make) if one else _by_name(where, make, sources),
            expect=_expectations(where, expect),
            bad_records=checked_table(bad_records or self.bad_records),
            mode=_choice(where, "mode", mode, MODES),
            every=every or ("10 seconds" if isinstance(into, Table) else "0 seconds"),
        )
        if not flow.streams:
            raise InvalidPipeline(
                f"{where}: none of its sources is a stream: set stream on one of the tables"
            )
        if flow.mode == "update" and isinstance(into, Table) and not into.key:
            raise InvalidPipeline(f"{where}: a table without a key takes mode append only")
        self.flows[name] = flow


def topic(
    name: str,
    *,
    watermark: str | Watermark | None = None,
    dedupe: str | Iterable[str] = (),
    options: Mapping[str, str] | None = None,
    **others: Any,
) -> Topic:
    """A topic as a source or a sink: see `Topic` for what may be said of it."""
    return Topic(
        name=name,
        watermark=_watermark(f"topic {name}", watermark),
        dedupe=_names(dedupe),
        options=dict(options or {}),
        **others,
    )


def table(
    name: str,
    *,
    key: str | Iterable[str] = (),
    sequence_by: str | None = None,
    partition_by: str | Iterable[str] = (),
    kind: str = "iceberg",
    stream: bool | None = None,
    watermark: str | Watermark | None = None,
    dedupe: str | Iterable[str] = (),
) -> Table:
    """A table as a source or a sink: see `Table` for what may be said of it."""
    return Table(
        name=checked_table(name),
        key=_names(key),
        sequence_by=sequence_by,
        partition_by=_names(partition_by),
        kind=_choice(f"table {name}", "kind", kind, KINDS),
        stream=stream,
        watermark=_watermark(f"table {name}", watermark),
        dedupe=_names(dedupe),
    )


def checked_table(name: str) -> str:
    if not _TABLE.fullmatch(name):
        raise InvalidPipeline(f"table {name!r}: write namespace.name, such as lake.orders")
    return name


def _check_source(where: str, source: End) -> None:
    for name in ("key", "sequence_by", "partition_by"):
        if getattr(source, name, None):
            raise InvalidPipeline(f"{where}: {source} is a source; {name} is for sinks")
    if isinstance(source, Table) and source.kind != "iceberg":
        raise InvalidPipeline(
            f"{where}: {source} is a source, and of kind {source.kind}; only iceberg can be read"
        )
    if isinstance(source, Topic):
        formats = [
            each for each in ("json", "avro", "protobuf", "plain") if getattr(source, each) is not None
        ]
        if len(formats) > 1:
            raise InvalidPipeline(
                f"{where}: {source} is said to be {' and '.join(formats)}; it is one of them"
            )
        if source.plain is not None:
            _choice(f"{where}: {source}", "plain", source.plain, PLAIN)


def _check_sink(where: str, sink: End) -> None:
    for name in ("start", "watermark", "dedupe", "headers", "stream"):
        if getattr(sink, name, None):
            raise InvalidPipeline(f"{where}: {sink} is a sink; {name} is for sources")
    if isinstance(sink, Table) and sink.sequence_by is not None and not sink.key:
        raise InvalidPipeline(f"{where}: {sink} has sequence_by and no key: it tells rows of one key apart")


def _expectations(where: str, expect: str | Iterable[str] | Mapping[str, str]) -> tuple[Expectation, ...]:
    if isinstance(expect, str):
        expect = [expect]
    if not isinstance(expect, Mapping):
        expect = dict.fromkeys(expect, "drop")
    return tuple(
        Expectation(check, _choice(f"{where}: expectation {check!r}", "else", otherwise, OTHERWISE))
        for check, otherwise in expect.items()
    )


def _choice(where: str, name: str, value: str, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise InvalidPipeline(f"{where}: {name} is {value!r}; it may be {', '.join(choices)}")
    return value


def _watermark(where: str, watermark: str | Watermark | None) -> Watermark | None:
    if not isinstance(watermark, str):
        return watermark
    column, _, delay = watermark.strip().partition(" ")
    if not delay.strip():
        raise InvalidPipeline(
            f"{where}: watermark is {watermark!r}; write a column and how late, 'ts 10 minutes'"
        )
    return column, delay.strip()


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return tuple(each.strip() for each in names.split(",")) if isinstance(names, str) else tuple(names)


def _view_name(source: End) -> str:
    """What SQL calls a source that was given no name: the last part of its own, with nothing to quote."""
    return re.sub(r"\W", "_", source.name.rpartition(".")[2])


def _single(make: Callable[..., Any]) -> Callable[..., Any]:
    return make if _takes_all(make) else lambda **frames: make(*frames.values())


def _by_name(where: str, make: Callable[..., Any], sources: Mapping[str, End]) -> Callable[..., Any]:
    wanted = inspect.signature(make).parameters
    if not _takes_all(make) and set(wanted) != set(sources):
        raise InvalidPipeline(
            f"{where}: its sources are {', '.join(sources)}, "
            f"its function takes {', '.join(wanted) or 'nothing'}"
        )
    return make


def _takes_all(make: Callable[..., Any]) -> bool:
    return any(
        each.kind is inspect.Parameter.VAR_KEYWORD for each in inspect.signature(make).parameters.values()
    )
