"""Messages at random, within what our declarations and the oracles allow."""

import importlib
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import strategies as st
from tools.wiregen.schema import Api as Declared
from tools.wiregen.schema import Field, Struct, read_api

from millstream.errors import ErrorCode
from millstream.wire import apis
from millstream.wire.message import Message

_SCHEMA: Final = Path(apis.__file__).parent / "schema"

_PRIMITIVES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "boolean": st.booleans(),
    "int8": st.integers(-(1 << 7), (1 << 7) - 1),
    "int16": st.integers(-(1 << 15), (1 << 15) - 1),
    "uint16": st.integers(0, (1 << 16) - 1),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "uuid": st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
    "string": st.text(max_size=8) | st.sampled_from(["é" * 63, "é" * 64, "x" * 300]),
    "bytes": st.binary(max_size=8) | st.sampled_from([bytes(126), bytes(127), bytes(300)]),
    "records": st.binary(max_size=8) | st.sampled_from([bytes(126), bytes(127), bytes(5000), bytes(1 << 15)]),
}

_BY_NAME: Final[dict[str, st.SearchStrategy[Any]]] = {
    "error_code": st.sampled_from([code.value for code in ErrorCode]),  # an enum for kio
    "partition_error_code": st.sampled_from([code.value for code in ErrorCode]),
    "log_append_time_ms": st.just(-1) | st.integers(0, 250_000_000_000_000),  # a datetime for kio
    "transaction_start_time_ms": st.integers(0, 250_000_000_000_000),  # the same, never null
    "retention_time_ms": st.just(-1) | st.integers(0, 1 << 40),  # a timedelta for kio
}

CASES: Final = [
    pytest.param(api, kind, version, id=f"{api.name}-{kind}-v{version}")
    for api in apis.APIS.values()
    for kind in ("request", "response")
    for version in range(api.min, api.max + 1)
]
"""Every message in every version: arguments `api`, `kind`, `version` for parametrize."""


def encode(message: Message, version: int) -> bytes:
    out = bytearray()
    message.write(out, version)
    return bytes(out)


@cache
def declared(api: apis.Api) -> Declared:
    return read_api(_SCHEMA / f"{api.module}.txt")


@cache
def messages(api: apis.Api, kind: str, version: int) -> st.SearchStrategy[Message]:
    """Requests or responses of *api*; fields that *version* lacks are at their defaults."""
    module = importlib.import_module(f"millstream.wire.messages.{api.module}")
    struct = declared(api).request if kind == "request" else declared(api).response
    return _structs(module, struct, struct.name, version, struct.name)


def filled(api: apis.Api, kind: str, version: int) -> Message:
    """A message with every field set, no two alike and none to its default, and two of each element."""
    module = importlib.import_module(f"millstream.wire.messages.{api.module}")
    struct = declared(api).request if kind == "request" else declared(api).response
    message: Message = _filled(module, struct, struct.name, version, struct.name, count(1))
    return message


def _filled(
    module: Any, struct: Struct, name: str, version: int, message: str, numbers: Iterator[int]
) -> Any:
    fields = {}
    for f in struct.fields:
        if f.min <= version <= f.max:
            values = [
                _filled(module, f.struct, f"{message}{f.type}", version, message, numbers)
                if f.struct
                else _sample(f.type, next(numbers))
                for _ in range(2 if f.array else 1)
            ]
            fields[f.name] = values if f.array else values[0]
    return getattr(module, name)(**fields)


def _sample(type: str, number: int) -> Any:
    """A value of *type* told from others by *number*."""
    match type:
        case "boolean":
            return number % 2 == 0
        case "int8" | "int16":
            return number % 100 + 2  # an error code that there is, if it is one
        case "uint16":
            return 65000 + number
        case "int32":
            return 70000 + number
        case "int64":
            return (1 << 33) + number
        case "float64":
            return number + 0.5
        case "uuid":
            return number.to_bytes(16)
        case "string":
            return f"naïve {number}"
        case "bytes":
            return b"\x00\xff%d" % number
    assert type == "records", type
    return b"%d" % number + bytes(200)


def _structs(module: Any, struct: Struct, name: str, version: int, message: str) -> st.SearchStrategy[Any]:
    fields = {
        f.name: _values(module, f, version, message) for f in struct.fields if f.min <= version <= f.max
    }
    return st.builds(getattr(module, name), **fields)


def _values(module: Any, field: Field, version: int, message: str) -> st.SearchStrategy[Any]:
    if field.struct:
        values = _structs(module, field.struct, f"{message}{field.type}", version, message)
    else:
        values = _BY_NAME.get(field.name, _PRIMITIVES[field.type])
    if field.array:
        values = st.lists(values, max_size=3)
        if not field.struct:
            values |= st.just([_sample(field.type, 1)] * 130)  # a count of two bytes
    null = field.null_from is not None and version >= field.null_from
    if null or (field.struct and not field.array and field.tag is not None):
        return st.none() | values
    return values
