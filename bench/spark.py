"""How fast Spark reads a topic: our data source beside Spark's own Kafka connector, in one run.

    python -m bench.spark [--rows N] [--rounds N] [--quick] [--jars DIRECTORY] [--json FILE]

Both read the same topic of the same node on `local[2]`, in turns, into nothing
(Spark's `noop`) and into Parquet (zstd). The connector's jars come by Maven into
a cache outside the repository; --jars takes them from a directory instead.
Without jars only ours is measured. The figures are medians of rows a second.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench.serving import Node, Wire, produce
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from millstream.records import columns
from millstream.records.build import NewRecord, build
from millstream.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsRequestTopic

TOPIC: Final = "orders"
PARTITIONS: Final = 2
BATCH_ROWS: Final = 1000
SETTINGS: Final = {"flush.policy": "os", "log.dir.ballast.bytes": 0}
# {spark} is the version of pyspark; the others are what that version's connector asks for.
COORDINATES: Final = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:{spark}",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.1",
)


def jars(given: Path | None, version: str, console: Console) -> list[Path]:
    """The connector's jars; none if they cannot be had."""
    if given is not None:
        return sorted(given.glob("*.jar"))
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / f"millstream-bench/spark-{version}"
    )
    if shutil.which("mvn") is None:
        console.print("no mvn here: Spark's Kafka connector is not measured")
        return []
    for coordinate in COORDINATES:
        artifact = coordinate.format(spark=version)
        if any(cache.glob(f"{artifact.split(':')[1]}-*.jar")):
            continue
        command = [
            "mvn",
            "-q",
            "-B",
            "dependency:copy",
            f"-Dartifact={artifact}",
            f"-DoutputDirectory={cache}",
        ]
        if subprocess.run(command, capture_output=True, cwd=tempfile.gettempdir()).returncode:
            console.print(f"Maven has no {artifact}: Spark's Kafka connector is not measured (see --jars)")
            return []
    return sorted(cache.glob("*.jar"))


def fill(wire: Wire, rows: int, progress: Progress) -> None:
    """*rows* records of 100 bytes of JSON with a key of 12, a thousand to a batch."""
    topic = CreateTopicsRequestTopic(TOPIC, PARTITIONS, 1)
    wire.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
    records = [NewRecord(b"key %08d" % n, _order(n), (), 1_700_000_000_000 + n) for n in range(BATCH_ROWS)]
    batch = build(records, now_ms=0)
    for number in progress.track(range(rows // BATCH_ROWS), description="filling the topic"):
        wire.produced(wire.ask(produce(TOPIC, number % PARTITIONS, bytearray(batch)), 9))


def _order(number: int) -> bytes:
    order = {"order_id": f"{number:08d}", "amount": number % 1000 / 8, "ts": "2026-11-01T00:00:00Z"}
    text = json.dumps(order)
    return (text[:-1] + ', "note": "').encode().ljust(98, b"x") + b'"}'


def session(connector: list[Path]) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.showConsoleProgress", "false")
    if connector:
        builder = builder.config("spark.jars", ",".join(map(str, connector)))
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def measured(spark: Any, source: str, port: int, rows: int, into: str, scratch: Path) -> float:
    """Rows a second of one run."""
    frame = spark.read.format(source).option("kafka.bootstrap.servers", f"127.0.0.1:{port}")
    frame = frame.option("subscribe", TOPIC).load()
    started = time.perf_counter()
    if into == "noop":
        frame.write.format("noop").mode("overwrite").save()
    else:
        frame.write.option("compression", "zstd").mode("overwrite").parquet(str(scratch / source))
    return rows / (time.perf_counter() - started)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=20_000_000)  # so that planning a query counts for little
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--jars", type=Path, help="where the connector's jars are")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    rows = 4_000_000 if options.quick else options.rows
    rounds = 3 if options.quick else options.rounds

    import pyspark

    console = Console()
    connector = jars(options.jars, pyspark.__version__, console)
    sources = ["millstream", "kafka"] if connector else ["millstream"]
    scratch = Path(tempfile.mkdtemp(prefix="millstream-bench-", dir=Path.cwd()))
    try:
        with Progress(console=console) as progress, Node(scratch / "data", SETTINGS) as node:
            fill(node.connect(), rows, progress)
            spark = session(connector)
            runs = [(source, into) for into in ("noop", "parquet") for source in sources]
            task = progress.add_task("reading", total=len(runs) * (rounds + 1))
            found: dict[tuple[str, str], list[float]] = {run: [] for run in runs}
            for turn in range(rounds + 1):
                for source, into in runs:
                    rate = measured(spark, source, node.port, rows, into, scratch)
                    if turn:  # the first warms up the JVM
                        found[source, into].append(rate)
                    progress.advance(task)
            spark.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

    table = Table("into", "source", "rows/s, median", "lowest", "highest", "against the connector")
    for (source, into), rates in found.items():
        theirs = found.get(("kafka", into))
        ratio = f"{statistics.median(rates) / statistics.median(theirs):.2f}" if theirs else "-"
        figures = (f"{each:,.0f}" for each in (statistics.median(rates), min(rates), max(rates)))
        table.add_row(into, source, *figures, ratio)
    console.print(table)
    facts = {
        "rows": rows,
        "pyspark": pyspark.__version__,
        "native": columns.NATIVE is not None,
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "rates": {f"{source} {into}": rates for (source, into), rates in found.items()},
    }
    if options.json:
        options.json.write_text(json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
