"""Avro and Protobuf: schemas in Spark's words, values there and back."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro", reason='fastavro is not installed: pip install "millstream[spark]"')
pytest.importorskip("google.protobuf", reason='protobuf is not installed: pip install "millstream[spark]"')

from millstream.pipeline import InvalidPipeline
from millstream.pipeline.avro import avro_struct, read_avro_schema
from millstream.pipeline.binary import PROBLEM, _decoded
from millstream.pipeline.protobuf import read_descriptors

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "amount", "type": ["null", "double"]},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
        {"name": "other", "type": "Kind"},
    ],
}
ROW = {
    "id": "o1",
    "amount": None,
    "ts": datetime(2026, 11, 1, tzinfo=UTC),
    "kind": "B",
    "lines": [{"a": 1}],
    "other": "A",
}


def test_avro_there_and_back() -> None:
    struct, codec = read_avro_schema(json.dumps(ORDER))
    read, write = codec()

    assert struct == (
        "struct<`id`: string, `amount`: double, `ts`: timestamp, `kind`: string, "
        "`lines`: array<map<string, int>>, `other`: string>"
    )
    assert read(write(ROW)) == ROW


def test_what_is_no_avro_is_a_problem_of_that_record_alone() -> None:
    read, write = read_avro_schema(json.dumps(ORDER))[1]()
    value = write(ROW)

    assert _decoded(read, value, 0)["id"] == "o1"
    assert _decoded(read, b"\0\0\0\0\7" + value, 5)["id"] == "o1"
    assert "no value" in _decoded(read, None, 0)[PROBLEM]
    assert "1 bytes follow" in _decoded(read, value + b"x", 0)[PROBLEM]
    assert PROBLEM in _decoded(read, value[:-1], 0)
    assert "registry's number" in _decoded(read, b"\1" + value, 5)[PROBLEM]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ('"string"', "not of a record"),
        ("{", "no schema"),
        (json.dumps({**ORDER, "fields": [{"name": "a", "type": ["int", "string"]}]}), "a union of 2 kinds"),
    ],
)
def test_an_avro_schema_that_makes_no_columns_is_refused(schema: str, words: str) -> None:
    with pytest.raises(InvalidPipeline, match=words):
        read_avro_schema(schema)


def test_decimals_are_decimals() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    record = {"type": "record", "name": "R", "fields": [{"name": "price", "type": kind}]}

    assert avro_struct(record) == "struct<`price`: decimal(9,2)>"


def descriptors(folder: Path) -> str:
    """What protoc would write for a message with one field of each sort."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files = FileDescriptorSet()
    file = files.file.add(name="shop.proto", package="shop", syntax="proto3")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="NONE", number=0)
    kind.value.add(name="BIG", number=1)
    line = file.message_type.add(name="Line")
    line.field.add(name="pieces", number=1, type=Field.TYPE_INT32, label=Field.LABEL_OPTIONAL)
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    order.field.add(name="amount", number=2, type=Field.TYPE_DOUBLE, label=Field.LABEL_OPTIONAL)
    order.field.add(
        name="kind", number=3, type=Field.TYPE_ENUM, type_name=".shop.Kind", label=Field.LABEL_OPTIONAL
    )
    order.field.add(
        name="lines", number=4, type=Field.TYPE_MESSAGE, type_name=".shop.Line", label=Field.LABEL_REPEATED
    )
    order.field.add(name="raw", number=5, type=Field.TYPE_BYTES, label=Field.LABEL_OPTIONAL)
    order.field.add(
        name="gift", number=6, type=Field.TYPE_MESSAGE, type_name=".shop.Line", label=Field.LABEL_OPTIONAL
    )
    path = folder / "shop.desc"
    path.write_bytes(files.SerializeToString())
    return f"{path}#shop.Order"


def test_protobuf_there_and_back(tmp_path: Path) -> None:
    struct, codec = read_descriptors(descriptors(tmp_path))
    read, write = codec()
    row: dict[str, Any] = {
        "id": "o1",
        "amount": 2.5,
        "kind": "BIG",
        "lines": [{"pieces": 3}],
        "raw": b"\0\xff",
        "gift": None,
    }

    assert struct == (
        "struct<`id`: string, `amount`: double, `kind`: string, `lines`: array<struct<`pieces`: int>>, "
        "`raw`: binary, `gift`: struct<`pieces`: int>>"
    )
    assert read(write(row)) == row
    assert PROBLEM in _decoded(read, b"\xff\xff", 0)


def test_descriptors_that_lack_the_message_are_refused(tmp_path: Path) -> None:
    wrong = descriptors(tmp_path).replace("Order", "Odrer")

    with pytest.raises(InvalidPipeline, match=r"no message 'shop\.Odrer'"):
        read_descriptors(wrong)
    with pytest.raises(InvalidPipeline, match="cannot be read"):
        read_descriptors(f"{tmp_path}/nope.desc#shop.Order")
