"""Pipelines run by a real Spark against a real broker."""

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.spark.pipeline.conftest import Bench

from millstream.pipeline import Pipeline, table, topic
from millstream.pipeline.definition import InvalidPipeline
from millstream.pipeline.yaml_form import read_yaml

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = "id string not null, amount double, ts timestamp"


def order(n: int, **other: Any) -> dict[str, Any]:
    return {"id": f"o{n}", "amount": float(n), "ts": f"2026-11-01T00:{n // 60:02}:{n % 60:02}Z", **other}


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(row["id"] for row in rows)


def cleaned(bench: Bench, name: str, source: str, **settings: Any) -> Pipeline:
    pipeline = bench.pipeline(name, **settings)

    @pipeline.flow(
        source=topic(source, json=SCHEMA),
        into=table(f"lake.{source}"),
        expect={"amount >= 0": "drop", "amount < 190": "warn"},
    )
    def clean(orders: Any) -> Any:
        return orders.selectExpr("id", "amount * 2 AS twice", "ts")

    return pipeline


def test_bad_records_cost_a_row_each_and_can_be_replayed(bench: Bench) -> None:
    """The whole life: run, bad records with reasons, lag of zero, more records, a fix, a replay."""
    from millstream.pipeline.again import replay
    from millstream.pipeline.context import settle
    from millstream.pipeline.run import finish
    from millstream.pipeline.status import look
    from millstream.pipeline.upkeep import keep_in_order

    bench.topics.create("raw", partitions=2)
    good = [order(n) for n in range(200)]
    bad: list[object] = [b"nope", order(7, amount="12 EUR"), order(8, amount=-1.0), {"amount": 3.0}, b""]
    bench.send("raw", [*good, *bad])
    pipeline = cleaned(bench, "life", "raw", batch=150)

    state = bench.run(pipeline)["clean"]

    assert (state.rows, state.bad, state.lag, state.state) == (205, 5, 0, "done")
    assert state.warned == {"amount < 190": 10}
    rows = bench.table(pipeline, "lake.raw")
    assert ids(rows) == ids(good)
    assert {row["twice"] for row in rows} == {2.0 * n for n in range(200)}
    wrong = bench.table(pipeline, "lake.life_bad")
    assert sorted((row["reason"], row["value"]) for row in wrong) == [
        ("amount is no double: 12 EUR", b'{"id": "o7", "amount": "12 EUR", "ts": "2026-11-01T00:00:07Z"}'),
        ("id is missing", b'{"amount": 3.0}'),
        ("no value", b""),
        ("not JSON", b"nope"),
        ("not as expected: amount >= 0", b'{"id": "o8", "amount": -1.0, "ts": "2026-11-01T00:00:08Z"}'),
    ]
    assert {(row["topic"], row["partition"], row["offset"]) for row in wrong} == {
        ("raw", n % 2, n // 2) for n in range(200, 205)
    }
    assert bench.lag("life") == 0

    bench.send("raw", [order(n) for n in range(200, 210)])
    assert bench.lag("life") == 10
    again = bench.run(pipeline)["clean"]
    assert (again.rows, again.bad, again.lag) == (10, 0, 0)
    assert ids(bench.table(pipeline, "lake.raw")) == ids([order(n) for n in range(210)])
    assert bench.lag("life") == 0

    fixed = bench.pipeline("life")

    @fixed.flow(source=topic("raw", json="id string not null, amount string"), into=table("lake.raw"))
    def clean(orders: Any) -> Any:
        return orders.selectExpr("id", "CAST(split(amount, ' ')[0] AS double) * 2 AS twice")

    context = settle(fixed)
    for tries, (rows_seen, still_bad) in enumerate([(5, 3), (3, 3)]):
        start = replay(context, bench.spark, fixed.flows["clean"])
        assert start is not None
        done = finish(start, lambda states: None, threading.Event())
        assert (done.rows, done.bad) == (rows_seen, still_bad), f"replay {tries}"
    expected = ids([order(n) for n in [*range(210), 7, 8]])
    assert ids(bench.table(fixed, "lake.raw")) == expected
    (flow,), _ = look(context)
    assert (flow["lag"], flow["bad"], flow["waiting"], flow["table_rows"]) == (0, 11, 3, 212)

    kept = keep_in_order(context, 1 << 20, *[datetime.now(UTC)] * 2)
    assert [(each.table, each.files_after) for each in kept] == [("lake.raw", 1), ("lake.life_bad", 1)]
    assert ids(bench.table(fixed, "lake.raw")) == expected


def test_history_filled_in_is_as_if_it_had_been_read_live(bench: Bench) -> None:
    """The same definition gives the same table, whichever way the records came in."""
    from millstream.pipeline.again import backfills
    from millstream.pipeline.context import settle
    from millstream.pipeline.run import finish

    bench.topics.create("past", partitions=2)
    bench.send("past", [b"nope", *(order(n) for n in range(99))])
    live = cleaned(bench, "live", "past", batch=40, warehouse="live")
    bench.run(live)

    late = cleaned(bench, "late", "past", batch=40, warehouse="late")
    bench.run(late, start="end")
    assert bench.table(late, "lake.past") == []
    for rows in (100, 0):  # what is filled in once stays as it is
        (start,) = backfills(settle(late), bench.spark, late.flows.values(), "start", None)
        assert finish(start, lambda states: None, threading.Event()).rows == rows
    bench.send("past", [order(n) for n in range(99, 120)])
    for pipeline in (live, late):
        bench.run(pipeline)

    def by_id(pipeline: Pipeline) -> list[dict[str, Any]]:
        return sorted(bench.table(pipeline, "lake.past"), key=lambda row: str(row["id"]))

    assert by_id(live) == by_id(late)
    assert len(by_id(live)) == 120
    assert len(bench.table(late, "lake.late_bad")) == len(bench.table(live, "lake.live_bad")) == 1


def test_what_history_would_spoil_is_refused_before_anything_is_done(bench: Bench) -> None:
    from millstream.pipeline.again import backfills, replay
    from millstream.pipeline.context import settle

    bench.topics.create("spoilt", partitions=2)
    bench.send("spoilt", [b"nope", *(order(n) for n in range(9))])
    pipeline = bench.pipeline("spoilt")
    source = topic("spoilt", json=SCHEMA)
    pipeline.add("plain", source, table("lake.plain"), lambda frame: frame)
    pipeline.add("keyed", source, table("lake.keyed", key="id"), lambda frame: frame)
    once = topic("spoilt", json=SCHEMA, watermark="ts 1 minute", dedupe="id")
    pipeline.add("deduped", once, table("lake.deduped"), lambda frame: frame)
    pipeline.add("counted", table("lake.plain"), table("lake.counted"), lambda frame: frame)
    context = settle(pipeline)
    bench.run(pipeline, only=["keyed", "deduped"])
    for flow, why in {
        "keyed": "has run, and table lake.keyed keeps the last row of each key",
        "deduped": r"keeps state \(DeduplicateWithinWatermark, EventTimeWatermark\)",
        "counted": "reads no topic",
    }.items():
        both = [pipeline.flows["plain"], pipeline.flows[flow]]
        with pytest.raises(InvalidPipeline, match=f"flow '{flow}' {why}"):
            backfills(context, bench.spark, both, "start", None)
    assert context.home.begun("plain") is None, "it was in order, but not the only one"

    with pytest.raises(InvalidPipeline, match="flow 'deduped' keeps state"):
        replay(context, bench.spark, pipeline.flows["deduped"])
    with pytest.raises(InvalidPipeline, match="flow 'keyed' has bad records, and table"):
        replay(context, bench.spark, pipeline.flows["keyed"])
    for flow in ("plain", "counted"):
        assert replay(context, bench.spark, pipeline.flows[flow]) is None, "none of its records is bad"


@pytest.mark.parametrize("kind", ["iceberg", pytest.param("delta", marks=pytest.mark.long)])
def test_a_table_that_is_told_which_row_is_newer_takes_history_and_bad_records_in_later(
    bench: Bench, kind: str
) -> None:
    """What a live run makes of all records in order is what it comes to, however late some are put in."""
    from deltalake import DeltaTable

    from millstream.pipeline.again import backfills, replay
    from millstream.pipeline.context import settle
    from millstream.pipeline.run import finish

    name = f"told_{kind}"

    def made(schema: str) -> Pipeline:
        pipeline = bench.pipeline(name)
        into = table("lake.told", key="id", sequence_by="changed", kind=kind)
        columns = ("id", "CAST(amount AS double) AS amount", "_record.offset AS changed")
        pipeline.add("keep", topic(name, json=schema), into, lambda frame: frame.selectExpr(*columns))
        return pipeline

    bench.topics.create(name)
    bench.send(name, [order(n) for n in range(10)], partitions=1)  # what was before
    bench.run(made(SCHEMA), start="end")
    late = [order(n, amount=f"{n + 100}") for n in (1, 2, 3, 11)]  # text, which is no double
    bench.send(name, [*late, *(order(n, amount=n + 200.0) for n in (2, 3, 4, 5, 12))], partitions=1)
    bench.run(made(SCHEMA))

    fixed = made(SCHEMA.replace("double", "string"))
    (start,) = backfills(settle(fixed), bench.spark, fixed.flows.values(), "start", None)
    assert finish(start, lambda states: None, threading.Event()).rows == 10
    again = replay(settle(fixed), bench.spark, fixed.flows["keep"])
    assert again is not None
    done = finish(again, lambda states: None, threading.Event())
    assert (done.rows, done.bad) == (4, 0)

    if kind == "iceberg":
        found = bench.table(fixed, "lake.told")
    else:
        found = DeltaTable(bench.folder / "warehouse/lake/told").to_pyarrow_table().to_pylist()
    newest = {n: float(n) for n in range(10)} | {n: n + 100.0 for n in (1, 2, 3, 11)}
    newest |= {n: n + 200.0 for n in (2, 3, 4, 5, 12)}
    assert len(found) == len(newest)
    assert {row["id"]: row["amount"] for row in found} == {f"o{n}": amount for n, amount in newest.items()}


@pytest.mark.long
def test_state_and_keys_give_the_same_table_from_history_and_live(bench: Bench) -> None:
    """A flow that keeps state takes history in by beginning with it; one into a key, by a backfill first."""
    from millstream.pipeline.again import backfills
    from millstream.pipeline.context import settle
    from millstream.pipeline.run import finish

    def made(name: str) -> Pipeline:
        pipeline = bench.pipeline(name, warehouse=name, batch=70)
        late = topic("visits", json=SCHEMA, watermark="ts 30 seconds", dedupe="id")
        pipeline.add("deduped", late, table("lake.deduped"), lambda frame: frame.drop("_record"))
        pipeline.add("minutes", late, table("lake.minutes"), by_minute)
        pipeline.add(
            "latest", topic("visits", json=SCHEMA), table("lake.latest", key="id"), lambda frame: frame
        )
        return pipeline

    def by_minute(visits: Any) -> Any:
        from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

        minutes = visits.groupBy(F.window("ts", "1 minute")).agg(
            F.count("*").alias("n"), F.sum("amount").alias("total")
        )
        return minutes.select("window.start", "n", "total")

    live, past = made("live_state"), made("past_state")
    bench.topics.create("visits", partitions=1)
    for first in (0, 100, 200):  # each comes twice, ten seconds later, and is then worth more
        for n in range(first, first + 100, 10):
            ten = range(n, n + 10)
            again = [order(each, amount=each + 1000.0) for each in ten]
            bench.send("visits", [*map(order, ten), *again], partitions=1)
        bench.run(live)

    (start,) = backfills(settle(past), bench.spark, [past.flows["latest"]], "start", None)
    assert finish(start, lambda states: None, threading.Event()).rows == 600
    bench.run(past)
    bench.send("visits", [order(n, amount=2000.0) for n in range(250, 310)], partitions=1)
    for pipeline in (live, past):
        bench.run(pipeline)

    def rows(pipeline: Pipeline, name: str) -> list[str]:
        return sorted(str(row) for row in bench.table(pipeline, name))

    for name, count in {"lake.deduped": 310, "lake.minutes": 4, "lake.latest": 310}.items():
        assert rows(live, name) == rows(past, name), name
        assert len(rows(live, name)) == count
    assert {row["n"] for row in bench.table(live, "lake.minutes")} == {60}


def test_yaml_with_sql_windows_dedupe_and_two_flows_in_order(bench: Bench) -> None:
    bench.topics.create("clicks", partitions=2)
    orders = [order(n) for n in range(180)]
    bench.send("clicks", [*orders, *orders[:50], b"nope"])
    pipeline = read_yaml(
        f"""
        pipeline: clicks
        brokers: {bench.topics.bootstrap}
        flows:
          totals:
            from: {{table: lake.clicks, watermark: ts 1 minute}}
            sql: |
              SELECT window.start AS minute, sum(amount) AS total, count(*) AS orders
              FROM clicks GROUP BY window(ts, '1 minute')
            into: {{topic: click-totals, key: minute}}
          clean:
            from: {{topic: clicks, json: "{SCHEMA}", watermark: ts 1 hour, dedupe: id}}
            sql: SELECT * FROM clicks WHERE amount >= 0
            into: {{table: lake.clicks}}
        """,
        "clicks.yaml",
    )
    pipeline.folder = bench.folder

    states = bench.run(pipeline)

    assert ids(bench.table(pipeline, "lake.clicks")) == ids(orders), "each once"
    assert [row["reason"] for row in bench.table(pipeline, "lake.clicks_bad")] == ["not JSON"]
    totals = {each["minute"]: (each["orders"], each["total"]) for each in bench.values("click-totals")}
    # The last record is of 00:02:59, so that only the first minute is a minute past.
    assert totals == {"2026-11-01T00:00:00.000Z": (60, float(sum(range(60))))}
    assert states["clean"].lag == 0
    assert bench.lag("clicks") == 0


def test_a_stream_is_joined_with_a_table_and_plain_values_are_read(bench: Bench) -> None:
    bench.topics.create("names")
    bench.topics.create("calls")
    bench.topics.create("answers")
    bench.send("names", [{"id": n, "name": f"name {n}"} for n in range(3)], partitions=1)
    bench.send("calls", [b"0", b"2", b"x", b"2"], partitions=1)
    pipeline = bench.pipeline("joined")

    @pipeline.flow(source=topic("names", json="id bigint, name string"), into=table("lake.names"))
    def names(names: Any) -> Any:
        return names

    @pipeline.flow(
        source={"calls": topic("calls", plain="bigint"), "names": table("lake.names")},
        into=topic("answers", key="name"),
    )
    def answers(calls: Any, names: Any) -> Any:
        return calls.join(names, calls.value == names.id).select("name")

    bench.run(pipeline)

    assert sorted(each["name"] for each in bench.values("answers")) == ["name 0", "name 2", "name 2"]
    (wrong,) = bench.table(pipeline, "lake.joined_bad")
    assert (wrong["flow"], wrong["reason"], wrong["value"]) == ("answers", "value is no bigint: x", b"x")


def test_two_streams_are_joined_though_one_comes_a_run_later(bench: Bench) -> None:
    """The guide's example; what is no good of either is set aside."""
    from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

    for name in ("bought", "paid-for", "paid"):
        bench.topics.create(name)
    pipeline = bench.pipeline("joining")

    @pipeline.flow(
        source={
            "bought": topic("bought", json="id string not null, ts timestamp", watermark="ts 1 hour"),
            "payments": topic(
                "paid-for", json="order_id string not null, at timestamp", watermark="at 1 hour"
            ),
        },
        into=topic("paid", key="id"),
    )
    def paid(bought: Any, payments: Any) -> Any:
        in_time = F.expr("id = order_id AND at BETWEEN ts AND ts + INTERVAL 1 HOUR")
        return bought.join(payments, in_time).select("id", "at")

    def payment(n: int, hour: int = 0) -> dict[str, Any]:
        return {"order_id": f"o{n}", "at": f"2026-11-01T{hour:02}:30:00Z"}

    bench.send("bought", [*(order(n) for n in range(4)), b"nope"], partitions=1)
    bench.run(pipeline)
    assert bench.values("paid") == []
    bench.send("paid-for", [payment(0), payment(1, hour=2), payment(3), b"neither"], partitions=1)
    states = bench.run(pipeline)

    assert sorted((each["id"], each["at"]) for each in bench.values("paid")) == [
        ("o0", "2026-11-01T00:30:00.000Z"),
        ("o3", "2026-11-01T00:30:00.000Z"),
    ]
    wrong = bench.table(pipeline, "lake.joining_bad")
    assert {(row["source"], row["value"]) for row in wrong} == {("bought", b"nope"), ("payments", b"neither")}
    assert (states["paid"].state, bench.lag("joining")) == ("done", 0)


def test_an_expectation_may_stop_the_flow_and_new_columns_appear(bench: Bench) -> None:
    from millstream.pipeline.run import FlowFailed

    bench.topics.create("strict")
    bench.send("strict", [order(1), order(2, note="new")], partitions=1)
    first = bench.pipeline("strict")
    first.add("keep", topic("strict", json="id string"), table("lake.strict"), lambda frame: frame)
    bench.run(first)

    second = bench.pipeline("strict")
    second.add(
        "keep", topic("strict", json="id string, note string"), table("lake.strict"), lambda frame: frame
    )
    bench.send("strict", [order(3, note="newer")], partitions=1)
    bench.run(second)
    rows = sorted(bench.table(second, "lake.strict"), key=lambda row: str(row["id"]))
    assert rows == [{"id": "o1", "note": None}, {"id": "o2", "note": None}, {"id": "o3", "note": "newer"}]

    third = bench.pipeline("strict")
    third.add(
        "keep",
        topic("strict", json="id string, amount double"),
        table("lake.strict"),
        lambda frame: frame.select("id"),
        expect={"amount < 5": "fail"},
    )
    bench.send("strict", [order(4), order(5)], partitions=1)
    with pytest.raises(FlowFailed, match=r"flow 'keep': strict-0 offset 4: not as expected: amount < 5"):
        bench.run(third)
    assert ids(bench.table(third, "lake.strict")) == ["o1", "o2", "o3"], "nothing of the batch"
    assert bench.lag("strict") == 2


def test_the_last_row_of_a_key_stays_in_a_table_cut_by_days(bench: Bench) -> None:
    bench.topics.create("latest")
    bench.send("latest", [order(61), order(62), order(61, amount=7.0)], partitions=1)
    pipeline = bench.pipeline("latest")
    into = table("lake.latest", key="id", partition_by="day(ts)")
    pipeline.add("keep", topic("latest", json=SCHEMA), into, lambda frame: frame)
    bench.run(pipeline)
    bench.send("latest", [order(62, amount=8.0)], partitions=1)
    bench.run(pipeline)

    rows = {row["id"]: (row["amount"], row["ts"]) for row in bench.table(pipeline, "lake.latest")}
    assert rows == {
        "o61": (7.0, datetime.fromisoformat("2026-11-01T00:01:01Z")),
        "o62": (8.0, datetime.fromisoformat("2026-11-01T00:01:02Z")),
    }


def test_delta_tables_are_added_to_replaced_by_key_and_packed(bench: Bench) -> None:
    from deltalake import DeltaTable

    from millstream.pipeline.context import settle
    from millstream.pipeline.upkeep import keep_in_order

    bench.topics.create("deltas", partitions=2)
    pipeline = read_yaml(
        f"""
        pipeline: deltas
        brokers: {bench.topics.bootstrap}
        flows:
          every:
            from: {{topic: deltas, json: "{SCHEMA}"}}
            into: {{table: lake.every, kind: delta, partition_by: day(ts)}}
          latest:
            from: {{topic: deltas, json: "{SCHEMA}"}}
            sql: SELECT id, amount FROM deltas
            into: {{table: lake.latest, kind: delta, key: id}}
        """,
        "deltas.yaml",
    )
    pipeline.folder = bench.folder

    def rows(name: str) -> list[tuple[Any, ...]]:
        found = DeltaTable(bench.folder / f"warehouse/lake/{name}").to_pyarrow_table().to_pylist()
        return sorted(tuple(row.values()) for row in found)

    for first, amount in ((0, 1.0), (10, 2.0)):  # two runs, of which the second has half of the first again
        bench.send("deltas", [*(order(n, amount=amount) for n in range(first, first + 20)), b"nope"])
        states = bench.run(pipeline)
        assert [(each.rows, each.bad, each.lag) for each in states.values()] == [(21, 1, 0)] * 2

    every = rows("every")
    assert [row[0] for row in every] == ids([order(n) for n in (*range(20), *range(10, 30))])
    assert {row[3] for row in every} == {"2026-11-01"}
    latest = rows("latest")
    assert latest == sorted((f"o{n}", 1.0 if n < 10 else 2.0) for n in range(30))
    assert len(bench.table(pipeline, "lake.deltas_bad")) == 4

    kept = keep_in_order(settle(pipeline), 1 << 20, *[datetime.now(UTC)] * 2)
    assert [each.files_after for each in kept if each.table == "lake.every"] == [1]
    assert (rows("every"), rows("latest")) == (every, latest)
