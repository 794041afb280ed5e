"""Avro and Protobuf, decoded and encoded by Python in Spark's workers: Spark from PyPI has neither."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from millstream.pipeline.avro import Codec, read_avro_schema
from millstream.pipeline.definition import InvalidPipeline
from millstream.pipeline.protobuf import read_descriptors

PROBLEM: Final = "_problem"
_CONFLUENT: Final = 5  # a zero and the number of a schema in a registry, before the value


def decoder(format: str, schema: str, *, confluent: bool) -> tuple[list[str], Callable[[Any], Any]]:
    """The columns that *schema* has, and what makes a struct of them, and of what went wrong, of a value."""
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import StringType, StructField, StructType

    fields, codec = _codec(format, schema)
    kind = StructType([*fields.fields, StructField(PROBLEM, StringType())])
    arrow = to_arrow_type(kind, timezone="UTC")
    skip = _CONFLUENT if confluent else 0
    names = fields.names

    def decode_all(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        read, _ = codec()
        for batch in batches:
            rows = [_decoded(read, value, skip) for value in batch.to_pylist()]
            yield pyarrow.array(rows, arrow)

    decode_all.__annotations__ = _annotations()
    return names, arrow_udf(decode_all, kind)


def encoder(format: str, schema: str, *, confluent: bool) -> Callable[[Any], Any]:
    """A function of a struct column to a column of values."""
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import BinaryType

    if confluent:
        raise InvalidPipeline(f"{format}: values with a registry's number can be read, not written")
    _, codec = _codec(format, schema)

    def encode_all(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        _, write = codec()
        for batch in batches:
            rows = batch.to_pylist(maps_as_pydicts="strict")
            yield pyarrow.array([write(row) for row in rows], pyarrow.binary())

    encode_all.__annotations__ = _annotations()
    return arrow_udf(encode_all, BinaryType())  # type: ignore[no-any-return]


def _annotations() -> dict[str, Any]:
    """What Spark goes by to see that a function takes and gives batches one after another."""
    import pyarrow

    return {"batches": Iterator[pyarrow.Array], "return": Iterator[pyarrow.Array]}


def _decoded(read: Callable[[bytes], dict[str, Any]], value: bytes | None, skip: int) -> dict[str, Any]:
    if value is None:
        return {PROBLEM: "no value"}
    if skip and value[:1] != b"\0":
        return {PROBLEM: "it does not begin with a registry's number"}
    try:
        return read(value[skip:])
    except Exception as problem:  # whatever the library raises: the record is bad, and this is why
        return {PROBLEM: f"{type(problem).__name__}: {problem}"[:200]}


def _codec(format: str, schema: str) -> tuple[Any, Codec]:
    """The Spark type of the schema's records, and what makes, in a worker, their reader and writer."""
    from pyspark.sql.types import _parse_datatype_string

    ddl, codec = read_avro_schema(schema) if format == "avro" else read_descriptors(schema)
    return _parse_datatype_string(ddl), codec
