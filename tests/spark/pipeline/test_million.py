"""One malformed record in a million, at size."""

import json
import time

import pytest
from bench.serving import Wire, produce
from tests.spark.pipeline.conftest import Bench

from millstream.pipeline import Pipeline, table, topic
from millstream.records.build import NewRecord, build

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

RECORDS = 1_000_000
BATCH = 1000
PARTITIONS = 2
BROKEN = 543_210
MALFORMED = b'{"id": 543210, "amount": '


def fill(bench: Bench, name: str, broken: int | None) -> None:
    """RECORDS orders of 100 bytes, of which *broken* is malformed."""
    bench.topics.create(name, partitions=PARTITIONS)
    wire = Wire(int(bench.topics.bootstrap.rpartition(":")[2]))
    for number in range(RECORDS // BATCH):
        values = [order(n) for n in range(number * BATCH, (number + 1) * BATCH)]
        if broken is not None and broken // BATCH == number:
            values[broken % BATCH] = MALFORMED
        batch = build([NewRecord(None, value) for value in values], now_ms=1_700_000_000_000)
        wire.produced(wire.ask(produce(name, number % PARTITIONS, bytearray(batch)), 9))
    wire.close()


def order(number: int) -> bytes:
    text = json.dumps({"id": number, "amount": number % 1000 / 8, "note": ""})
    return text[:-2].encode().ljust(98, b"x") + b'"}'


def kept(bench: Bench, name: str) -> Pipeline:
    pipeline = bench.pipeline(name)
    source = topic(name, json="id bigint not null, amount double, note string")
    pipeline.add("keep", source, table(f"lake.{name}"), lambda frame: frame)
    return pipeline


def test_one_malformed_record_in_a_million_costs_a_row(bench: Bench) -> None:
    from millstream.pipeline.context import settle
    from millstream.pipeline.tables import find_table

    took = {}
    for name, broken in {"warming_up": None, "all_good": None, "one_broken": BROKEN}.items():
        fill(bench, name, broken)
        pipeline = kept(bench, name)
        started = time.perf_counter()
        state = bench.run(pipeline)["keep"]
        took[name] = time.perf_counter() - started
        assert (state.rows, state.bad, state.lag, state.state) == (
            RECORDS,
            int(broken is not None),
            0,
            "done",
        )
        ids = find_table(settle(pipeline), f"lake.{name}").scan(selected_fields=("id",)).to_arrow()
        expected = [n for n in range(RECORDS) if n != broken]
        assert sorted(ids.column("id").to_pylist()) == expected
    print({name: f"{seconds:.1f} s" for name, seconds in took.items()})

    (wrong,) = bench.table(kept(bench, "one_broken"), "lake.one_broken_bad")
    assert (wrong["reason"], wrong["value"]) == ("not JSON", MALFORMED)
    number = BROKEN // BATCH
    place = (number % PARTITIONS, number // PARTITIONS * BATCH + BROKEN % BATCH)
    assert (wrong["partition"], wrong["offset"]) == place
