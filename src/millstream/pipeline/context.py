"""Where a pipeline runs: its definition with every path and address settled."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from millstream.client.topics import TopicPartition
from millstream.pipeline.definition import Pipeline, Topic
from millstream.pipeline.home import Home
from millstream.spark.connection import BOOTSTRAP, Reach, read_reach
from millstream.spark.words import to_json

DEFAULT_BROKERS: Final = "127.0.0.1:9092"


@final
@dataclass(frozen=True)
class Context:
    """A *pipeline* on a Spark session and a cluster."""

    pipeline: Pipeline
    brokers: str
    folder: Path
    warehouse: str
    home: Home

    @property
    def kafka(self) -> dict[str, str]:
        """Options by which any topic of the cluster is reached."""
        return {**self.pipeline.options, BOOTSTRAP: self.brokers}

    @property
    def reach(self) -> Reach:
        return read_reach({name.lower(): value for name, value in self.kafka.items()})


def settle(pipeline: Pipeline, brokers: str | None = None) -> Context:
    """*pipeline* in its place; *brokers* go before those that it names itself."""
    folder = pipeline.folder or Path.cwd()
    warehouse = _placed(folder, pipeline.warehouse)
    home = _placed(folder, pipeline.checkpoints or os.path.join(warehouse, "_pipelines"))
    return Context(
        pipeline,
        brokers or pipeline.brokers or DEFAULT_BROKERS,
        folder,
        warehouse,
        Home(f"{home}/{pipeline.name}"),
    )


def read_options(
    context: Context,
    topic: Topic,
    start: Mapping[TopicPartition, int],
    until: Mapping[TopicPartition, int] | None = None,
) -> dict[str, str]:
    """Options of the source for *topic*, from *start* on, up to *until* if that is given."""

    def place(offsets: Mapping[TopicPartition, int]) -> str:
        return json.dumps(to_json({at: offset for at, offset in offsets.items() if at.topic == topic.name}))

    options = {
        "kafka.isolation.level": "read_committed",
        "maxOffsetsPerTrigger": str(context.pipeline.batch),
        "includeHeaders": str(topic.headers).lower(),
        **context.kafka,
        **topic.options,
        "subscribe": topic.name,
        "startingOffsets": place(start),
    }
    if until is not None:  # partitions that were added since are none of it
        del options["subscribe"]
        partitions = sorted(at.partition for at in until if at.topic == topic.name)
        options |= {"assign": json.dumps({topic.name: partitions}), "endingOffsets": place(until)}
    return options


def _placed(folder: Path, path: str) -> str:
    return path if "://" in path else str((folder / path).absolute())
