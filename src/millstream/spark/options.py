"""What to read: the options of the source, by the names that Spark's Kafka connector has for them.

Spark hands options over with their names in small letters; the messages here
give them as they are written in manuals.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

from millstream.client.offsets import EARLIEST, LATEST
from millstream.client.topics import TopicPartition
from millstream.spark.connection import KNOWN as _KNOWN_CONNECTION
from millstream.spark.connection import Reach, check_names, read_committed, read_reach
from millstream.spark.words import (
    InvalidOption,
    names,
    number,
    one_of,
    partition_lists,
    partition_numbers,
    time_ms,
    truth,
)

NoMatch = Literal["error", "latest"]

_TOPICS: Final = ("subscribe", "subscribePattern", "assign")
_KNOWN: Final = (
    *_TOPICS,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "maxOffsetsPerTrigger",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "kafka.isolation.level",
    "kafka.fetch.max.bytes",
    "kafka.fetch.max.wait.ms",
    "kafka.max.partition.fetch.bytes",
    *_KNOWN_CONNECTION,
)
_BY_SMALL_NAME: Final = {name.lower(): name for name in _KNOWN}
# Options of Spark's connector that a job may bring along, and that change nothing here: there
# is no group, no pool of consumers, and tries are bounded by kafka.request.timeout.ms.
_USELESS: Final = frozenset(
    name.lower()
    for name in (
        "groupIdPrefix",
        "kafka.group.id",
        "kafkaConsumer.pollTimeoutMs",
        "fetchOffset.numRetries",
        "fetchOffset.retryIntervalMs",
    )
)
_STREAM_ONLY: Final = ("maxOffsetsPerTrigger",)


@final
@dataclass(frozen=True)
class Place:
    """Where to begin or end: at EARLIEST or LATEST, at offsets, or at times in ms.

    Either *everywhere* or, by partition, in *each*. If *by_time*, the numbers
    are times; *no_match* says what to do where no record is that late.
    """

    everywhere: int | None = None
    each: Mapping[TopicPartition, int] | None = None
    by_time: bool = False
    no_match: NoMatch = "latest"


@final
@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """All that the reader needs to know."""

    reach: Reach
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()
    start: Place
    end: Place
    max_offsets: int | None = None
    min_partitions: int | None = None
    max_records: int | None = None
    fail_on_data_loss: bool = True
    headers: bool = False
    committed_only: bool = False
    fetch_bytes: int = 4 << 20
    fetch_wait_ms: int = 500


def wants_headers(options: Mapping[str, str]) -> bool:
    """Whether the rows are to have headers; the schema depends on it."""
    return truth("includeHeaders", options.get("includeheaders", "false"))


def read_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """What *options*, by small names, ask for; InvalidOption if anything in them is unclear."""
    check_names(options, _BY_SMALL_NAME, _USELESS)
    for name in () if streaming else _STREAM_ONLY:
        if name.lower() in options:
            raise InvalidOption(f"{name} is for a stream only")
    chosen = [name for name in _TOPICS if name.lower() in options]
    if len(chosen) != 1:
        said = f"not {' and '.join(chosen)} at once" if chosen else "none is given"
        raise InvalidOption(f"say what to read by one of {', '.join(_TOPICS)}; {said}")

    def optional(name: str) -> int | None:
        text = options.get(name.lower())
        return None if text is None else number(name, text, 1)

    assigned = options.get("assign")
    return SourceOptions(
        reach=read_reach(options),
        topics=names("subscribe", options["subscribe"]) if "subscribe" in options else (),
        pattern=options.get("subscribepattern"),
        assigned=() if assigned is None else partition_lists("assign", assigned),
        start=_place(options, "starting", LATEST if streaming else EARLIEST, streaming=streaming),
        end=_place(options, "ending", LATEST, streaming=streaming),
        max_offsets=optional("maxOffsetsPerTrigger"),
        min_partitions=optional("minPartitions"),
        max_records=optional("maxRecordsPerPartition"),
        fail_on_data_loss=truth("failOnDataLoss", options.get("failondataloss", "true")),
        headers=wants_headers(options),
        committed_only=read_committed(options),
        fetch_bytes=_fetch_bytes(options),
        fetch_wait_ms=number("kafka.fetch.max.wait.ms", options.get("kafka.fetch.max.wait.ms", "500"), 0),
    )


def _place(options: Mapping[str, str], side: str, default: int, *, streaming: bool) -> Place:
    """The start or the end, from the three options for it; a time goes before times, times before offsets."""
    no_match: NoMatch = "latest"
    if side == "starting":
        strategy = options.get("startingoffsetsbytimestampstrategy", "error")
        choices: tuple[NoMatch, ...] = ("error", "latest")
        no_match = one_of("startingOffsetsByTimestampStrategy", strategy, choices)
    if f"{side}timestamp" in options:
        time = time_ms(f"{side}Timestamp", options[f"{side}timestamp"])
        return Place(everywhere=time, by_time=True, no_match=no_match)
    if f"{side}offsetsbytimestamp" in options:
        name = f"{side}OffsetsByTimestamp"
        return Place(each=partition_numbers(name, options[name.lower()]), by_time=True, no_match=no_match)
    text = options.get(f"{side}offsets")
    if text is None:
        return Place(everywhere=default)
    return _offsets(f"{side}Offsets", text, streaming=streaming)


def _offsets(name: str, text: str, *, streaming: bool) -> Place:
    forbidden = EARLIEST if name == "endingOffsets" else LATEST
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text.strip().lower() in words:
        place = Place(everywhere=words[text.strip().lower()])
    else:
        place = Place(each=partition_numbers(name, text))
    numbers = [place.everywhere] if place.each is None else list(place.each.values())
    if forbidden in numbers and not streaming:
        word = "earliest (-2)" if forbidden == EARLIEST else "latest (-1)"
        raise InvalidOption(f"{name} of a batch cannot be {word}: nothing would be read")
    if any(offset < EARLIEST for offset in numbers if offset is not None):
        raise InvalidOption(f"{name} has an offset below -2; -2 is the earliest, -1 the latest")
    return place


def _fetch_bytes(options: Mapping[str, str]) -> int:
    found = SourceOptions.fetch_bytes
    for name in ("kafka.max.partition.fetch.bytes", "kafka.fetch.max.bytes"):
        if name in options:
            found = min(number(name, options[name], 1), 64 << 20)
    return found
