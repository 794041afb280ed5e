"""The manual's example of Spark's own Declarative Pipelines, with topics as source and as sink."""

import os
import re
import socket
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.spark.conftest import Topics
from tests.spark.test_send_once import committed

pytestmark = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("grpc_status") is None, reason='needs pip install "pyspark[pipelines]"'),
]

MANUAL = Path(__file__).parent.parent.parent / "docs/spark.md"
SPECIFICATION = """
name: shop
storage: file://{folder}/storage
libraries:
  - glob: {{include: transformations/**}}
"""


def example(bootstrap: str) -> str:
    (found,) = re.findall(r"^```py\n(.*?)^```", MANUAL.read_text(), re.DOTALL | re.MULTILINE)
    renamed = str(found).replace('"subscribe", "orders"', '"subscribe", "declared"')
    return renamed.replace('"copied"', '"declared-copies"').replace("localhost:9092", bootstrap)


def run(folder: Path) -> None:
    import pyspark

    command = [
        f"{pyspark.__path__[0]}/bin/spark-pipelines", "run", "--remote", "local[2]",
        "--conf", "spark.sql.catalogImplementation=hive",
        "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2",
    ]  # fmt: skip
    here = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, cwd=folder, env=here, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def connect_is_free(spark_is_there: None) -> None:
    """Spark Connect, when it is started for one pipeline, is always at the same port."""
    with socket.socket() as taken:
        if taken.connect_ex(("127.0.0.1", 15002)) == 0:
            pytest.skip("port 15002, which Spark Connect wants, is taken")


def test_a_topic_becomes_tables_and_a_topic(connect_is_free: None, topics: Topics, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for name in ("declared", "declared-copies"):
        topics.create(name, partitions=2)
    topics.fill("declared", 100, partitions=2)
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(SPECIFICATION.format(folder=tmp_path))
    (tmp_path / "transformations/orders.py").write_text(example(topics.bootstrap))

    run(tmp_path)

    orders = pq.read_table(tmp_path / "spark-warehouse/orders")
    assert Counter(map(int, orders["value"].to_pylist())) == Counter(range(100))
    counted = pq.read_table(tmp_path / "spark-warehouse/by_partition").to_pylist()
    assert sorted((row["partition"], row["count"]) for row in counted) == [(0, 50), (1, 50)]
    assert committed(topics, "declared-copies") == Counter(range(100))
