"""Spark's own Kafka connector, in Java, reads and writes topics of ours."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.compat.node import Node
from tests.spark.conftest import Topics, spark, spark_is_there  # noqa: F401  # fixtures, for here too
from tests.spark.test_send_once import committed
from tests.support.turns import turn

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the first time, jars are fetched
    pytest.mark.row("Spark's Kafka connector", "platforms", "4.2.0"),
]

HERE = Path(__file__).parent
LAST = ("4.2.0", "4.0.0")  # the connector, and what fetches tokens for it: they come later than Spark


@pytest.fixture
def topics(node: Node) -> Topics:
    return Topics(node.bootstrap)


@pytest.fixture(scope="module")
def connector(spark: Any) -> Any:  # noqa: F811  # the fixture
    """The session with the connector's jars: of Spark's own version, or the last that can be had."""
    if shutil.which("mvn") is None:
        pytest.skip("no mvn: Spark's Kafka connector cannot be fetched (Debian: maven)")
    jars = HERE / "build" / f"spark-{spark.version}"
    with turn(HERE / "build" / "lock"):
        if not fetched(jars, spark.version, spark.version) and not fetched(jars, *LAST):
            pytest.skip(f"Maven has Spark's Kafka connector neither for Spark {spark.version} nor {LAST[0]}")
    for jar in sorted(jars.glob("*.jar")):
        spark.sql(f"ADD JAR '{jar}'")
    return spark


def fetched(jars: Path, connector: str, tokens: str) -> bool:
    """Whether all that the connector needs besides what Spark has is in *jars*, fetched now if need be."""
    complete = jars / "complete"
    wanted = (
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{connector}",
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{tokens}",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.12.1",
    )
    for artifact in () if complete.exists() else wanted:
        copy = ["dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={jars}"]
        done = subprocess.run(["mvn", "-q", "-B", *copy], capture_output=True, cwd=HERE, timeout=300)
        if done.returncode != 0:
            shutil.rmtree(jars, ignore_errors=True)
            return False
    jars.mkdir(parents=True, exist_ok=True)
    complete.touch()
    return True


def values(frame: Any) -> list[int]:
    return sorted(int(row.n) for row in frame.selectExpr("cast(value as string) as n").collect())


def test_batches(connector: Any, topics: Topics) -> None:
    """read from the start and from given offsets; written"""
    topics.create("jvm", partitions=2)
    topics.fill("jvm", 100, partitions=2)
    kafka = {"kafka.bootstrap.servers": topics.bootstrap}
    read = connector.read.format("kafka").options(**kafka).option("subscribe", "jvm")
    assert values(read.load()) == list(range(100))
    assert values(read.option("startingOffsets", '{"jvm": {"0": 10, "1": -2}}').load()) == sorted(
        [*range(20, 100, 2), *range(1, 100, 2)]
    )

    topics.create("jvm-written", partitions=2)
    rows = connector.range(50).selectExpr("cast(id as string) as key", "cast(id as string) as value")
    rows.write.format("kafka").options(**kafka).option("topic", "jvm-written").save()
    assert sorted(committed(topics, "jvm-written").elements()) == list(range(50))


def test_streams(connector: Any, topics: Topics, tmp_path: Path) -> None:
    """from topic to topic, some offsets at a time; the second run goes on where the first ended"""
    topics.create("jvm-in", partitions=2)
    topics.create("jvm-out", partitions=2)  # each record keeps its partition
    kafka = {"kafka.bootstrap.servers": topics.bootstrap}
    for first in (0, 60):
        topics.fill("jvm-in", 60, first=first, partitions=2)
        frame = connector.readStream.format("kafka").options(**kafka).option("subscribe", "jvm-in")
        frame = frame.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "40").load()
        writer = frame.writeStream.format("kafka").options(**kafka).option("topic", "jvm-out")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination(200)

    assert sorted(committed(topics, "jvm-out").elements()) == list(range(120))
