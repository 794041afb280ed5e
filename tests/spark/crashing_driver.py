"""A driver to be killed: copies a topic to a topic and to tables of both kinds, exactly once each.

It says which batch begins, and goes on until its input is closed; then it works off what there is. Before a
batch it passes the gate `before`, and the gate `after` between its own commits and Spark's, and says so if it
finds one closed: see `Gate`.

python -m tests.spark.crashing_driver MASTER BOOTSTRAP FOLDER [backwards]
"""

import fcntl
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, final

from pyspark.sql import SparkSession

from millstream.spark.exactly_once import exactly_once
from millstream.spark.lake import TableOptions, table_once
from millstream.spark.workers import worker_python


@final
class Gate:
    """A place that drivers pass, a file in *folder*: closed to them within a `with`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._path = folder / f"{name}.gate"
        self._path.touch()

    def pass_with(self, batch: int) -> None:
        with open(self._path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"{self.name} {batch}", flush=True)
                fcntl.flock(file, fcntl.LOCK_SH)
                print(f"through {batch}", flush=True)

    def __enter__(self) -> None:
        self._file = open(self._path)  # which, once it is closed, nobody has locked
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def main(master: str, bootstrap: str, folder: Path, *, backwards: bool) -> None:
    os.environ["PYSPARK_PYTHON"] = worker_python(Path(tempfile.mkdtemp(dir=folder)))
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
    before, after = Gate(folder, "before"), Gate(folder, "after")
    to_topic = exactly_once("crashing", "crash-out", kafka)
    to_iceberg = table_once("crashing", TableOptions(name="lake.iceberg", warehouse=warehouse))
    to_delta = table_once("crashing", TableOptions(name="lake.delta", warehouse=warehouse, kind="delta"))

    def each(batch: Any, number: int) -> None:
        print(f"batch {number}", flush=True)
        before.pass_with(number)
        rows = batch.selectExpr("cast(cast(value as string) as int) as n", "partition", "offset", "timestamp")
        steps: list[tuple[Any, Any]] = [
            (to_topic, batch.select("key", "value")),
            (to_iceberg, rows),
            (to_delta, rows),
        ]
        for write, frame in reversed(steps) if backwards else steps:
            write(frame, number)
        after.pass_with(number)

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
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), backwards="backwards" in sys.argv[4:])
