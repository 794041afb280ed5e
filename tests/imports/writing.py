"""Folders as Panda-Q and TinyMQ leave them, written the way they write."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def tinymq(folder: Path, topic: str, partition: int, records: Sequence[tuple[str | None, str, str]]) -> Path:
    """Records as (key, value, timestamp)."""
    path = folder / topic / f"partition-{partition}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for offset, (key, value, timestamp) in enumerate(records):
            line = {"offset": offset, "timestamp": timestamp, "value": value, "key": key}
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return path


class PandaQ:
    """A broker that only writes: `ingress` stages a message, `move` moves what is staged."""

    def __init__(self, folder: Path, topics: Mapping[str, int], broker_id: str = "broker_1") -> None:
        self.folder = folder
        self.topics = dict(topics)
        self.broker_id = broker_id
        self.consumers: dict[tuple[str, int], str] = {}
        self.ends: dict[tuple[str, int], int] = {
            (topic, index): 0 for topic, count in topics.items() for index in range(count)
        }
        self.reads = dict(self.ends)
        self.staged: list[tuple[str, str, str]] = []
        self.ingress_end = self.ingress_read = 0
        folder.mkdir(parents=True)
        (folder / "config.log").write_text(
            "".join(f"topic_config|{topic}|{count}\n" for topic, count in topics.items())
        )
        (folder / "ingress.log").write_text("")
        for topic, index in self.ends:
            path = self.log(topic, index)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        self.write_metadata()

    def log(self, topic: str, index: int) -> Path:
        return self.folder / "topics" / f"topic_{topic}" / f"partition_{index}.log"

    def ingress(self, topic: str, id: str, content: object) -> None:
        text = content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))
        self.ingress_end += 1
        with (self.folder / "ingress.log").open("a", encoding="utf-8", newline="") as file:
            file.write(f"{self.broker_id}|{self.ingress_end}|{topic}|{id}|{text}\n")
        self.staged.append((topic, id, text))
        self.write_metadata()

    def move(self) -> None:
        for topic, id, text in self.staged:
            index = int(hashlib.sha256(id.encode()).hexdigest()[:8], 16) % self.topics[topic]
            self.ends[topic, index] += 1
            with self.log(topic, index).open("a", encoding="utf-8", newline="") as file:
                file.write(f"{topic}|{index}|{self.ends[topic, index]}|{id}|{text}\n")
        self.ingress_read += len(self.staged)
        self.staged.clear()
        self.write_metadata()

    def write_metadata(self) -> None:
        for topic, count in self.topics.items():
            (self.log(topic, 0).parent / f"{topic}_partition_metadata.log").write_text(
                "".join(
                    f"{topic}_partition_{index}|{self.ends[topic, index]}|{self.reads[topic, index]}\n"
                    for index in range(count)
                )
            )
        (self.folder / "ingress_metadata.log").write_text(f"ingress|{self.ingress_end}|{self.ingress_read}\n")
        (self.folder / "TPC.log").write_text(
            "".join(
                f"{topic}|{index}|{self.consumers.get((topic, index), '')}\n" for topic, index in self.ends
            )
        )
