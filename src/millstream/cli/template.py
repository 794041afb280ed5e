r"""Print formats, after kcat's: `%t-%p @%o %k=%v\n`.

%v value    %k key    %h headers (a=1,b=2)    %t topic    %p partition    %o offset
%T timestamp in ms    %D the same as a date   %V %K sizes in bytes, -1 for null
%% a percent sign     \n \t \r \0 \\ and \x41 as in C; %s and %S are kcat's names for %v and %V
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, final

from millstream.cli.encoding import Encoding
from millstream.client.consumed import Consumed


class InvalidTemplate(ValueError):
    """A template with an unknown field or escape; the message names it and its place."""


@final
class Template:
    """A print format, read once; `render` then fills it in a record at a time."""

    def __init__(self, text: str, key: Encoding, value: Encoding) -> None:
        self._parts: list[bytes | _Field] = []
        self._key = key
        self._value = value
        self._parse(text)

    def render(self, message: Consumed) -> bytes:
        """*message* in this format, as bytes, since keys and values need not be text."""
        return b"".join(
            part if isinstance(part, bytes) else part(message, self._key, self._value) for part in self._parts
        )

    def _parse(self, text: str) -> None:
        position = 0
        while position < len(text):
            mark = text[position]
            if mark == "%":
                self._field(text, position)
                position += 2
            elif mark == "\\":
                position = self._escape(text, position)
            else:
                self._parts.append(mark.encode("utf-8", "surrogateescape"))
                position += 1

    def _field(self, text: str, position: int) -> None:
        name = text[position + 1 : position + 2]
        if name == "%":
            self._parts.append(b"%")
        elif name in _FIELDS:
            self._parts.append(_FIELDS[name])
        else:
            known = " ".join(f"%{each}" for each in _FIELDS)
            raise InvalidTemplate(f"unknown field '%{name}' at character {position + 1}: use {known} or %%")

    def _escape(self, text: str, position: int) -> int:
        name = text[position + 1 : position + 2]
        if name == "x":
            digits = text[position + 2 : position + 4]
            if len(digits) != 2 or any(each not in _HEX for each in digits):
                raise InvalidTemplate(f"'\\x{digits}' at character {position + 1} needs two hex digits")
            self._parts.append(bytes.fromhex(digits))
            return position + 4
        if name not in _ESCAPES:
            raise InvalidTemplate(f"unknown escape '\\{name}' at character {position + 1}")
        self._parts.append(_ESCAPES[name])
        return position + 2


_Field = Callable[[Consumed, Encoding, Encoding], bytes]


def _headers(message: Consumed) -> bytes:
    return b",".join(key.encode() + b"=" + (value or b"") for key, value in message.headers)


def _date(message: Consumed) -> bytes:
    return date(message.timestamp_ms).encode()


def date(timestamp_ms: int) -> str:
    """*timestamp_ms* as people write it, or a dash if the record has none."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "-"
    if timestamp_ms < 0:
        return "-"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"


def _size(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)


def _text(data: bytes | None, encoding: Encoding) -> bytes:
    return b"" if data is None else encoding.show(data)


_FIELDS: Final[dict[str, _Field]] = {
    "v": lambda message, key, value: _text(message.value, value),
    "s": lambda message, key, value: _text(message.value, value),
    "k": lambda message, key, value: _text(message.key, key),
    "h": lambda message, key, value: _headers(message),
    "t": lambda message, key, value: message.topic.encode(),
    "p": lambda message, key, value: b"%d" % message.partition,
    "o": lambda message, key, value: b"%d" % message.offset,
    "T": lambda message, key, value: b"%d" % message.timestamp_ms,
    "D": lambda message, key, value: _date(message),
    "V": lambda message, key, value: _size(message.value),
    "S": lambda message, key, value: _size(message.value),
    "K": lambda message, key, value: _size(message.key),
}
_ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
