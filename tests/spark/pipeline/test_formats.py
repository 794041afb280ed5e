"""Avro and Protobuf through a real Spark, in and out."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro", reason='fastavro is not installed: pip install "millstream[spark]"')
pytest.importorskip("google.protobuf", reason='protobuf is not installed: pip install "millstream[spark]"')

from tests.pipeline.test_binary import descriptors
from tests.spark.pipeline.conftest import Bench

from millstream.pipeline import table, topic
from millstream.pipeline.avro import read_avro_schema

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "double"]}],
}


def test_avro_to_protobuf_to_a_table(bench: Bench, tmp_path: Path) -> None:
    bench.topics.create("avro-orders")
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    message = descriptors(tmp_path).rpartition("/")[2]
    _, write = read_avro_schema(json.dumps(ORDER))[1]()
    sent = [{"id": f"o{n}", "amount": None if n == 3 else n / 2} for n in range(10)]
    bench.send("avro-orders", [*map(write, sent), b"\xff"], partitions=1)
    pipeline = bench.pipeline("formats")
    pipeline.add(
        "convert",
        topic("avro-orders", avro="order.avsc"),
        topic("proto-orders", protobuf=message, key="id"),
        lambda frame: frame,
    )
    pipeline.add(
        "keep",
        topic("proto-orders", protobuf=message),
        table("lake.proto_orders"),
        lambda frame: frame.select("id", "amount"),
    )

    bench.run(pipeline)

    found: list[dict[str, Any]] = sorted(
        bench.table(pipeline, "lake.proto_orders"), key=lambda row: str(row["id"])
    )
    assert found == [{**each, "amount": each["amount"] or 0.0} for each in sent], "proto3 knows no null"
    (wrong,) = bench.table(pipeline, "lake.formats_bad")
    assert (wrong["flow"], wrong["offset"], wrong["value"]) == ("convert", 10, b"\xff")
