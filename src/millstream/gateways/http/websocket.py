"""A WebSocket as a call of an ASGI application, over one of our connections.

`websockets` knows the protocol: it is fed bytes and gives bytes. A client
that sends faster than the application listens is not read from meanwhile; one
that takes nothing is closed, as at every door.
"""

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final, final

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request as Handshake
from websockets.protocol import State
from websockets.server import ServerProtocol

from millstream.gateways.http.asgi import App, Message, scope_of
from millstream.gateways.http.request import Request

if TYPE_CHECKING:
    from millstream.gateways.http.connection import HttpConnection

log = logging.getLogger(__name__)

_quiet = logging.getLogger(f"{__name__}.protocol")
_quiet.setLevel(logging.ERROR)  # every coming and going is no news

_MAX_MESSAGE_BYTES: Final = 1 << 20
_MAX_WAITING: Final = 16  # messages the application has not asked for; beyond it nothing is read
_PING_SECONDS: Final = 20.0
_GOING_AWAY: Final = 1001
_INTERNAL_ERROR: Final = 1011


@final
class WebSocketCall:
    def __init__(self, connection: "HttpConnection", request: Request, app: App) -> None:
        self._connection = connection
        self._request = request
        self._app = app
        self._protocol = ServerProtocol(max_size=_MAX_MESSAGE_BYTES, logger=_quiet)
        self._task: asyncio.Task[None] | None = None
        self._is_asked = False
        self._is_accepted = False
        self._is_closed = False
        self._code = 1006  # gone without a word, unless it says one
        self._parts: list[bytes] = []
        self._part_opcode = Opcode.TEXT
        self._received: deque[Message] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._ping: asyncio.TimerHandle | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._run())
        self._ping = loop.call_later(_PING_SECONDS, self._keep_alive)

    def receive(self, data: bytes) -> None:
        if not self._is_accepted:
            self._connection.keep(data)
            return
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event)
        self._flush()
        if self._protocol.close_expected():
            self._over()
        elif len(self._received) >= _MAX_WAITING:
            self._connection.hold()

    def writable(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def end(self) -> None:
        if self._is_accepted and not self._is_closed:
            self._close(_GOING_AWAY)
        self.gone()

    def gone(self) -> None:
        self._is_closed = True
        if self._ping is not None:
            self._ping.cancel()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        connection = self._connection
        try:
            await self._app(scope_of(connection, self._request, "websocket"), self._receive, self._send)
        except asyncio.CancelledError:
            pass
        except Exception as error:
            log.error(
                "websocket failed door=%s peer=%s", connection.door.name, connection.host, exc_info=error
            )
            self._close(_INTERNAL_ERROR)
        else:
            self._close(1000)
        finally:
            if self._ping is not None:
                self._ping.cancel()
            connection.finished(False)

    async def _receive(self) -> Message:
        if not self._is_asked:
            self._is_asked = True
            return {"type": "websocket.connect"}
        while not self._received and not self._is_closed:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self._received:
            message = self._received.popleft()
            self._connection.read_on()
            return message
        return {"type": "websocket.disconnect", "code": self._code}

    async def _send(self, message: Message) -> None:
        kind = message["type"]
        if kind == "websocket.accept":
            self._accept()
        elif kind == "websocket.close" and not self._is_accepted:
            response = self._protocol.reject(403, "not accepted\n")
            self._protocol.send_response(response)
            self._is_closed = True
            self._flush()
        elif kind == "websocket.close":
            self._close(message.get("code", 1000), message.get("reason") or "")
        elif kind == "websocket.send" and not self._is_closed:
            text = message.get("text")
            if text is not None:
                self._protocol.send_text(text.encode())
            else:
                self._protocol.send_binary(message["bytes"])
            self._flush()
            if not self._connection.can_write:
                self._room = asyncio.get_running_loop().create_future()
                await self._room

    def _accept(self) -> None:
        # It wants to read the handshake itself.
        lines = [b"%b %b HTTP/1.1" % (self._request.method, self._request.path)]
        lines += [b"%b: %b" % header for header in self._request.headers]
        self._protocol.receive_data(b"\r\n".join(lines) + b"\r\n\r\n")
        for handshake in self._protocol.events_received():
            assert isinstance(handshake, Handshake)
            self._protocol.send_response(self._protocol.accept(handshake))
        self._flush()
        if self._protocol.state is State.OPEN:
            self._is_accepted = True
        else:
            self._is_closed = True

    def _frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self._code = self._protocol.close_code or 1005
            self._over()
        elif frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            if frame.opcode is not Opcode.CONT:
                self._part_opcode = frame.opcode
            self._parts.append(bytes(frame.data))
            if frame.fin:
                data, self._parts = b"".join(self._parts), []
                if self._part_opcode is Opcode.TEXT:
                    self._heard({"type": "websocket.receive", "text": data.decode(errors="replace")})
                else:
                    self._heard({"type": "websocket.receive", "bytes": data})

    def _heard(self, message: Message) -> None:
        self._received.append(message)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _over(self) -> None:
        self._is_closed = True
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
        if self._task is not None:
            self._task.cancel()

    def _close(self, code: int, reason: str = "") -> None:
        if self._is_accepted and not self._is_closed:
            self._is_closed = True
            try:
                self._protocol.send_close(code, reason)
            except InvalidState:
                return  # the client was quicker
            self._flush()

    def _keep_alive(self) -> None:
        """A word now and then, so that a client that has gone is found out."""
        if self._is_accepted and not self._is_closed:
            self._protocol.send_ping(b"")
            self._flush()
        self._ping = asyncio.get_running_loop().call_later(_PING_SECONDS, self._keep_alive)

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._connection.write(data)
