"""A request as a call of an ASGI application, over one of our connections."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, final
from urllib.parse import unquote_to_bytes

from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.origin import extra_headers
from millstream.gateways.http.reply import status_line, whole
from millstream.gateways.http.request import Request

if TYPE_CHECKING:
    from millstream.gateways.http.connection import HttpConnection

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
App = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


def scope_of(connection: "HttpConnection", request: Request, type: str) -> dict[str, Any]:
    assert connection.transport is not None
    return {
        "type": type,
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": request.version,
        "method": request.method.decode("latin-1"),
        "scheme": "http" if type == "http" else "ws",
        "path": unquote_to_bytes(request.path).decode(errors="replace"),
        "raw_path": request.path,
        "query_string": request.query,
        "root_path": "",
        "headers": request.headers,
        "client": (connection.host, 0),
        "server": (connection.transport.get_extra_info("sockname") or ("127.0.0.1", 0))[:2],
        "state": {"session": connection.session},
    }


@final
class AsgiCall:
    """One request and its response. What the client does not take is not asked of the application."""

    def __init__(self, connection: "HttpConnection", request: Request, app: App) -> None:
        self._connection = connection
        self._request = request
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._body_taken = False
        self._gone: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._start: Message | None = None  # held until it is known how long the body is
        self._is_begun = False
        self._is_endless = False  # its length is not known beforehand
        self._is_chunked = False
        self._is_complete = False

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def receive(self, data: bytes) -> None:
        self._connection.keep(data)

    def writable(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def end(self) -> None:
        if self._is_endless and self._task is not None:
            self._task.cancel()

    def gone(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        connection = self._connection
        try:
            await self._app(scope_of(connection, self._request, "http"), self._receive, self._send)
        except asyncio.CancelledError:
            connection.abort()
            return
        except Exception as error:
            log.error("request failed door=%s peer=%s", connection.door.name, connection.host, exc_info=error)
            if self._is_begun:
                connection.abort()
                return
            body = json_bytes(connection.http.error(500, "an error of ours; the log has it"))
            connection.write(whole(500, body, connection.http.stamp.date(), b"connection: close\r\n"))
            connection.finished(False)
            return
        if not self._is_complete:
            connection.abort()
            return
        connection.finished(self._request.keep_alive)

    async def _receive(self) -> Message:
        if not self._body_taken:
            self._body_taken = True
            return {"type": "http.request", "body": bytes(self._request.body), "more_body": False}
        self._gone = asyncio.get_running_loop().create_future()
        await self._gone  # ends with the task, when the client has gone
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        body: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        data = b""
        if not self._is_begun:
            data = self._head(body, more)
        if self._request.method != b"HEAD":
            data += self._framed(body, more)
        self._is_complete = not more
        if data:
            self._connection.write(data)
        if more and not self._connection.can_write:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def _head(self, body: bytes, more: bool) -> bytes:
        assert self._start is not None, "an application answers before it sends a body"
        self._is_begun = True
        status: int = self._start["status"]
        headers = [b"%b: %b" % (name, value) for name, value in self._start.get("headers", ())]
        sized = any(name.lower() == b"content-length" for name, _ in self._start.get("headers", ()))
        if more and not sized:
            self._is_endless = True
            if self._request.version == "1.1":
                self._is_chunked = True
                headers.append(b"transfer-encoding: chunked")
        elif not sized and status not in (204, 304):
            headers.append(b"content-length: %d" % len(body))
        headers += extra_headers(self._request)
        lines = b"\r\n".join(headers)
        date = self._connection.http.stamp.date()
        return (
            b"%b%b%b\r\n\r\n" % (status_line(status), date, lines)
            if lines
            else status_line(status) + date + b"\r\n"
        )

    def _framed(self, body: bytes, more: bool) -> bytes:
        if not self._is_chunked:
            return body
        framed = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        return framed if more else framed + b"0\r\n\r\n"
