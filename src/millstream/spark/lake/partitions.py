"""How a table is cut into partitions: by a column, or by the year, month, day or hour of a time, in UTC."""

import re
from dataclasses import dataclass
from typing import Any, Final, final

from millstream.spark.words import InvalidOption

_FORM: Final = re.compile(r"(?:(year|month|day|hour)s?\((\w+)\)|(\w+))")
_SPANS: Final = {"year": "yyyy", "month": "yyyy-MM", "day": "yyyy-MM-dd"}


@final
@dataclass(frozen=True)
class PartitionBy:
    """By *column* as it is, or by the *span* of time that it falls into."""

    column: str
    span: str | None = None

    @property
    def name(self) -> str:
        """What the partition is called: `country`, `ts_day`."""
        return self.column if self.span is None else f"{self.column}_{self.span}"

    def __str__(self) -> str:
        return self.column if self.span is None else f"{self.span}({self.column})"


def parse_partition(text: str) -> PartitionBy:
    """What `country` or `day(ts)` says."""
    found = _FORM.fullmatch(text.replace(" ", ""))
    if found is None:
        raise InvalidOption(
            f"partition {text!r}: write a column, or year(column), month(column), day(column), hour(column)"
        )
    span, of, column = found.groups()
    return PartitionBy(column) if span is None else PartitionBy(of, span)


def span_expression(frame: Any, by: PartitionBy) -> Any:
    """A column of text such as `2026-11-01`, or `2026-11-01-07` for an hour; null where there is no time."""
    from pyspark.sql import functions as f

    assert by.span is not None
    kind = frame.schema[by.column].dataType.typeName()
    column = f"`{by.column}`"
    if kind == "date" and by.span != "hour":
        return f.date_format(f.col(column), _SPANS[by.span])
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"
    hours = {
        "timestamp": f"floor(unix_micros({column}) / 3600000000D)",  # the session's time zone plays no part
        "timestamp_ntz": f"timestampdiff(HOUR, {epoch}, date_trunc('hour', {column}))",
    }.get(kind)
    if hours is None:
        raise InvalidOption(f"partition {by}: {by.column} is of type {kind}, which has no {by.span}")
    day = f"date_add(date'1970-01-01', cast(floor(({hours}) / 24D) as int))"
    if by.span != "hour":
        return f.expr(f"date_format({day}, '{_SPANS[by.span]}')")
    return f.expr(f"concat(date_format({day}, 'yyyy-MM-dd-'), lpad(pmod({hours}, 24), 2, '0'))")
