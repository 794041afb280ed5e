"""What Delta's log says of a file: the values that its folders stand for, and what its columns hold."""

import json
from datetime import date
from typing import Any, Final
from urllib.parse import unquote

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST: Final = 64  # of text: longer bounds are of little use


def folder_values(path: str) -> dict[str, str | None]:
    """`country=DE/ts_day=2026-11-01/part-0.parquet` says what its rows have in common."""
    found: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, _, value = part.partition("=")
        found[unquote(name)] = None if value == _NULL else unquote(value)
    return found


def statistics(metadata: Any) -> str:
    """Rows, nulls and bounds in Delta's JSON, from Parquet's *metadata*: readers pass over files by them."""
    nulls: dict[str, int] = {}
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    unsure: set[str] = set()
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            name, known = column.path_in_schema, column.statistics
            if known is None or not known.has_null_count or "." in name:
                unsure.add(name)
                continue
            nulls[name] = nulls.get(name, 0) + known.null_count
            if known.null_count == column.num_values:
                continue
            if not known.has_min_max or not _plain(known.min) or not _plain(known.max):
                unsure.add(name)
                continue
            least[name] = min(least.get(name, known.min), known.min)
            greatest[name] = max(greatest.get(name, known.max), known.max)
    said = {
        "numRecords": metadata.num_rows,
        "minValues": {name: _said(value) for name, value in least.items() if name not in unsure},
        "maxValues": {name: _said(value) for name, value in greatest.items() if name not in unsure},
        "nullCount": {name: count for name, count in nulls.items() if name not in unsure},
    }
    return json.dumps(said)


def _plain(value: Any) -> bool:
    """Whether it is of a type whose bounds need no care: no NaN, no time zone, no scale."""
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return type(value) in (int, date)


def _said(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
