"""Protobuf messages in Spark's words, read and written by Google's own library."""

from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from millstream.pipeline.avro import Codec, Read, Write
from millstream.pipeline.definition import InvalidPipeline


def read_descriptors(text: str) -> tuple[str, Codec]:
    """Of `file#message`: the struct that the message is to Spark, and what makes its reader and writer."""
    path, _, message = text.rpartition("#")
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise InvalidPipeline(
            f"protobuf: the descriptors in {path} cannot be read: {problem.strerror}"
        ) from None
    kind = message_class(data, message)

    def make() -> tuple[Read, Write]:
        made = message_class(data, message)

        def read(value: bytes) -> dict[str, Any]:
            return _row(made.FromString(value))

        def write(row: dict[str, Any]) -> bytes:
            from google.protobuf.json_format import ParseDict

            found: bytes = ParseDict(_as_json(row), made()).SerializeToString()
            return found

        return read, write

    return _struct(kind.DESCRIPTOR), make


def _as_json(value: Any) -> Any:
    """*value* as Protobuf's JSON form has it; what is null is left out."""
    if isinstance(value, dict):
        return {name: _as_json(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, Decimal) else value


def message_class(descriptors: bytes, name: str) -> Any:
    """The class of message *name*, from what `protoc --descriptor_set_out --include_imports` has written."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError

    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
        pool = descriptor_pool.DescriptorPool()
        for each in files.file:
            pool.Add(each)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except (DecodeError, TypeError) as problem:
        raise InvalidPipeline(f"protobuf: these are no descriptors: {problem}") from None
    except KeyError:
        raise InvalidPipeline(f"protobuf: the descriptors have no message {name!r}") from None


def _struct(descriptor: Any) -> str:
    return f"struct<{', '.join(f'`{each.name}`: {_kind(each)}' for each in descriptor.fields)}>"


_CPP_TYPES: Final = {
    1: "int",
    2: "bigint",
    3: "bigint",
    4: "decimal(20,0)",
    5: "double",
    6: "float",
    7: "boolean",
    8: "string",
    9: "string",
}
_BYTES: Final = 12
_ENUM: Final = 8
_UINT64: Final = 4


def _kind(field: Any) -> str:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        by_name = inner.fields_by_name
        return f"map<{_kind(by_name['key'])}, {_kind(by_name['value'])}>"
    if inner is not None:
        one = "timestamp" if inner.full_name == "google.protobuf.Timestamp" else _struct(inner)
    else:
        one = "binary" if field.type == _BYTES else _CPP_TYPES[field.cpp_type]
    return f"array<{one}>" if field.is_repeated else one


def _row(message: Any) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            row[field.name] = None
            continue
        value = getattr(message, field.name)
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            kind = inner.fields_by_name["value"]
            row[field.name] = [(key, _value(kind, each)) for key, each in value.items()]
        elif field.is_repeated:
            row[field.name] = [_value(field, each) for each in value]
        else:
            row[field.name] = _value(field, value)
    return row


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == "google.protobuf.Timestamp":
            return value.ToDatetime(tzinfo=UTC)
        return _row(value)
    if field.cpp_type == _ENUM:
        return field.enum_type.values_by_number[value].name
    if field.cpp_type == _UINT64:
        return Decimal(value)
    return value
