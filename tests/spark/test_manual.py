"""Every Python example of the manuals runs, in the order in which it is read."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import Topics

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DOCS = Path(__file__).parent.parent.parent / "docs"


def run(manual: str, topics: Topics, folder: Path) -> dict[str, Any]:
    """Run all examples of a manual in one place; the names they have given to things."""
    examples = re.findall(r"```python\n(.*?)```", (DOCS / manual).read_text(), re.DOTALL)
    assert len(examples) >= 4
    names: dict[str, Any] = {}
    for example in examples:
        here = example.replace("localhost:9092", topics.bootstrap)
        exec(re.sub(r'"([\w-]+\.(parquet|checkpoint)|warehouse[\w/]*)"', rf'"{folder}/\1"', here), names)
    return names


def test_topics_in_spark(spark: Any, topics: Topics, tmp_path: Path) -> None:
    for name in ("orders", "shouted", "copied"):
        topics.recreate(name, partitions=2)
    topics.fill("orders", 20, partitions=2)
    names = run("spark.md", topics, tmp_path)

    read = spark.read.format("millstream").option("kafka.bootstrap.servers", topics.bootstrap)
    assert names["recent"].count() == 15
    assert spark.read.parquet(f"{tmp_path}/orders.parquet").count() == 20
    assert read.option("subscribe", "shouted").load().count() == 20
    assert read.option("subscribe", "copied").load().count() == 40  # at least once, and exactly once


def test_lake_tables(spark: Any, topics: Topics, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics.recreate("orders", partitions=2)
    topics.fill("orders", 20, partitions=2)
    topics.fill("orders", 5, partitions=2)
    run("lake.md", topics, tmp_path)

    assert capsys.readouterr().out.split()[:2] == ["25", "20"]
