"""What there is to import, wherever it comes from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, final

from millstream.records.build import NewRecord

MOST_LINE_BYTES: Final = 64 << 20


class Damaged(Exception):
    """A file is not what its broker would have written; the message says where."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}: {problem}")


class Found(NamedTuple):
    """One record, and how many bytes of the source it took."""

    record: NewRecord
    size_bytes: int


@final
@dataclass(frozen=True)
class SourcePartition:
    """One partition: *records* begins anew with every call.

    *read_offset* is how far it was read, None if the source does not say;
    *consumer* is who it is registered to, if anyone.
    """

    index: int
    records: Callable[[], Iterator[Found]]
    size_bytes: int
    read_offset: int | None = None
    consumer: str = ""


@final
@dataclass(frozen=True)
class SourceTopic:
    name: str
    partitions: tuple[SourcePartition, ...]


@final
@dataclass
class Source:
    """Everything in one folder; *notes* are for whoever ran the import."""

    topics: list[SourceTopic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep it once: files are read more than once."""
        if text not in self.notes:
            self.notes.append(text)


def lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """The lines of *file* from where it stands, each with its end; only the last may have none."""
    number = 0
    while line := file.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise Damaged(path, number, f"longer than {MOST_LINE_BYTES >> 20} MiB")
        yield line
