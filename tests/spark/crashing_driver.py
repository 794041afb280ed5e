"""A driver to be killed: copies a topic to a topic and to a table, exactly once each, and says how far it is.

python -m tests.spark.crashing_driver BOOTSTRAP FOLDER
"""

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.spark.exactly_once import exactly_once
from millstream.spark.lake import TableOptions, table_once


def main(bootstrap: str, folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    kafka = {"kafka.bootstrap.servers": bootstrap}
    to_topic = exactly_once("crashing", "crash-out", kafka)
    to_table = table_once("crashing", TableOptions(name="lake.crash", warehouse=folder / "warehouse"))

    def each(batch: Any, number: int) -> None:
        print(f"batch {number}", flush=True)
        to_topic(batch.select("key", "value"), number)
        to_table(batch.selectExpr("cast(value as string) as n", "partition", "offset", "timestamp"), number)

    query = (
        spark.readStream.format("millstream")
        .options(**kafka)
        .option("subscribe", "crash-in")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "100")
        .load()
        .writeStream.foreachBatch(each)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
