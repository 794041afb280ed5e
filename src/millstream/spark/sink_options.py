"""Where and how to write: the options of the sink, by the names that Spark's Kafka connector has for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from millstream.records.compression import Codec
from millstream.spark.connection import KNOWN as _KNOWN_CONNECTION
from millstream.spark.connection import Reach, check_names, read_reach
from millstream.spark.once import Once
from millstream.spark.words import InvalidOption, number, one_of, truth

_ACKS: Final = {"all": -1, "-1": -1, "1": 1, "0": 0}
_KNOWN: Final = (
    "topic",
    "pipeline",
    "batchId",
    "queryId",
    "kafka.acks",
    "kafka.batch.size",
    "kafka.compression.type",
    "kafka.delivery.timeout.ms",
    "kafka.enable.idempotence",
    "kafka.transaction.timeout.ms",
    *_KNOWN_CONNECTION,
)
_BY_SMALL_NAME: Final = {name.lower(): name for name in _KNOWN}
# Spark hands the query's own settings to the sink as well, and jobs bring along what our producer
# needs no telling of: it sends what has gathered while the last batch was under way.
_USELESS: Final = frozenset(
    (
        "checkpointlocation",
        "path",
        "queryname",
        "includeheaders",
        "kafka.linger.ms",
        "kafka.retries",
        "kafka.max.in.flight.requests.per.connection",
        "kafka.buffer.memory",
    )
)


@final
@dataclass(frozen=True, kw_only=True)
class SinkOptions:
    """All that the writer needs to know."""

    reach: Reach
    topic: str | None = None
    acks: int = -1
    idempotent: bool = True
    codec: Codec = Codec.NONE
    batch_bytes: int = 900_000
    delivery_timeout: float = 120.0
    transaction_timeout: float = 600.0
    once: Once | None = None


def read_sink_options(options: Mapping[str, str]) -> SinkOptions:
    """What *options*, by small names, ask for; InvalidOption if anything in them is unclear."""
    check_names(options, _BY_SMALL_NAME, _USELESS)
    codecs = [codec.name.lower() for codec in Codec]
    codec = one_of("kafka.compression.type", options.get("kafka.compression.type", "none"), codecs)
    return SinkOptions(
        reach=read_reach(options),
        topic=options.get("topic"),
        acks=_ACKS[one_of("kafka.acks", options.get("kafka.acks", "all"), _ACKS)],
        idempotent=truth("kafka.enable.idempotence", options.get("kafka.enable.idempotence", "true")),
        codec=Codec[codec.upper()],
        batch_bytes=number("kafka.batch.size", options.get("kafka.batch.size", "900000"), 1),
        delivery_timeout=number(
            "kafka.delivery.timeout.ms", options.get("kafka.delivery.timeout.ms", "120000"), 1
        )
        / 1000,
        transaction_timeout=number(
            "kafka.transaction.timeout.ms", options.get("kafka.transaction.timeout.ms", "600000"), 1
        )
        / 1000,
        once=_once(options),
    )


def _once(options: Mapping[str, str]) -> Once | None:
    given = [name for name in ("pipeline", "batchId", "queryId") if name.lower() in options]
    if not given:
        return None
    if len(given) < 3:
        raise InvalidOption(f"{given[0]} alone does not make writing exactly-once: see `exactly_once`")
    if "topic" not in options:
        raise InvalidOption("to write exactly once give the option 'topic'")
    return Once(options["pipeline"], options["queryid"], number("batchId", options["batchid"], 0))
