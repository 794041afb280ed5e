"""A pipeline in a folder of its own, on the broker and the Spark that all tests here share."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, final

import pytest
from tests.spark.conftest import Topics

from millstream.pipeline import Pipeline


@final
class Bench:
    """Fills topics, runs pipelines once through, and looks at what has come of it."""

    def __init__(self, spark: Any, topics: Topics, folder: Path) -> None:
        self.spark = spark
        self.topics = topics
        self.folder = folder

    def pipeline(self, name: str, **settings: Any) -> Pipeline:
        return Pipeline(name, brokers=self.topics.bootstrap, folder=self.folder, **settings)

    def send(self, topic: str, values: Iterable[object], partitions: int = 2) -> None:
        self.topics.send(topic, values, partitions)

    def run(self, pipeline: Pipeline, **options: Any) -> dict[str, Any]:
        """Run once through what there is; how far each flow has come."""
        from millstream.pipeline.context import settle
        from millstream.pipeline.run import Run

        states = Run(settle(pipeline), self.spark, once=True, **options).run()
        return {each.flow: each for each in states}

    def table(self, pipeline: Pipeline, name: str) -> list[dict[str, Any]]:
        from millstream.pipeline.context import settle
        from millstream.pipeline.tables import find_table

        table = find_table(settle(pipeline), name)
        return [] if table is None else list(table.scan().to_arrow().to_pylist())

    def values(self, topic: str) -> list[Any]:
        reader = self.spark.read.format("millstream").option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", self.topics.bootstrap)
        return [
            json.loads(row.value)
            for row in reader.option("kafka.isolation.level", "read_committed").load().collect()
        ]

    def lag(self, group: str) -> int:
        """As `millstream group describe` shows it."""
        from millstream.cli.group.describe import look_up

        return int(self.topics.do(lambda client: look_up(client, group)).lag)


@pytest.fixture
def bench(spark: Any, topics: Topics, tmp_path: Path) -> Bench:
    return Bench(spark, topics, tmp_path)


def counted(rows: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], object]) -> Counter[object]:
    return Counter(key(row) for row in rows)
