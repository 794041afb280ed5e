"""HTTP responses as bytes, and the few headers that all of them have."""

from email.utils import formatdate
from http import HTTPStatus
from typing import Final, final

from millstream.env.clock import Clock

JSON_TYPE: Final = b"application/json"

_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


@final
class Stamp:
    """The time as responses say it, made once a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._date = b""

    def date(self) -> bytes:
        """The `date` header, with its line's end."""
        second = self._clock.now_ms() // 1000
        if second != self._second:
            self._second = second
            self._date = b"date: " + formatdate(second, usegmt=True).encode() + b"\r\n"
        return self._date


def status_line(status: int) -> bytes:
    return _LINES.get(status) or f"HTTP/1.1 {status} \r\n".encode()


def whole(status: int, body: bytes, date: bytes, more: bytes = b"", content_type: bytes = JSON_TYPE) -> bytes:
    """A whole response; *more* is further header lines."""
    return b"%bcontent-type: %b\r\ncontent-length: %d\r\n%b%b\r\n%b" % (
        status_line(status),
        content_type,
        len(body),
        date,
        more,
        body,
    )
