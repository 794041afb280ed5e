"""Keys and values as people and scripts read them: text, JSON, or bytes in hex or base64."""

import base64
import binascii
import json
from abc import ABC, abstractmethod
from typing import Final, final


class Unreadable(ValueError):
    """Text that is not in the encoding it was said to be in."""


class Encoding(ABC):
    """A way to write bytes as text, and back."""

    @abstractmethod
    def show(self, data: bytes) -> bytes:
        """*data* as it goes to the terminal or a pipe."""

    @abstractmethod
    def to_json(self, data: bytes) -> object:
        """*data* as a JSON value."""

    @abstractmethod
    def from_text(self, text: str) -> bytes:
        """The bytes that *text*, a string of JSON input, stands for."""


@final
class _Utf8(Encoding):
    def show(self, data: bytes) -> bytes:
        return data  # as it is: a pipe gets the very bytes that were produced

    def to_json(self, data: bytes) -> object:
        return data.decode("utf-8", "backslashreplace")

    def from_text(self, text: str) -> bytes:
        return text.encode()


@final
class _Json(Encoding):
    """Shown as a JSON value; what is not JSON is shown as text."""

    def show(self, data: bytes) -> bytes:
        return compact(self.to_json(data))

    def to_json(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except ValueError:
            return data.decode("utf-8", "backslashreplace")

    def from_text(self, text: str) -> bytes:
        return compact(text)


@final
class _Hex(Encoding):
    def show(self, data: bytes) -> bytes:
        return data.hex().encode()

    def to_json(self, data: bytes) -> object:
        return data.hex()

    def from_text(self, text: str) -> bytes:
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise Unreadable(f"{text[:40]!r} is not hex") from None


@final
class _Base64(Encoding):
    def show(self, data: bytes) -> bytes:
        return base64.b64encode(data)

    def to_json(self, data: bytes) -> object:
        return base64.b64encode(data).decode()

    def from_text(self, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error:
            raise Unreadable(f"{text[:40]!r} is not base64") from None


ENCODINGS: Final[dict[str, Encoding]] = {
    "utf-8": _Utf8(),
    "json": _Json(),
    "hex": _Hex(),
    "base64": _Base64(),
}


def compact(value: object) -> bytes:
    """*value* as JSON on one line, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
