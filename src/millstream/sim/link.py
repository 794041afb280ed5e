"""A simulated client's way to the broker, and how it reads what it finds there."""

from collections.abc import Sequence
from typing import Final, TypeVar, final

from millstream.client.connection import Connection
from millstream.client.isolation import visible
from millstream.client.refusals import error_code
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.records.batch import split
from millstream.records.build import NewRecord
from millstream.records.read import Record, read
from millstream.wire.message import Message
from millstream.wire.messages.fetch import FetchResponseAbortedTransaction

_MAX_BATCH_BYTES: Final = 1 << 24
_NUMBER: Final = "number"

R = TypeVar("R", bound=Message)


class Later(Exception):
    """The broker is in no mood; another try may succeed."""


@final
class Link:
    """One connection, opened when it is first needed and again after it broke."""

    def __init__(self, host: str, port: int, client_id: str, *, timeout: float) -> None:
        self.timeout = timeout
        self.opened = 0
        self._host = host
        self._port = port
        self._client_id = client_id
        self._connection: Connection | None = None

    async def connection(self) -> Connection:
        """An open connection; Unreachable if there can be none."""
        if self._connection is None or self._connection.closed:
            self.opened += 1
            self._connection = await Connection.open(
                self._host, self._port, client_id=self._client_id, timeout=self.timeout
            )
        return self._connection

    async def ask(
        self, request: Message, response: type[R], *, at_most: int | None = None, patience: float = 0.0
    ) -> R:
        """The answer to *request*, for which the broker may take *patience* seconds besides."""
        connection = await self.connection()
        return await connection.request(request, response, at_most=at_most, timeout=self.timeout + patience)

    def drop(self) -> None:
        """Give the connection up, with all that is under way on it."""
        if self._connection is not None:
            self._connection.abort("was given up")
            self._connection = None


def settle(code: int) -> ErrorCode:
    """*code* by name; Later if it says that another try may succeed."""
    named = error_code(code)
    if named.retriable:
        raise Later(named.name)
    return named


def records_in(
    records: object, position: int, aborted: Sequence[FetchResponseAbortedTransaction] | None
) -> tuple[list[Record], int]:
    """Every record from *position* on, as a consumer takes them from a fetch, and where to go on.

    Those of *aborted* transactions, and markers, are not for it. Compaction may
    leave a batch without records, which is passed over all the same.
    """
    assert isinstance(records, bytes | bytearray | memoryview | None)
    found: list[Record] = []
    for batch, counts in visible(split(records or b""), aborted or ()):
        batch.check(allow_empty=True)
        if counts:
            found += [each for each in read(batch, max_bytes=_MAX_BATCH_BYTES) if each.offset >= position]
        position = max(position, batch.last_offset + 1)
    return found, position


def new_record(name: bytes | None, value: int, padding: int | None) -> NewRecord:
    """A record that holds *value*; without *padding* a tombstone, which can hold it beside itself only."""
    number = value.to_bytes(8, "big")
    if padding is None:
        return NewRecord(name, None, ((_NUMBER, number),))
    return NewRecord(name, number + bytes(padding))


def value_of(record: Record) -> int:
    """The number that a simulated producer put into *record*."""
    if record.value is None:
        return int.from_bytes(dict(record.headers)[_NUMBER] or b"", "big")
    return int.from_bytes(record.value[:8], "big")


FAILURES: Final = (Unreachable, Later)
"""What a patient client waits out."""
