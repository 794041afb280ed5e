"""What the HTTP doors have in common: sessions, errors, an application that is made when first needed."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.env.clock import Clock
from millstream.gateways.connection import Reply
from millstream.gateways.http.asgi import App, AsgiCall, Message
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.connection import HttpConnection, Stream
from millstream.gateways.http.reply import Stamp
from millstream.gateways.http.request import Request

_CLIENT_ID: Final = "http"


class AppDoor(ABC):
    """A door whose answers are given by an ASGI application.

    The application is built, and what it needs imported, with the first request:
    a node that nobody speaks HTTP with neither waits for it nor carries it.
    """

    def __init__(self, broker: Broker, clock: Clock, config: Callable[[], HttpConfig]) -> None:
        self.broker = broker
        self.clock = clock
        self.owed_ms = broker.quotas.owed_ms
        self.stamp = Stamp(clock)
        self.unsent_bytes = 0
        self._config = config
        self._app: App | None = None
        self._making = asyncio.Lock()

    @abstractmethod
    def make_app(self) -> App:
        """Import what is needed and put it together; called in a thread, once."""

    @abstractmethod
    def error(self, status: int, message: str) -> Any:
        """The body that tells of an error, in this door's manner."""

    @property
    def config(self) -> HttpConfig:
        return self._config()

    def session(self, host: str) -> Session:
        return Session(_CLIENT_ID, host)

    def at_a_glance(self, connection: HttpConnection, data: bytes) -> bytes | Reply | None:
        return None

    def fast(self, connection: HttpConnection, request: Request) -> bytes | Reply | None:
        return None

    def stream(self, connection: HttpConnection, request: Request) -> Stream:
        if (request.header(b"upgrade") or b"").lower() == b"websocket":
            from millstream.gateways.http.websocket import WebSocketCall

            return WebSocketCall(connection, request, self.app)
        return AsgiCall(connection, request, self.app)

    async def app(self, scope: Message, receive: Any, send: Any) -> None:
        """The application as ASGI knows it."""
        if self._app is None:
            async with self._making:
                if self._app is None:
                    loop = asyncio.get_running_loop()
                    self._app = await loop.run_in_executor(None, partial(self.make_app))
        await self._app(scope, receive, send)
