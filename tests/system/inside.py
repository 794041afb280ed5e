"""A data directory, opened by a node in this process: quick to start, for tests that do so many times."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.system.ledger import Records
from tests.system.load import committed, connected

from millstream.client.topics import TopicPartition
from millstream.env.clock import Clock, SystemClock
from millstream.env.disk import RealDisk
from millstream.env.environment import Env
from millstream.env.local import LocalRegistry
from millstream.node.config import OTHER_LISTENERS, load
from millstream.node.node import Node
from millstream.records.batch import split
from millstream.records.read import read
from millstream.storage.log import Log


@dataclass
class Found:
    """All that a node has."""

    topics: set[str] = field(default_factory=set)
    records: Records = field(default_factory=dict)
    starts: dict[TopicPartition, int] = field(default_factory=dict)
    commits: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)


def make_node(disk: RealDisk, clock: Clock | None = None, **settings: object) -> Node:
    """A node on *disk*, not started yet; settings have `_` for `.` in their names."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    live = load(
        None,
        {},
        {"log.dir": disk.root, "listeners": ("127.0.0.1:0",), **dict.fromkeys(OTHER_LISTENERS, ""), **named},
    )
    return Node(Env(clock or SystemClock(), disk, LocalRegistry(disk), Random(1)), live)


def look(data: Path, *groups: str) -> Found:
    """All there is in *data*, and what *groups* have committed; the node is then stopped cleanly."""
    return asyncio.run(_look(data, groups))


async def _look(data: Path, groups: tuple[str, ...]) -> Found:
    disk = RealDisk(str(data))
    node = make_node(disk, log_dir_ballast_bytes=0)
    try:
        await node.start()
        found = Found(set(node.broker.topics.image.topics))
        for hosted in node.broker.topics.all_hosted():
            log = hosted.partition.log
            assert log.failure is None, f"{log.name} is offline: {log.failure}"
            partition = TopicPartition(log.topic, log.partition)
            found.records[partition] = records_of(log)
            found.starts[partition] = log.start_offset
        async with connected(str(node.addresses[0])) as client:
            for group in groups:
                for partition, offset in (await committed(client, group)).items():
                    found.commits[group, partition] = offset
        await node.stop()
        return found
    finally:
        disk.close()  # or the file system could not be unmounted


def records_of(log: Log) -> list[tuple[int, bytes]]:
    """Every record of *log*, (offset, value)."""
    found: list[tuple[int, bytes]] = []
    offset = log.start_offset
    while (piece := log.read(offset, 1 << 20, log.end_offset)) is not None:
        for batch in split(piece.read()):
            for record in read(batch, max_bytes=1 << 30):
                if record.offset >= log.start_offset:
                    found.append((record.offset, record.value or b""))
            offset = batch.last_offset + 1
    return found
