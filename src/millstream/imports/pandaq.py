"""Panda-Q's data folder.

    pandaq-data/
      config.log                             topic_config|<topic>|<partitions>
      TPC.log                                <topic>|<partition>|<consumer or nothing>
      ingress.log                            <broker>|<offset>|<topic>|<messageId>|<content>
      ingress_metadata.log                   ingress|<logEndOffset>|<readOffset>
      topics/topic_<topic>/
        partition_<n>.log                    <topic>|<n>|<offset>|<messageId>|<content>
        <topic>_partition_metadata.log       <topic>_partition_<n>|<logEndOffset>|<readOffset>

Content is text as it came, or else the JSON of what came; it may hold `|` and
line ends, so a line that does not begin like a message goes on with the one
before. Offsets count from 1 and may repeat after a crash: a message's place in
its file is what counts. Messages were put into ingress.log first, and moved to
their partitions later: those behind the ingress readOffset are still to be
moved, to the partition that the hash of their id says.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, final

from millstream.imports.source import Damaged, Found, Source, SourcePartition, SourceTopic, lines
from millstream.records.build import NewRecord

_PARTITION: Final = re.compile(r"partition_(\d+)\.log\Z")
_TOPIC: Final = "topic_"
_ALL: Final = 1 << 62


class Entry(NamedTuple):
    """One message of a log: what comes after its head. *whole* unless the file ends within its line."""

    head: re.Match[bytes]
    rest: bytes
    whole: bool
    line: int
    end: int

    @property
    def message(self) -> tuple[bytes, bytes]:
        """Its id and its content."""
        id, _, content = self.rest.partition(b"|")
        return id, content


@final
@dataclass(frozen=True)
class Pending:
    """The messages of ingress.log that were never moved: all from *position* on."""

    path: Path
    head: re.Pattern[bytes]
    position: int
    lines_before: int

    def entries(self) -> Iterator[Entry]:
        return _entries(self.path, self.head, self.position, self.lines_before)


def is_folder(folder: Path) -> bool:
    """Whether *folder* looks like Panda-Q's."""
    return (folder / "topics").is_dir()


def partition_of(message_id: bytes, count: int) -> int:
    """Where Panda-Q puts a message: the first eight hex digits of the SHA-256 of its id, modulo *count*."""
    return int.from_bytes(hashlib.sha256(message_id).digest()[:4]) % count


def open_folder(folder: Path, *, parse_json: bool = False) -> Source:
    """All topics in *folder*. With *parse_json*, content that is JSON is taken as such, not as text."""
    source = Source()
    pending = _pending(source, folder)
    registered = _registrations(folder)
    counts = _partition_counts(folder, registered)
    for topic, count in sorted(counts.items()):
        offsets = _read_offsets(source, folder, topic)
        consumers = registered.get(topic, {})
        partitions = []
        for index in range(max(count, len(_files(folder, topic)))):
            path = _directory(folder, topic) / f"partition_{index}.log"
            end, read = offsets.get(index, (0, 0))
            reader = _Reader(source, topic, index, count, path, end, pending, parse_json)
            partitions.append(
                SourcePartition(index, reader.records, reader.size_bytes(), read, consumers.get(index, ""))
            )
        source.topics.append(SourceTopic(topic, tuple(partitions)))
    _note_strays(source, pending, counts)
    return source


@final
@dataclass(frozen=True)
class _Reader:
    """Reads one partition: its log, then what ingress.log still holds for it."""

    source: Source
    topic: str
    index: int
    count: int
    path: Path
    log_end_offset: int
    pending: Pending | None
    parse_json: bool

    def size_bytes(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def records(self) -> Iterator[Found]:
        head = re.compile(rb"%s\|%d\|(\d+)\|" % (re.escape(self.topic.encode()), self.index))
        before = 0
        for entry in _entries(self.path, head) if self.path.exists() else ():
            if not entry.whole and int(entry.head[1]) > self.log_end_offset:
                self.source.note(
                    f"{self.path}: the last message was cut off while it was written, and is left out"
                )
                break
            yield self._found(self.path, entry, entry.end - before)
            before = entry.end
        if self.pending is not None:
            for entry in self.pending.entries():
                if entry.whole and self._is_ours(entry):
                    yield self._found(self.pending.path, entry, 0)

    def _is_ours(self, entry: Entry) -> bool:
        return entry.head["topic"] == self.topic.encode() and (
            partition_of(entry.message[0], self.count) == self.index
        )

    def _found(self, path: Path, entry: Entry, size_bytes: int) -> Found:
        id, content = entry.message
        try:
            return Found(NewRecord(id, _value(content, self.parse_json)), size_bytes)
        except UnicodeDecodeError as error:
            raise Damaged(path, entry.line, f"no UTF-8: {error.reason}") from None


def _value(content: bytes, parse_json: bool) -> bytes:
    """*content* as a record holds it: the text of a JSON value."""
    text = content.decode()
    if parse_json and _is_json(text):
        return content
    return json.dumps(text, ensure_ascii=False).encode()


def _is_json(text: str) -> bool:
    """Whether *text* is JSON, and can be content: null cannot."""
    try:
        return json.loads(text, parse_constant=_refuse) is not None
    except ValueError:
        return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _entries(
    path: Path, head: re.Pattern[bytes], position: int = 0, lines_before: int = 0
) -> Iterator[Entry]:
    """Every message of a log from *position* on; what follows a message's first line is a part of it."""
    current: tuple[re.Match[bytes], list[bytes], int] | None = None
    with path.open("rb") as file:
        file.seek(position)
        end = position
        for number, line in enumerate(lines(file, path), lines_before + 1):
            found = head.match(line)
            if found is not None and current is not None:
                yield _entry(current, end)
            if found is not None:
                current = (found, [line[found.end() :]], number)
            elif current is not None:
                current[1].append(line)
            elif line.strip():
                raise Damaged(path, number, f"it does not begin as a message does: {line[:60]!r}")
            end += len(line)
        if current is not None:
            yield _entry(current, end)


def _entry(current: tuple[re.Match[bytes], list[bytes], int], end: int) -> Entry:
    head, parts, number = current
    rest = b"".join(parts)
    whole = rest.endswith(b"\n")
    return Entry(head, rest[:-1] if whole else rest, whole, number, end)


def _pending(source: Source, folder: Path) -> Pending | None:
    path = folder / "ingress.log"
    if not path.exists() or not path.stat().st_size:
        return None
    with path.open("rb") as file:
        broker, bar, _ = file.readline().partition(b"|")
    if not bar:
        raise Damaged(path, 1, "it does not begin as a message does")
    head = re.compile(rb"%s\|(\d+)\|(?P<topic>[^|\n]*)\|" % re.escape(broker))
    moved = _ingress_read_offset(source, folder)
    position = 0
    for count, entry in enumerate(_entries(path, head)):
        if count == moved:
            return Pending(path, head, position, entry.line - 1)
        position = entry.end
    return None


def _ingress_read_offset(source: Source, folder: Path) -> int:
    for fields in _fields(folder / "ingress_metadata.log"):
        if len(fields) == 3 and fields[0] == "ingress" and fields[2].isdecimal():
            return int(fields[2])
    # Better none than all of them twice: most will have been moved.
    source.note(
        f"{folder / 'ingress_metadata.log'} does not say which messages were moved to their partitions: "
        "those that only ingress.log has are left out"
    )
    return _ALL


def _note_strays(source: Source, pending: Pending | None, counts: Mapping[str, int]) -> None:
    if pending is None:
        return
    strays = set()
    for entry in pending.entries():
        topic = entry.head["topic"].decode(errors="replace")
        if topic not in counts:
            strays.add(topic)
        if not entry.whole:
            source.note(f"{pending.path}: the last message was cut off while it was written, and is left out")
    if strays:
        source.note(f"{pending.path}: messages for topics that do not exist: {', '.join(sorted(strays))}")


def _registrations(folder: Path) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    for number, fields in enumerate(_fields(folder / "TPC.log", 2), 1):
        if len(fields) != 3 or not fields[1].isdecimal():
            raise Damaged(folder / "TPC.log", number, "it is not topic|partition|consumer")
        found.setdefault(fields[0], {})[int(fields[1])] = fields[2]
    return found


def _partition_counts(folder: Path, registered: Mapping[str, Mapping[int, str]]) -> dict[str, int]:
    counts = {
        path.name.removeprefix(_TOPIC): len(_files(folder, path.name.removeprefix(_TOPIC)))
        for path in sorted((folder / "topics").iterdir())
        if path.is_dir() and path.name.startswith(_TOPIC)
    }
    for fields in _fields(folder / "config.log"):
        if len(fields) == 3 and fields[0] == "topic_config" and fields[2].isdecimal():
            counts[fields[1]] = int(fields[2])
    # The broker itself goes by this one, if it is there.
    counts.update({topic: len(partitions) for topic, partitions in registered.items()})
    return {topic: count for topic, count in counts.items() if count}


def _read_offsets(source: Source, folder: Path, topic: str) -> dict[int, tuple[int, int]]:
    path = _directory(folder, topic) / f"{topic}_partition_metadata.log"
    found: dict[int, tuple[int, int]] = {}
    for key, *numbers in _fields(path):
        index = key.removeprefix(f"{topic}_partition_")
        if len(numbers) != 2 or not all(each.isdecimal() for each in (index, *numbers)):
            source.note(f"{path}: {'|'.join((key, *numbers))!r} was not understood, and is left out")
            continue
        found[int(index)] = (int(numbers[0]), int(numbers[1]))
    return found


def _fields(path: Path, bars: int = -1) -> Iterator[list[str]]:
    """The lines of *path* cut at their first *bars* bars, or at all of them."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                yield line.split("|", bars)


def _files(folder: Path, topic: str) -> range:
    """The partitions that have a file, and those between them."""
    indexes = [
        int(found[1])
        for path in (_directory(folder, topic).iterdir() if _directory(folder, topic).is_dir() else ())
        if (found := _PARTITION.match(path.name))
    ]
    return range(max(indexes, default=-1) + 1)


def _directory(folder: Path, topic: str) -> Path:
    return folder / "topics" / f"{_TOPIC}{topic}"
