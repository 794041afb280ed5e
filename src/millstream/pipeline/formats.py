"""Values of records to columns, and columns to values.

What cannot be decoded is not thrown away and stops nothing: every row has, beside
its columns, the record it came from (`_record`) and why it is no good
(`_reason`), which is null where it is good.
"""

import os
from pathlib import Path
from typing import Any, Final

from millstream.pipeline import binary
from millstream.pipeline.definition import Expectation, InvalidPipeline, Topic

RECORD: Final = "_record"
REASON: Final = "_reason"
_DECODED: Final = "_decoded"
_CORRUPT: Final = "_corrupt"


def marked(raw: Any, topic: Topic, expect: tuple[Expectation, ...], folder: Path) -> Any:
    """The records *raw* as columns, each row with its record and the reason why it is bad, if it is."""
    from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

    names = ["topic", "partition", "offset", "timestamp", "key", "value"]
    record = F.struct(*names, *(["headers"] if "headers" in raw.columns else []))
    columns, reasons, decoded = _decoder(raw, topic, folder)
    for each in columns:
        if each in (RECORD, REASON):
            raise InvalidPipeline(f"{topic}: it has a column {each!r}, which is a name for our own use")
    rows = raw.select(record.alias(RECORD), decoded.alias(_DECODED))
    flat = [F.col(f"{_DECODED}.`{each}`").alias(each) for each in columns]
    rows = rows.select(*flat, RECORD, F.coalesce(*reasons, F.lit(None)).alias(REASON))
    return _expecting(rows, expect)


def good(rows: Any, topic: Topic) -> Any:
    """Of *rows* that are marked, the good ones, as the flow's function gets them."""
    return timed(rows.where(f"{REASON} IS NULL").drop(REASON), topic.watermark, topic.dedupe)


def timed(rows: Any, watermark: tuple[str, str] | None, dedupe: tuple[str, ...]) -> Any:
    """*rows* with a watermark, each once by the columns *dedupe*, if that is wanted."""
    if watermark is not None:
        rows = rows.withWatermark(*watermark)
    if dedupe:
        once = rows.dropDuplicatesWithinWatermark if watermark is not None else rows.dropDuplicates
        rows = once(list(dedupe))
    return rows


def encoded(rows: Any, topic: Topic, folder: Path) -> Any:
    """*rows* as key and value for *topic*."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = rows.drop(RECORD)
    if topic.plain is not None:
        return rows
    if topic.key is not None and topic.key not in rows.columns:
        raise InvalidPipeline(f"{topic}: its key is {topic.key!r}; the flow makes {', '.join(rows.columns)}")
    whole = F.struct(*(f"`{name}`" for name in rows.columns))
    if topic.format in ("avro", "protobuf"):
        value = binary.encoder(topic.format, _schema_text(topic, folder), confluent=topic.confluent)(whole)
    else:
        value = F.to_json(whole)
    if topic.key is None:
        return rows.select(value.alias("value"))
    return rows.select(F.col(f"`{topic.key}`").cast("string").alias("key"), value.alias("value"))


def _decoder(raw: Any, topic: Topic, folder: Path) -> tuple[list[str], list[Any], Any]:
    """The columns that *topic*'s values have, why a row is bad, and the struct that they are decoded to."""
    if topic.json is not None:
        return _json(raw, topic)
    if topic.format in ("avro", "protobuf"):
        return _binary(topic, folder)
    return _plain(topic)


def _json(raw: Any, topic: Topic) -> tuple[list[str], list[Any], Any]:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StringType, StructField, StructType

    assert topic.json is not None
    schema = _ddl(topic, topic.json)
    whole = StructType([*schema.fields, StructField(_CORRUPT, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    text = F.col("value").cast("string")
    decoded = F.from_json(text, whole, options)
    # Written so that the details, which parse once more, are asked for only where there is something amiss.
    text = F.col(f"{RECORD}.value").cast("string")
    value = F.try_parse_json(text)
    misfits = [
        F.when(
            F.col(f"{_DECODED}.`{each.name}`").isNull()
            & F.try_variant_get(value, f"$['{each.name}']", "string").isNotNull(),
            F.concat(
                F.lit(f"{each.name} is no {each.dataType.simpleString()}: "),
                F.substring(F.try_variant_get(value, f"$['{each.name}']", "string"), 1, 100),
            ),
        )
        for each in schema.fields
        if "'" not in each.name
    ]
    misfit = F.concat_ws("; ", *misfits) if misfits else F.lit("")
    details = (
        F.when(value.isNull(), F.lit("not JSON"))
        .when(misfit != "", misfit)
        .otherwise(F.lit("not a JSON object of this schema"))
    )
    reasons = [
        F.when(F.coalesce(F.length(f"{RECORD}.value"), F.lit(0)) == 0, F.lit("no value")),
        F.when(F.col(f"{_DECODED}.{_CORRUPT}").isNotNull(), details),
        F.when(~F.rtrim(text).endswith("}"), F.lit("something follows the JSON object")),
        *_missing(schema),
    ]
    return schema.names, reasons, decoded


def _binary(topic: Topic, folder: Path) -> tuple[list[str], list[Any], Any]:
    from pyspark.sql import functions as F  # noqa: N812

    columns, decode = binary.decoder(topic.format, _schema_text(topic, folder), confluent=topic.confluent)
    broken = F.col(f"{_DECODED}.{binary.PROBLEM}")
    return columns, [broken], decode(F.col("value"))


def _plain(topic: Topic) -> tuple[list[str], list[Any], Any]:
    from pyspark.sql import functions as F  # noqa: N812

    kind = topic.plain or "binary"
    value = F.col("value")
    if kind != "binary":
        value = value.cast("string") if kind == "string" else value.cast("string").try_cast(kind)
    decoded = F.struct(F.col("key"), value.alias("value"))
    raw = F.col(f"{RECORD}.value")
    misfit = F.when(
        raw.isNotNull() & F.col(f"{_DECODED}.value").isNull(),
        F.concat(F.lit(f"value is no {kind}: "), F.substring(raw.cast("string"), 1, 100)),
    )
    return ["key", "value"], [misfit], decoded


def _missing(schema: Any) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    return [
        F.when(F.col(f"{_DECODED}.`{each.name}`").isNull(), F.lit(f"{each.name} is missing"))
        for each in schema.fields
        if not each.nullable
    ]


def _expecting(rows: Any, expect: tuple[Expectation, ...]) -> Any:
    """*rows* with a reason where they are not as expected; those that are bad already are not looked at."""
    from pyspark.sql import functions as F  # noqa: N812

    for each in expect:
        if each.otherwise == "warn":
            continue
        text = f"not as expected: {each.check}"
        said: Any = F.lit(text)
        if each.otherwise == "fail":
            at = F.concat_ws("-", f"{RECORD}.topic", f"{RECORD}.partition")
            said = F.raise_error(
                F.concat(at, F.lit(" offset "), F.col(f"{RECORD}.offset"), F.lit(f": {text}"))
            )
        holds = F.coalesce(F.expr(each.check).cast("boolean"), F.lit(False))
        reason = F.when(F.col(REASON).isNotNull(), F.col(REASON)).when(~holds, said)
        rows = rows.withColumn(REASON, reason)
    return rows


def _ddl(topic: Topic, text: str) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        return StructType.fromDDL(text)
    except PySparkException as problem:
        first = str(problem).strip().splitlines()[0]
        raise InvalidPipeline(f"{topic}: json is {text!r}, which Spark does not take: {first}") from None


def _schema_text(topic: Topic, folder: Path) -> str:
    """A schema as it is given, or what the file has that is named; of Protobuf, the file's whole path."""
    given = topic.avro if topic.avro is not None else topic.protobuf
    assert given is not None
    if topic.protobuf is not None:
        file, _, message = given.rpartition("#")
        if not file:
            raise InvalidPipeline(f"{topic}: protobuf is {given!r}; write file.desc#package.Message")
        return f"{os.path.join(folder, file)}#{message}"
    if given.lstrip().startswith(("{", "[", '"')):
        return given
    try:
        return (folder / given).read_text()
    except OSError as problem:
        raise InvalidPipeline(f"{topic}: the schema in {given} cannot be read: {problem.strerror}") from None
