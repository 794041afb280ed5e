"""A driver to be killed: copies a topic to a topic and to tables of both kinds, exactly once each.

It says which batch begins, and goes on until its input is closed; then it works off what there is.

python -m tests.spark.crashing_driver MASTER BOOTSTRAP FOLDER
"""

import os
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.spark.exactly_once import exactly_once
from millstream.spark.lake import TableOptions, table_once
from millstream.spark.workers import worker_python


def main(master: str, bootstrap: str, folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = worker_python(folder)
    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")  # two executors, so that one is left
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    kafka = {"kafka.bootstrap.servers": bootstrap}
    warehouse = folder / "warehouse"
    to_topic = exactly_once("crashing", "crash-out", kafka)
    to_iceberg = table_once("crashing", TableOptions(name="lake.iceberg", warehouse=warehouse))
    to_delta = table_once("crashing", TableOptions(name="lake.delta", warehouse=warehouse, kind="delta"))

    def each(batch: Any, number: int) -> None:
        print(f"batch {number}", flush=True)
        to_topic(batch.select("key", "value"), number)
        rows = batch.selectExpr("cast(cast(value as string) as int) as n", "partition", "offset", "timestamp")
        to_iceberg(rows, number)
        to_delta(rows, number)

    query = (
        spark.readStream.format("millstream")
        .options(**kafka)
        .option("subscribe", "crash-in")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "100")
        .load()
        .writeStream.foreachBatch(each)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )

    def finish() -> None:
        sys.stdin.read()
        query.processAllAvailable()
        query.stop()

    threading.Thread(target=finish, daemon=True).start()
    query.awaitTermination()
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
