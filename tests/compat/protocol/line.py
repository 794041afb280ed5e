"""One connection to a node, with every byte in our own hands."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar, final

from tests.compat.node import Node

from millstream.wire.apis import RequestHeader, read_response_header
from millstream.wire.frame import request_frame
from millstream.wire.message import Message
from millstream.wire.primitives import Reader

SECONDS: Final = 60.0
_SIZE: Final = struct.Struct(">i")

R = TypeVar("R", bound=Message)


@final
class Line:
    """Requests go out as they are given; answers are read one by one, in the order of the requests."""

    def __init__(self, node: Node) -> None:
        self.socket = socket.create_connection(("127.0.0.1", node.port), timeout=SECONDS)
        self._sent = 0

    def ask(self, request: Message, response: type[R], version: int) -> R:
        """The *response* to *request*."""
        return self.answer(response, version, self.send(request, version))

    def send(self, request: Message, version: int, client_id: str | None = "line") -> int:
        """Send *request*; its correlation id."""
        self._sent += 1
        self.send_bytes(request_frame(RequestHeader(request.KEY, version, self._sent, client_id), request))
        return self._sent

    def send_body(self, key: int, version: int, body: bytes) -> int:
        """Send a request whose body is *body*, whatever that is."""
        self._sent += 1
        header = bytearray()
        RequestHeader(key, version, self._sent, "line").write(header)
        self.send_bytes(_SIZE.pack(len(header) + len(body)) + header + body)
        return self._sent

    def send_bytes(self, data: bytes | bytearray) -> None:
        self.socket.sendall(data)

    def answer(self, response: type[R], version: int, correlation_id: int) -> R:
        """The next answer, which must be to the request *correlation_id*."""
        reader = Reader(self.frame())
        assert read_response_header(reader, response.KEY, version) == correlation_id
        found = response.read(reader, version)
        reader.finish()
        return found

    def frame(self) -> bytes:
        """The next frame, without its size."""
        (size,) = _SIZE.unpack(self._exactly(_SIZE.size))
        return self._exactly(size)

    def is_closed(self) -> bool:
        """Whether the node has hung up, without a word."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            assert part, "the node hung up"
            data += part
        return bytes(data)


@contextmanager
def line(node: Node) -> Iterator[Line]:
    made = Line(node)
    try:
        yield made
    finally:
        made.socket.close()
