"""Records on the way in: a line each, plain or JSON."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from millstream.cli.encoding import ENCODINGS, Encoding, Unreadable, compact
from millstream.records.build import Headers, NewRecord


class InvalidLine(ValueError):
    """A line that is no record; the message says why."""


@final
@dataclass(frozen=True, slots=True)
class Incoming:
    """A record as somebody wrote it, and the partition it names, if any."""

    record: NewRecord
    partition: int | None = None


class LineParser(ABC):
    """Turns a line, without its end, into a record."""

    @abstractmethod
    def parse(self, line: bytes) -> Incoming: ...


@final
class PlainLines(LineParser):
    """The line is the value; with *separator*, what comes before it is the key.

    *key* and *headers* are given to every record. With *empty_is_null* an
    empty key or value is null, which deletes a key in a compacted topic.
    """

    def __init__(
        self,
        *,
        separator: bytes | None = None,
        key: bytes | None = None,
        headers: Headers = (),
        empty_is_null: bool = False,
    ) -> None:
        self._separator = separator
        self._key = key
        self._headers = headers
        self._empty_is_null = empty_is_null

    def parse(self, line: bytes) -> Incoming:
        key: bytes | None = self._key
        value: bytes | None = line
        if self._separator is not None:
            key, found, value = line.partition(self._separator)
            if not found:
                raise InvalidLine(f"no separator {self._separator.decode()!r}")
        if self._empty_is_null:
            key, value = key or None, value or None
        return Incoming(NewRecord(key, value, self._headers))


@final
class JsonLines(LineParser):
    """An object with `value` and perhaps `key`, `headers`, `partition` and `timestamp` in ms.

    Text is taken in the given encodings; whatever else stands for a key or
    value is written as JSON. Other members, such as those `consume` prints,
    are passed over.
    """

    def __init__(self, key: Encoding, value: Encoding, headers: Headers = ()) -> None:
        self._key = key
        self._value = value
        self._header = ENCODINGS["utf-8"] if value is ENCODINGS["json"] else value
        self._headers = headers

    def parse(self, line: bytes) -> Incoming:
        try:
            said = json.loads(line)
        except ValueError as problem:
            raise InvalidLine(f"not JSON: {problem}") from None
        if not isinstance(said, dict):
            raise InvalidLine("not a JSON object")
        if "value" not in said:
            raise InvalidLine('no "value"; null stands for a record without one')
        record = NewRecord(
            _bytes(said.get("key"), self._key, "key"),
            _bytes(said["value"], self._value, "value"),
            self._headers + self._read_headers(said.get("headers")),
            _whole(said.get("timestamp"), "timestamp"),
        )
        return Incoming(record, _whole(said.get("partition"), "partition"))

    def _read_headers(self, said: object) -> Headers:
        """A list of objects with `key` and `value`, or one object of names and values."""
        if said is None:
            return ()
        if isinstance(said, dict):
            return tuple((str(key), _bytes(value, self._header, "header")) for key, value in said.items())
        if not isinstance(said, list):
            raise InvalidLine('"headers" is neither an object nor a list')
        return tuple(self._header_of(each) for each in said)

    def _header_of(self, said: object) -> tuple[str, bytes | None]:
        if not isinstance(said, Mapping) or not isinstance(said.get("key"), str):
            raise InvalidLine('a header is not of the form {"key": ..., "value": ...}')
        return said["key"], _bytes(said.get("value"), self._header, "header")


def _bytes(said: object, encoding: Encoding, name: str) -> bytes | None:
    if said is None:
        return None
    if not isinstance(said, str):
        return compact(said)
    try:
        return encoding.from_text(said)
    except (Unreadable, UnicodeEncodeError) as problem:
        raise InvalidLine(f"{name}: {problem}") from None


def _whole(said: object, name: str) -> int | None:
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int) or said < 0:
        raise InvalidLine(f'"{name}" is not a whole number')
    return said
