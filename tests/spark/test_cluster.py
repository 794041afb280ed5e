"""The data source and pipelines on a standalone Spark: a master, a worker, executors of their own."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import Topics
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

ORDERS = 1000
DEFINITION = """
pipeline: far
flows:
  clean:
    from: {topic: far, json: "id bigint not null, amount double"}
    expect: [amount >= 0]
    into: {table: lake.far}
  doubled:
    from: {topic: far, json: "id bigint not null, amount double"}
    sql: SELECT id, amount * 2 AS twice FROM far WHERE amount >= 0
    into: {topic: far-doubled, key: id}
"""
READER = """
import os, sys
from pyspark.sql import SparkSession
os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master(sys.argv[1]).appName("reader").config("spark.ui.enabled", "false")
spark = builder.config("spark.executor.memory", "512m").getOrCreate()
read = spark.read.format("millstream").option("kafka.bootstrap.servers", sys.argv[2])
read = read.option("kafka.isolation.level", "read_committed").option("subscribe", "far-doubled")
rows = read.load().selectExpr("from_json(string(value), 'id bigint, twice double') AS it").select("it.*")
print(rows.selectExpr("count(*)", "count(DISTINCT id)", "sum(twice)").first())
spark.stop()
"""


def run(*command: str) -> str:
    here = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, *command], env=here, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def applications(cluster: SparkCluster) -> list[Any]:
    """What the master says it has run."""
    with urllib.request.urlopen(f"{cluster.page}/json/", timeout=60) as page:
        return list(json.load(page)["completedapps"])


def test_a_pipeline_runs_there_and_so_does_who_reads_what_it_wrote(
    spark_cluster: SparkCluster, topics: Topics, tmp_path: Path
) -> None:
    from millstream.spark.lake import open_catalog

    topics.create("far", partitions=2)
    topics.create("far-doubled", partitions=2)
    orders = [{"id": n, "amount": n / 2} for n in range(ORDERS)]
    topics.send("far", [*orders, {"id": -1, "amount": -1.0}, b"nope"])
    (tmp_path / "far.yaml").write_text(DEFINITION)

    asked = ("--once", "--json", "--brokers", topics.bootstrap, "--master", spark_cluster.url)
    said = run(
        "-m", "millstream", "pipeline", "run", str(tmp_path / "far.yaml"), *asked,
        "--conf", "spark.executor.memory=512m",
    )  # fmt: skip
    read = run("-c", READER, spark_cluster.url, topics.bootstrap)

    states = {each["flow"]: each for each in json.loads(said)}
    assert [(each["state"], each["lag"]) for each in states.values()] == [("done", 0)] * 2
    table = open_catalog(tmp_path / "warehouse").load_table("lake.far").scan().to_arrow()
    assert sorted(table.to_pylist(), key=lambda row: int(row["id"])) == orders
    total = sum(n for n in range(ORDERS))
    assert read.strip() == f"Row(count(1)={ORDERS}, count(DISTINCT id)={ORDERS}, sum(twice)={float(total)})"
    ran = {each["name"]: each["cores"] for each in applications(spark_cluster)}
    assert ran["millstream pipeline far"] > 0
    assert ran["reader"] > 0
