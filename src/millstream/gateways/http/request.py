"""One HTTP request, whole, as a connection hands it on."""

from typing import final

Headers = list[tuple[bytes, bytes]]


@final
class Request:
    """*headers* have their names in small letters; *borrowed* is of the door's budget, to be repaid.

    *refused* is why it will not be handled, as a status and a reason.
    """

    __slots__ = (
        "body",
        "borrowed",
        "headers",
        "keep_alive",
        "method",
        "origin",
        "path",
        "query",
        "refused",
        "version",
    )

    def __init__(self) -> None:
        self.method = b""
        self.path = b""
        self.query = b""
        self.version = "1.1"
        self.headers: Headers = []
        self.body: bytes | bytearray = b""
        self.keep_alive = True
        self.origin: bytes | None = None
        self.borrowed = 0
        self.refused: tuple[int, str] | None = None

    def header(self, name: bytes) -> bytes | None:
        for each, value in self.headers:
            if each == name:
                return value
        return None
