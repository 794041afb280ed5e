"""A message on its way in, from the connection it came by to the reply that its sender gets."""

from typing import TYPE_CHECKING, Final, final

from millstream.gateways.connection import Reply
from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.queue import refused
from millstream.gateways.http.reply import Stamp, whole
from millstream.gateways.http.wrong import Wrong
from millstream.gateways.iso import iso
from millstream.records.build import NewRecord

if TYPE_CHECKING:
    from millstream.gateways.http.connection import HttpConnection

_SUCCESS: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b%b\r\n"
    b'{"success":true,"data":{"messageId":%b,"topicId":"%b","timestamp":"%b"}}'
)
_SUCCESS_BYTES: Final = len('{"success":true,"data":{"messageId":,"topicId":"","timestamp":""}}' + iso(0))


@final
class Ingress(Reply):
    """A record's waiter and its place in the order of replies, in one: there are very many of them.

    *more* is further header lines of the reply.
    """

    __slots__ = ("_answers", "_connection", "_message_id", "_topic", "more", "record", "size")

    def __init__(
        self,
        connection: "HttpConnection",
        answers: "Answers",
        topic: bytes,
        message_id: bytes,
        record: NewRecord,
        more: bytes,
    ) -> None:
        self.pieces = None
        self.record = record
        self.size = 0
        self.more = more
        self._connection = connection
        self._answers = answers
        self._topic = topic
        self._message_id = message_id

    def written(self, partition: int, offset: int, timestamp_ms: int) -> None:
        try:
            self.pieces = (self._answers.success(self._message_id, self._topic, timestamp_ms, self.more),)
            self._connection.replied()
        except Exception as bug:
            self._connection.failed(bug)

    def refused(self, error: BaseException) -> None:
        try:
            self.pieces = (self._answers.wrong(refused(error), self.more),)
            self._connection.replied()
        except Exception as bug:
            self._connection.failed(bug)


@final
class Answers:
    """Answers to produce, as whole responses."""

    def __init__(self, stamp: Stamp) -> None:
        self._stamp = stamp
        self._time_ms = -1
        self._time = b""
        self._date = b""

    def success(self, message_id: bytes, topic: bytes, timestamp_ms: int, more: bytes = b"") -> bytes:
        """*message_id* is JSON; *topic* is of a topic that exists: JSON would escape nothing in it."""
        if timestamp_ms != self._time_ms:  # those that were written together have one
            self._time_ms = timestamp_ms
            self._time = iso(timestamp_ms).encode()
            self._date = self._stamp.date()
        size = _SUCCESS_BYTES + len(message_id) + len(topic)
        return _SUCCESS % (size, self._date, more, message_id, topic, self._time)

    def wrong(self, error: Wrong, more: bytes = b"") -> bytes:
        body = json_bytes({"success": False, "error": error.message, "errorCode": error.code})
        return whole(error.status, body, self._stamp.date(), retry_after(error.status) + more)


def retry_after(status: int) -> bytes:
    return b"retry-after: 1\r\n" if status in (429, 503) else b""
