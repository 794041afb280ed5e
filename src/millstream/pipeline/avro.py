"""Avro schemas in Spark's words, and their records by fastavro."""

import io
import json
from collections.abc import Callable
from typing import Any, Final

from millstream.pipeline.definition import InvalidPipeline

Read = Callable[[bytes], dict[str, Any]]
Write = Callable[[dict[str, Any]], bytes]
Codec = Callable[[], tuple[Read, Write]]


def read_avro_schema(text: str) -> tuple[str, Codec]:
    """The struct that a record of the schema is to Spark, and what makes its reader and its writer."""
    import fastavro

    try:
        schema = json.loads(text)
        fastavro.parse_schema(schema)
    except Exception as problem:
        raise InvalidPipeline(f"avro: this is no schema: {problem}") from None

    def make() -> tuple[Read, Write]:
        parsed = fastavro.parse_schema(json.loads(text))

        def read(value: bytes) -> dict[str, Any]:
            source = io.BytesIO(value)
            found = fastavro.schemaless_reader(source, parsed, None)
            if source.tell() != len(value):
                raise ValueError(f"{len(value) - source.tell()} bytes follow the record")
            assert isinstance(found, dict), type(found)
            return found

        def write(row: dict[str, Any]) -> bytes:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, row)
            return out.getvalue()

        return read, write

    return avro_struct(schema), make


_SIMPLE: Final = {
    "null": "void",
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
}
_LOGICAL: Final = {"date": "date", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp"}


def avro_struct(schema: Any) -> str:
    """Spark's struct for an Avro record."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise InvalidPipeline("avro: the schema is not of a record")
    return _kind(schema, {})


def _kind(schema: Any, named: dict[str, str]) -> str:
    if isinstance(schema, list):
        kinds = [each for each in schema if each != "null"]
        if len(kinds) != 1:
            raise InvalidPipeline(
                f"avro: a union of {len(kinds)} kinds has no column type; null and one other has"
            )
        return _kind(kinds[0], named)
    if isinstance(schema, str):
        if schema not in _SIMPLE and schema not in named:
            raise InvalidPipeline(f"avro: no type {schema!r}")
        return _SIMPLE.get(schema) or named[schema]
    kind = schema["type"]
    if schema.get("logicalType") == "decimal":
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    if schema.get("logicalType") in _LOGICAL:
        return _LOGICAL[schema["logicalType"]]
    if kind == "record":
        fields = ", ".join(f"`{each['name']}`: {_kind(each['type'], named)}" for each in schema["fields"])
        found = f"struct<{fields}>"
    elif kind == "array":
        found = f"array<{_kind(schema['items'], named)}>"
    elif kind == "map":
        found = f"map<string, {_kind(schema['values'], named)}>"
    else:
        found = _kind(kind, named)
    if "name" in schema:
        named[schema["name"]] = found
    return found
