"""What a pipeline remembers between runs, in the folder of its checkpoints.

<home>/<flow>/begun.json       where the flow began, and the id that its batches are counted by
<home>/<flow>/checkpoint/      Spark's own
<home>/run.json                how the last run is getting on, for `pipeline status`
"""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from pyarrow.fs import FileSelector, FileSystem, FileType

from millstream.client.topics import TopicPartition
from millstream.spark.words import from_json, to_json

Offsets = dict[TopicPartition, int]
_NONE_YET: Final = "-"


@final
@dataclass(frozen=True)
class Begun:
    """Where a flow began to read; *id* stays the same as long as its checkpoint does.

    A backfill has *until* where it is to read.
    """

    id: str
    offsets: Mapping[TopicPartition, int]
    until: Mapping[TopicPartition, int] | None = None


@final
class Home:
    """The folder at *url*, which may lie on any file system that pyarrow knows."""

    def __init__(self, url: str) -> None:
        self.url = url if "://" in url else str(Path(url).absolute())
        self._system, self._root = FileSystem.from_uri(self.url)

    def checkpoint(self, flow: str) -> str:
        """Where Spark keeps what it must remember of *flow*."""
        return f"{self.url}/{flow}/checkpoint"

    def begun(self, flow: str) -> Begun | None:
        said = self.read(f"{flow}/begun.json")
        if said is None:
            return None
        until = said.get("until")
        return Begun(said["id"], from_json(said["offsets"]), None if until is None else from_json(until))

    def begin(
        self,
        flow: str,
        offsets: Mapping[TopicPartition, int],
        until: Mapping[TopicPartition, int] | None = None,
    ) -> Begun:
        """Write down that *flow* begins at *offsets*."""
        begun = Begun(uuid.uuid4().hex, dict(offsets), until)
        said = {"id": begun.id, "offsets": to_json(begun.offsets)}
        self.write(f"{flow}/begun.json", said if until is None else {**said, "until": to_json(until)})
        return begun

    def works(self, flow: str, prefix: str) -> list[str]:
        """What was begun beside *flow* under names that begin with *prefix*."""
        found = self._system.get_file_info(FileSelector(f"{self._root}/{flow}", allow_not_found=True))
        return sorted(f"{flow}/{each.base_name}" for each in found if each.base_name.startswith(prefix))

    def committed(self, flow: str, topics: Iterable[str]) -> tuple[int, Offsets] | None:
        """The last batch of *flow* that is done, and up to where it has read *topics*."""
        number, lines = self._last_batch(flow)
        return None if number is None else (number, offsets_of(lines, topics))

    def sequence(self, work: str) -> int:
        """Up to which snapshot *work* has read its table."""
        _, lines = self._last_batch(work)
        found = [json.loads(line) for line in lines]
        return max(
            (each["sequence"] for each in found if isinstance(each, dict) and "sequence" in each), default=0
        )

    def read(self, name: str) -> Any:
        """The JSON in file *name*, or None if there is no such file."""
        text = self._text(name)
        return None if text is None else json.loads(text)

    def write(self, name: str, document: object) -> None:
        """Put *document* into file *name*, whole or not at all."""
        path = f"{self._root}/{name}"
        self._system.create_dir(path.rpartition("/")[0], recursive=True)
        with self._system.open_output_stream(f"{path}.new") as file:
            file.write(json.dumps(document).encode())
        self._system.move(f"{path}.new", path)

    def remove(self, name: str) -> None:
        """Delete file *name*, if it is there."""
        if self._system.get_file_info(f"{self._root}/{name}").type is FileType.File:
            self._system.delete_file(f"{self._root}/{name}")

    def _last_batch(self, work: str) -> tuple[int | None, list[str]]:
        """The last batch that is done, and what Spark has noted of each of its sources."""
        done = self._numbers(f"{work}/checkpoint/commits")
        if not done:
            return None, []
        text = self._text(f"{work}/checkpoint/offsets/{done[-1]}")
        lines = [] if text is None else text.splitlines()[2:]  # after the version and the watermark
        return done[-1], [line for line in lines if line != _NONE_YET]

    def _text(self, name: str) -> str | None:
        try:
            with self._system.open_input_stream(f"{self._root}/{name}") as file:
                return str(file.read().decode())
        except FileNotFoundError:
            return None

    def _numbers(self, folder: str) -> list[int]:
        found = self._system.get_file_info(FileSelector(f"{self._root}/{folder}", allow_not_found=True))
        return sorted(int(each.base_name) for each in found if each.base_name.isdecimal())


def offsets_of(said: Iterable[str | None], topics: Iterable[str]) -> Offsets:
    """The offsets of *topics* among what Spark writes of the sources of a query; others are passed over."""
    found: Offsets = {}
    wanted = set(topics)
    for each in said:
        document = json.loads(each) if each else None
        if isinstance(document, dict) and set(document) <= wanted:
            found.update(from_json(document))
    return found
