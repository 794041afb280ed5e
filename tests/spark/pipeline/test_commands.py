"""The commands of `millstream pipeline`, each in a process of its own, as the manual has them."""

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC
from pathlib import Path
from typing import Any, Final, final

import pytest

pytest.importorskip("pyiceberg", reason='pyiceberg is not installed: pip install "millstream[spark]"')

from tests.spark.conftest import Topics

from millstream.spark.lake import open_catalog

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

ORDERS: Final = 2000


def order(n: int, **other: Any) -> dict[str, Any]:
    return {"id": f"o{n}", "amount": n + 1.0, "ts": f"2026-11-01T00:{n % 60:02}:00Z", **other}


@final
class Shell:
    """Runs `millstream` in *folder*, with the brokers of *topics* unless another is named."""

    def __init__(self, folder: Path, topics: Topics | None = None) -> None:
        self._folder = folder
        self._brokers = [] if topics is None else ["--brokers", topics.bootstrap]

    def __call__(self, *words: str) -> str:
        command = [sys.executable, "-m", "millstream", *words]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, *self._brokers, "-o", "json"))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return list(open_catalog(self._folder / "warehouse").load_table(name).scan().to_arrow().to_pylist())


def test_the_demo_answers_what_its_table_and_its_topic_hold(spark_is_there: None, tmp_path: Path) -> None:
    said = json.loads(
        Shell(tmp_path)("pipeline", "demo", "--orders", str(ORDERS), "--json", "--master", "local[2]")
    )

    flows = {each["flow"]: each for each in said["flows"]}
    assert {name: (each["state"], each["lag"]) for name, each in flows.items()} == {
        "clean": ("done", 0),
        "totals": ("done", 0),
    }
    assert (flows["clean"]["rows"], flows["clean"]["bad"]) == (ORDERS + 3, 3)
    rows = Shell(tmp_path / "millstream-demo").rows("lake.orders")
    assert len({row["id"] for row in rows}) == len(rows) == ORDERS
    by_product = Counter(row["product"] for row in rows)
    assert {each["product"]: each["orders"] for each in said["best_sellers"]} == by_product
    by_minute: Counter[str] = Counter()
    for row in rows:
        by_minute[row["ts"].astimezone(UTC).strftime("%H:%M")] += round(row["amount"] * 100)
    made = {each["minute"]: round(each["total"] * 100) for each in said["totals"]}
    assert len(made) >= 28, "all minutes but the last, which is not over"
    assert made == {minute: by_minute[minute] for minute in made}
    chart = (tmp_path / said["chart"]).read_text()
    assert chart.startswith("<svg")
    assert all(minute in chart for minute in (min(made), max(made)))


@pytest.mark.long
def test_a_pipelines_life_by_commands_alone(spark_is_there: None, topics: Topics, tmp_path: Path) -> None:
    """new, run, status, replay after a fix, backfill and compact; and its lag by `group describe`."""
    for name in ("orders", "order-totals"):
        topics.recreate(name, partitions=2)
    topics.send("orders", [order(n) for n in range(50)])
    shell = Shell(tmp_path, topics)
    shell("pipeline", "new", "orders.yaml")

    (clean, _) = shell.json("pipeline", "run", "orders.yaml", "--from", "end", "--once")
    assert (clean["state"], clean["rows"]) == ("done", 0)
    topics.send("orders", [*(order(n) for n in range(50, 99)), order(99, amount="100 EUR")])
    (filled,) = shell.json("pipeline", "backfill", "orders.yaml", "--flow", "clean")
    assert filled["rows"] == 50
    assert shell.json("pipeline", "status", "orders.yaml")["flows"][0]["lag"] == 50
    (clean, totals) = shell.json("pipeline", "run", "orders.yaml", "--once")
    assert (clean["rows"], clean["bad"], clean["lag"], totals["state"]) == (50, 1, 0, "done")

    status = shell.json("pipeline", "status", "orders.yaml")
    assert status["state"] == "stopped"
    assert {name: status["flows"][0][name] for name in ("lag", "table_rows", "bad", "waiting")} == {
        "lag": 0,
        "table_rows": 99,
        "bad": 1,
        "waiting": 1,
    }
    (group,) = shell.json("group", "describe", "orders")
    assert group["lag"] == 0

    file = tmp_path / "orders.yaml"
    fixed = (
        file.read_text()
        .replace("amount double", "amount string")
        .replace(
            "    into:\n      table: lake.orders",
            "    sql: SELECT id, CAST(split(amount, ' ')[0] AS double) AS amount, ts FROM orders\n"
            "    into:\n      table: lake.orders",
        )
        .replace("check: amount > 0", "check: amount <> ''")
    )
    file.write_text(fixed)
    (replayed,) = shell.json("pipeline", "replay", "orders.yaml")
    assert (replayed["rows"], replayed["bad"]) == (1, 0)
    before = sorted(str(row) for row in shell.rows("lake.orders"))
    assert sorted(row["amount"] for row in shell.rows("lake.orders")) == [n + 1.0 for n in range(100)]

    kept = {each["table"]: each for each in shell.json("pipeline", "compact", "orders.yaml")}
    assert kept["lake.orders"]["files_before"] > kept["lake.orders"]["files_after"] == 1
    assert sorted(str(row) for row in shell.rows("lake.orders")) == before
    assert shell.json("pipeline", "status", "orders.yaml")["flows"][0]["waiting"] == 0
