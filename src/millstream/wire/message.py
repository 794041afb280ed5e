"""What all messages have in common: fields that can be compared and shown, and a way to and from bytes."""

from typing import ClassVar, Self, TypeVar

from millstream.errors import ErrorCode, Refused
from millstream.wire.primitives import Buffer, Reader


class Struct:
    """A message, or a part of one. Generated; one class serves all versions."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # fields change

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_shown(getattr(self, name))}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"


class Message(Struct):
    """The body of one API's request or response.

    Not an ABC: mypyc lays out a class with a second base wrongly, and the collector crashes on it.
    """

    __slots__ = ()
    KEY: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]  # above MAX_VERSION if never

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        """The message at *reader*, which is moved past it; `Refused` if there is none."""
        raise NotImplementedError

    def write(self, out: bytearray, version: int) -> None:
        """Append the message to *out*. Fields that *version* lacks are left out."""
        raise NotImplementedError


M = TypeVar("M", bound=Message)


def read_message(message: type[M], data: Buffer, version: int) -> M:
    """The *message* that *data* holds, all of it."""
    if not message.MIN_VERSION <= version <= message.MAX_VERSION:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"{message.__name__} v{version}")
    reader = Reader(data)
    found = message.read(reader, version)
    if reader.position != reader.size:
        reader.finish()
    return found


def _shown(value: object) -> str:
    """Records are named by size: nobody wants a megabyte in a log line."""
    if isinstance(value, (bytes, bytearray, memoryview)) and len(value) > 32:
        return f"<{len(value)} bytes>"
    return repr(value)
