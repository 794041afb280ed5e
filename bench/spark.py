"""How fast Spark reads a topic: our data source beside Spark's own Kafka connector, in one run.

    python -m bench.spark [--rows N] [--rounds N] [--quick] [--jars DIRECTORY] [--json FILE]

Both read the same topic of the same node on `local[2]`, in turns, into nothing
(Spark's `noop`) and into Parquet (zstd); ours also into an Iceberg table, by
`millstream.spark.lake`, which is set against the connector's Parquet. The
connector's jars come by Maven into a cache outside the repository; --jars takes
them from a directory instead. Without jars only ours is measured.

The figures are medians of rows a second. Ratios are taken round by round, so that
what disturbs the machine disturbs both sides of them. Beside them stands the
processor time of a row, in all and for the node, the JVM and the Python workers:
the figure that changes least on a machine that is shared.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.serving import Node, Wire, produce
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from millstream.records import columns
from millstream.records.build import NewRecord, build
from millstream.spark.lake import TableOptions, table_once
from millstream.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsRequestTopic

TOPIC: Final = "orders"
PARTITIONS: Final = 2
BATCH_ROWS: Final = 1000
BATCHES: Final = 500  # that differ: more than a dictionary of Parquet's holds
PARTIES: Final = ("node", "jvm", "python")
TICK: Final = os.sysconf("SC_CLK_TCK")
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
    batches = [_batch(number) for number in range(BATCHES)]
    for number in progress.track(range(rows // BATCH_ROWS), description="filling the topic"):
        batch = bytearray(batches[number % BATCHES])
        wire.produced(wire.ask(produce(TOPIC, number % PARTITIONS, batch), 9))


def _batch(number: int) -> bytes:
    numbers = range(number * BATCH_ROWS, (number + 1) * BATCH_ROWS)
    records = [NewRecord(b"key %08d" % n, _order(n), (), 1_700_000_000_000 + n) for n in numbers]
    return bytes(build(records, now_ms=0))


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


@dataclass(frozen=True)
class Measured:
    """One run: rows a second, and microseconds of processor time a row for each of PARTIES."""

    rate: float
    cpu: dict[str, float]


class Meter:
    """What node, JVM and Python workers have used of the processor."""

    def __init__(self, node: Node, spark: Any) -> None:
        self._node = node.process.pid
        self._jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())

    def seconds(self) -> dict[str, float]:
        jvm = _stat(self._jvm)
        tree = [_stat(pid) for pid in _descendants(self._jvm)]
        # Those that have ended are counted by the parent that waited for them.
        python = sum(sum(each) for each in tree) + jvm[2] + jvm[3]
        parts = {"node": sum(_stat(self._node)[:2]), "jvm": jvm[0] + jvm[1], "python": python}
        return {party: ticks / TICK for party, ticks in parts.items()}


def _stat(pid: int) -> list[int]:
    """User and system time of a process, then those of its children that have ended; zeros if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0] * 4
    return [int(each) for each in fields[11:15]]


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found


def measured(spark: Any, run: tuple[str, str], node: Node, rows: int, scratch: Path, turn: int) -> Measured:
    """Read the topic once by the source of *run*, into what it names."""
    source, into = run
    frame = spark.read.format(source).option("kafka.bootstrap.servers", f"127.0.0.1:{node.port}")
    frame = frame.option("subscribe", TOPIC).load()
    meter = Meter(node, spark)
    before, started = meter.seconds(), time.perf_counter()
    if into == "noop":
        frame.write.format("noop").mode("overwrite").save()
    elif into == "parquet":
        frame.write.option("compression", "zstd").mode("overwrite").parquet(str(scratch / source))
    else:
        # A table a round: nothing is there that would have to be read or packed.
        table = TableOptions(name=f"lake.orders{turn}", warehouse=scratch / "warehouse")
        table_once("bench", table, query_id="bench")(frame, turn)
    took, after = time.perf_counter() - started, meter.seconds()
    if into == "iceberg":
        shutil.rmtree(scratch / "warehouse")
    return Measured(rows / took, {each: (after[each] - before[each]) / rows * 1e6 for each in PARTIES})


def shown(found: dict[tuple[str, str], list[Measured]]) -> Table:
    """A row a run: medians over the rounds, and how they stand against the connector's in the same round."""
    table = Table("into", "source", "rows/s, median", "lowest", "highest", "µs of processor a row", "against")
    for (source, into), results in found.items():
        rates = [each.rate for each in results]
        cpu = {each: statistics.median(result.cpu[each] for result in results) for each in PARTIES}
        parts = ", ".join(f"{each} {cpu[each]:.2f}" for each in PARTIES)
        theirs = found.get(("kafka", "parquet" if into == "iceberg" else into), [])
        ratios = [ours.rate / other.rate for ours, other in zip(results, theirs, strict=False)]
        against = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})" if ratios else "-"
        figures = (f"{each:,.0f}" for each in (statistics.median(rates), min(rates), max(rates)))
        table.add_row(into, source, *figures, f"{sum(cpu.values()):.2f} ({parts})", against)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=20_000_000)  # so that planning a query counts for little
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--jars", type=Path, help="where the connector's jars are")
    parser.add_argument("--scratch", type=Path, default=Path.cwd(), help="where data may be put meanwhile")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    rows = 4_000_000 if options.quick else options.rows
    rounds = 3 if options.quick else options.rounds

    import pyspark

    console = Console()
    connector = jars(options.jars, pyspark.__version__, console)
    runs = [("millstream", "noop"), ("millstream", "parquet"), ("millstream", "iceberg")]
    if connector:
        runs = [("kafka", "noop"), runs[0], ("kafka", "parquet"), *runs[1:]]
    scratch = Path(tempfile.mkdtemp(prefix="millstream-bench-", dir=options.scratch))
    try:
        with Progress(console=console) as progress, Node(scratch / "data", SETTINGS) as node:
            fill(node.connect(), rows, progress)
            spark = session(connector)
            task = progress.add_task("reading", total=len(runs) * (rounds + 1))
            found: dict[tuple[str, str], list[Measured]] = {run: [] for run in runs}
            for turn in range(rounds + 1):
                for run in runs if turn % 2 else reversed(runs):
                    result = measured(spark, run, node, rows, scratch, turn)
                    if turn:  # the first warms up the JVM
                        found[run].append(result)
                    progress.advance(task)
            spark.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

    console.print(shown(found))
    facts = {
        "rows": rows,
        "pyspark": pyspark.__version__,
        "native": columns.NATIVE is not None,
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "runs": {
            f"{source} {into}": [asdict(each) for each in results]
            for (source, into), results in found.items()
        },
    }
    if options.json:
        options.json.write_text(json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
