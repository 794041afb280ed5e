"""Rows to records: which columns mean what when a DataFrame is written to a topic."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from millstream.records.build import Headers, NewRecord

_TEXT_OR_BYTES: Final = ("string", "binary")
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "value": _TEXT_OR_BYTES,
    "key": _TEXT_OR_BYTES,
    "topic": ("string",),
    "partition": ("int", "smallint", "tinyint"),
    "headers": ("array<struct<key:string,value:binary>>",),
}


class InvalidRows(ValueError):
    """A DataFrame that cannot be written to topics; the message says which column is wrong and what to do."""


def check_columns(types: Mapping[str, str], topic: str | None) -> None:
    """Refuse columns, given as Spark's names of *types*, that make no records; others are left out."""
    if "value" not in types:
        raise InvalidRows(f"no column 'value'; there are {', '.join(types)}: make one by to_json or an alias")
    if topic is None and "topic" not in types:
        raise InvalidRows("say where to write: give the option 'topic', or a column of that name")
    for name, allowed in _TYPES.items():
        if name in types and types[name] not in allowed:
            raise InvalidRows(
                f"column {name!r} is {types[name]}; it may be {' or '.join(allowed)}: cast it, or use to_json"
            )


def records(batch: Any, topic: str | None) -> Iterator[tuple[str, int | None, NewRecord]]:
    """For each row of the Arrow record batch its topic, its partition if it chooses one, and the record.

    All go to *topic* if that is given.
    """
    rows = batch.num_rows
    nothing = [None] * rows

    def column(name: str, kind: Any = None) -> list[Any]:
        if name not in batch.schema.names:
            return nothing
        found = batch.column(name)
        values: list[Any] = (found if kind is None else found.cast(kind)).to_pylist()
        return values

    topics = column("topic") if topic is None else [topic] * rows
    keys, values = column("key", pa.binary()), column("value", pa.binary())
    for to, partition, key, value, headers in zip(
        topics, column("partition"), keys, values, column("headers"), strict=True
    ):
        if to is None:
            raise InvalidRows("a row whose topic is null; give the option 'topic' to write all rows to one")
        yield to, partition, NewRecord(key, value, _headers(headers))


def _headers(pairs: list[dict[str, Any] | None] | None) -> Headers:
    if not pairs:
        return ()
    return tuple((each["key"] or "", each["value"]) for each in pairs if each is not None)
