"""TinyMQ's log files.

    <folder>/<topic>/partition-<n>.log      JSON, a record a line:
    {"offset":0,"timestamp":"2026-01-02T03:04:05.678901Z","value":"hello","key":null}

Offsets count up from 0 without gaps. A partition has a file once something was
written to it, so a topic's last partitions may have none. Committed offsets of
groups were kept in memory only: there are none to read.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from millstream.imports.source import Damaged, Found, Source, SourcePartition, SourceTopic, lines
from millstream.records.build import NewRecord

_LOG: Final = re.compile(r"partition-(\d+)\.log\Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def open_folder(folder: Path, partitions: Mapping[str, int] | None = None) -> Source:
    """All topics in *folder*; *partitions* says how many one has, where there are more than files."""
    source = Source()
    by_topic: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.rglob("partition-*.log")):
        found = _LOG.match(path.name)
        if found and path.parent != folder:
            topic = path.parent.relative_to(folder).as_posix()
            by_topic.setdefault(topic, {})[int(found[1])] = path
    for topic, files in sorted(by_topic.items()):
        count = max(max(files) + 1, (partitions or {}).get(topic, 0))
        source.topics.append(
            SourceTopic(topic, tuple(_partition(source, index, files.get(index)) for index in range(count)))
        )
    return source


def _partition(source: Source, index: int, path: Path | None) -> SourcePartition:
    if path is None:
        return SourcePartition(index, lambda: iter(()), 0)
    return SourcePartition(index, partial(_records, source, path), path.stat().st_size)


def _records(source: Source, path: Path) -> Iterator[Found]:
    expected = 0
    with path.open("rb") as file:
        for number, line in enumerate(lines(file, path), 1):
            if not line.strip():
                continue
            try:
                record, offset = _record(line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if not line.endswith(b"\n"):
                    source.note(f"{path}: the last line was cut off while it was written, and is left out")
                    return
                raise Damaged(path, number, f"no record of TinyMQ's: {error}") from None
            if offset != expected:
                raise Damaged(path, number, f"offset {offset} where {expected} should be")
            expected += 1
            yield Found(record, len(line))


def _record(line: bytes) -> tuple[NewRecord, int]:
    said: Any = json.loads(line)
    key, value, offset = said.get("key"), said["value"], said["offset"]
    if not isinstance(value, str) or not isinstance(key, str | None) or type(offset) is not int:
        raise ValueError("value is text, key is text or null, offset is a whole number")
    # Without a zone it is local time, as Dart writes it. datetime may not reach so far: by the epoch.
    written = datetime.fromisoformat(said["timestamp"]).astimezone(UTC)
    record = NewRecord(
        None if key is None else _utf8(key),
        _utf8(value),
        timestamp_ms=(written - _EPOCH) // _MILLISECOND,
    )
    return record, offset


def _utf8(text: str) -> bytes:
    """*text* in UTF-8; half a surrogate pair, which JSON may hold and UTF-8 may not, is replaced."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
