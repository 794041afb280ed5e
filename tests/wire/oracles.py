"""Two other implementations of Kafka's messages, to be right or wrong against.

kio knows every message; it says durations as timedelta, instants as datetime,
error codes as an enum and the zero uuid as None. kafka-python knows fewer
details by name but is a third opinion on the bytes.
"""

import dataclasses
import datetime
import enum
import importlib
import io
import uuid
from typing import Any

from kio.serial import entity_reader, entity_writer

from millstream.wire.apis import Api
from millstream.wire.message import Struct
from millstream.wire.primitives import ZERO_UUID


def kio_class(api: Api, kind: str, version: int) -> Any:
    """kio's class for the "request" or "response" of *api*."""
    module = importlib.import_module(f"kio.schema.{api.module}.v{version}.{kind}")
    return getattr(module, f"{api.name}{kind.capitalize()}")


def kio_read(kind: Any, data: bytes) -> Any:
    """What kio makes of *data*, all of which it must have read."""
    entity, size = entity_reader(kind)(data, 0)
    assert size == len(data)
    return entity


def kio_write(entity: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def kafka_python_class(api: Api, kind: str) -> Any:
    """kafka-python's class for the "request" or "response" of *api*."""
    for package in ("metadata", "producer", "consumer", "admin"):
        module = importlib.import_module(f"kafka.protocol.{package}")
        found = getattr(module, f"{api.name}{kind.capitalize()}", None)
        if found is not None:
            return found
    raise LookupError(api.name)


def kafka_python_again(kind: Any, data: bytes, version: int) -> bytes:
    """*data*, read and written by kafka-python."""
    message = kind.decode(data, version=version)
    message._header = None  # it forgets to set this when decoding
    again: bytes = message.encode(version=version)
    return again


def same(ours: object, theirs: Any) -> bool:
    """Our value and kio's mean the same, field by field and name by name."""
    if ours is None and dataclasses.is_dataclass(theirs):
        untouched: Any = type(theirs)
        return bool(theirs == untouched())  # our tagged structs are None at their default
    if isinstance(ours, Struct):
        assert dataclasses.is_dataclass(theirs)
        return all(same(*pair) for pair in pairs(ours, theirs))
    if isinstance(ours, list):
        return isinstance(theirs, tuple) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == _plain(ours, theirs))


def pairs(ours: Struct, theirs: Any) -> list[tuple[object, object]]:
    """The values of each field that *theirs* has, ours first."""
    return [
        (getattr(ours, our_name(ours, f.name)), getattr(theirs, f.name)) for f in dataclasses.fields(theirs)
    ]


def our_name(ours: Struct, name: str) -> str:
    """Our name for kio's field *name*: kio drops units, as its types tell them."""
    return name if name in ours.FIELDS else f"{name}_ms"


def _plain(ours: object, theirs: object) -> object:
    """kio's value as we would have it."""
    match theirs:
        case datetime.timedelta():
            return theirs // datetime.timedelta(milliseconds=1)
        case datetime.datetime():
            return round(theirs.timestamp() * 1000)
        case enum.Enum():
            return theirs.value
        case uuid.UUID():
            return theirs.bytes
        case None if isinstance(ours, int):
            return -1  # an instant that is not known
        case None if isinstance(ours, bytes):
            return ZERO_UUID
    return theirs
