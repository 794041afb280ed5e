"""One HTTP client: requests parsed by httptools, replies in their order.

A request is handed on when it is whole. Those that a door answers itself
(*fast*) may be many at once, as the queue's produce; any other is a call of
the door's ASGI application, one at a time and after all replies before it.
What a client may take up is bounded as at every door: the length of headers
and body, the time a request takes to arrive, requests under way, replies not
taken.
"""

import asyncio
from typing import Any, Final, Protocol, final

import httptools

from millstream.broker.session import Session
from millstream.env.disk import Buffer
from millstream.gateways.connection import Connection, Door, Reply
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.origin import extra_headers, may_use
from millstream.gateways.http.reply import Stamp, whole
from millstream.gateways.http.request import Request

_SLICE_BYTES: Final = 16 << 10  # parsed at once: so many small requests may be held ready at the most
_HEAD_BYTES: Final = 64 << 10
_FREE_BYTES: Final = 64 << 10  # bodies up to this size borrow nothing from the budget
_AHEAD_BYTES: Final = 64 << 10  # received while a request is being answered
_LINGER_SECONDS: Final = 2.0
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

_NONE: Final = Request()


class Stream(Protocol):
    """An answer that takes its time, written by whoever gives it: a call of an application."""

    def start(self) -> None: ...

    def receive(self, data: bytes) -> None:
        """The client has sent more, which is for this stream only if it took the connection over."""
        ...

    def writable(self) -> None: ...

    def end(self) -> None:
        """The node stops: end what would not end by itself."""
        ...

    def gone(self) -> None:
        """The client has gone."""
        ...


class HttpDoor(Protocol):
    """What connections of one door share, and how requests are answered there."""

    @property
    def config(self) -> HttpConfig: ...

    @property
    def stamp(self) -> Stamp: ...

    unsent_bytes: int  # of replies that were said, and not taken yet

    def session(self, host: str) -> Session: ...

    def owed_ms(self, session: Session) -> int: ...

    def error(self, status: int, message: str) -> Any:
        """The body that tells of an error, in the door's own manner."""
        ...

    def at_a_glance(self, connection: "HttpConnection", data: bytes) -> bytes | Reply | None:
        """The response to the one whole request that *data* is, if the door knows it without a parser."""
        ...

    def fast(self, connection: "HttpConnection", request: Request) -> bytes | Reply | None:
        """The response if the door gives it itself; None if its application is to.

        Whole, or as a reply that is known later: the connection is told with `replied`.
        """
        ...

    def stream(self, connection: "HttpConnection", request: Request) -> Stream: ...


@final
class HttpConnection(Connection):
    def __init__(self, door: Door, http: HttpDoor) -> None:
        super().__init__(door)
        self.http = http
        self.session = Session("", "")
        self._max_body_bytes = http.config.request_max_bytes
        self._parser: httptools.HttpRequestParser | None = None
        self._unparsed = bytearray()
        self._url = b""
        self._request = _NONE  # the one that is arriving
        self._in_head = True
        self._head_bytes = 0
        self._began_at: float | None = None
        self._wants_budget = 0
        self._whole: list[Request] = []
        self._stream: Stream | None = None
        self._stream_reply: Reply | None = None
        self._stream_request: Request | None = None
        self._is_last = False  # no request is read any more
        self._last_bytes = 0  # of what a stream wrote last
        self._counted_bytes = 0  # of the door's unsent ones
        self._lingers_until: float | None = None  # for the client to see why it was refused

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.session = self.http.session(self.host)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._count_unsent()
        self.door.budget.forget(self._granted)
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.gone()
        for request in (self._request, self._stream_request, *self._whole):
            if request is not None:
                self._repay(request)
        self._whole.clear()
        self._unparsed = bytearray()

    def eof_received(self) -> bool:
        if self._stream is not None:
            return False  # who listens no more need not be told more
        return super().eof_received()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.door.scratch

    def buffer_updated(self, nbytes: int) -> None:
        self.door.busy_poll.received()
        data = bytes(self.door.scratch[:nbytes])
        if self._stream is not None:
            self._stream.receive(data)
        elif self._is_last:
            pass
        elif self._unparsed or self.busy or self._wants_budget:
            self.keep(data)
            self.hold()
        else:
            if self._began_at is not None or self._whole or not self._at_a_glance(data):
                self._parse(data)
                self._answer()
            if self._replies and self._replies[0].pieces is not None:
                self.flush()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._count_unsent()
        if self._stream is not None:
            self._stream.writable()
        elif self._whole:
            self._answer()
            self.flush()

    # What the shared connection asks

    def proceed(self) -> None:
        self._answer()
        while self._unparsed and self._stream is None and not self.busy and not self._wants_budget:
            if self._is_last:
                self._unparsed = bytearray()
                return
            part, self._unparsed = self._unparsed[:_SLICE_BYTES], self._unparsed[_SLICE_BYTES:]
            self._parse(bytes(part))
            self._answer()
        self.flush()
        if len(self._unparsed) < _AHEAD_BYTES and not self.busy and not self._wants_budget:
            self.read_on()

    def waiting_since(self) -> float | None:
        return self._began_at if self._reading and self._stream is None else None

    def tidy(self) -> None:
        """There is nothing that an idle connection keeps."""

    def look(self, now: float) -> None:
        self._count_unsent()
        if self._lingers_until is not None and now > self._lingers_until:
            self.abort()
        else:
            super().look(now)

    def flush(self) -> None:
        super().flush()
        if self._lingers_until is not None and not self._replies and self._writable and self.is_open:
            assert self.transport is not None
            self.transport.write_eof()

    def end(self) -> None:
        self._is_last = True
        if self._stream is not None:
            self._stream.end()
        super().end()

    # For streams

    @property
    def can_write(self) -> bool:
        return self._writable

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def write(self, data: Buffer) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)
            self._active_at = self._loop.time()
            self._last_bytes = len(data)
            self._count_unsent()

    def keep(self, data: bytes) -> None:
        """Keep what came before its turn."""
        self._unparsed += data
        if len(self._unparsed) >= _AHEAD_BYTES:
            self.hold()

    def finished(self, keep_alive: bool) -> None:
        """The stream has said all; the next request may be answered."""
        reply, self._stream_reply = self._stream_reply, None
        request, self._stream_request = self._stream_request, None
        self._stream = None
        if request is not None:
            self._repay(request)
        if reply is not None:
            reply.pieces = ()
        if not keep_alive:
            self._end_here()
        self._throttle()
        self.flush()
        if self.busy:
            self.hold()
        else:
            self.proceed()

    # Parsing

    def _parse(self, data: bytes) -> None:
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        for start in range(0, len(data), _SLICE_BYTES):
            part = data[start : start + _SLICE_BYTES] if len(data) > _SLICE_BYTES else data
            self._head_bytes += len(part)
            if self._began_at is None:
                self._began_at = self._loop.time()
            try:
                self._parser.feed_data(part)
            except httptools.HttpParserUpgrade:
                self._is_last = True  # whatever follows is in another language
                return
            except httptools.HttpParserError as error:
                cause = error.__context__
                if self._is_last:
                    return  # what follows the last request is nobody's
                if isinstance(cause, _Refused):
                    self._fail(cause.status, cause.reason)
                else:
                    self._fail(400, f"that is not HTTP: {error}")
                return
            if self._head_bytes > _HEAD_BYTES:
                self._fail(431, f"the headers, or those behind the body, are longer than {_HEAD_BYTES} bytes")
                return
            if self._is_last:
                return
            if self._wants_budget or self.busy:
                rest = data[start + len(part) :]
                if rest:
                    self.keep(rest)
                if self._wants_budget:
                    self.hold()
                return

    def on_message_begin(self) -> None:
        self._request = Request()
        self._url = b""
        self._in_head = True
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what is sent behind a body, nobody asks for
            self._request.headers.append((name.lower(), value))

    def on_chunk_header(self) -> None:
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        request = self._request
        expects = False
        size = 0
        for name, value in request.headers:
            if name == b"content-length":
                size = int(value)
            elif name == b"expect":
                expects = value.lower() == b"100-continue"
            elif name == b"origin":
                request.origin = value
        if size > self._max_body_bytes:
            raise _Refused(413, f"a body of {size} bytes; http.request.max.bytes={self._max_body_bytes}")
        if size > _FREE_BYTES:
            self._borrow(size)
        if expects and not self._replies and self._stream is None:
            self.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        request = self._request
        if not request.body:
            request.body = body
            return
        size = len(request.body) + len(body)
        if size > self._max_body_bytes:
            raise _Refused(413, f"a body of more than http.request.max.bytes={self._max_body_bytes}")
        if size > _FREE_BYTES and not request.borrowed and not self._wants_budget:
            self._borrow(self._max_body_bytes)  # sent in chunks: who knows how much there is to come
        if not isinstance(request.body, bytearray):
            request.body = bytearray(request.body)
        request.body += body

    def on_message_complete(self) -> None:
        assert self._parser is not None
        request = self._request
        request.method = self._parser.get_method()
        request.version = self._parser.get_http_version()
        request.keep_alive = self._parser.should_keep_alive() and request.version == "1.1"
        path, _, request.query = self._url.partition(b"?")
        request.path = path.partition(b"#")[0]
        self._in_head = True
        self._head_bytes = 0
        self._began_at = None
        self._request = _NONE
        if self._wants_budget:
            # It has come whole before it was its turn: so be it, it came in one slice.
            self.door.budget.forget(self._granted)
            self._wants_budget = 0
        if not self._is_last:
            self._whole.append(request)
            self._is_last = not request.keep_alive

    # Answering

    def _answer(self) -> None:
        """Answer those whole requests whose turn it is."""
        while self._whole and self._stream is None and self.is_open and not self.door.closing:
            request = self._whole[0]
            response = self._immediate(request)
            if response is None and (self._replies or not self._writable):
                self.flush()
                if self._replies or not self._writable:
                    return  # an application's turn comes when all before it is said
            del self._whole[0]
            if response is None:
                self._stream_reply, self._stream_request = self.expect(), request
                self._stream = self.http.stream(self, request)
                self._stream.start()
                return
            self._put(response)
            self._repay(request)
        if self._is_last and not self._whole and self._stream is None and self._lingers_until is None:
            self._ending = True

    def _at_a_glance(self, data: bytes) -> bool:
        """Answer what needs no parser; whether it did not."""
        try:
            response = self.http.at_a_glance(self, data)
        except Exception as error:
            self.failed(error)
            return True
        if response is None:
            return False
        self._put(response)
        owed_ms = self.http.owed_ms(self.session)
        if owed_ms:
            self.mute(owed_ms / 1000)
        return True

    def _put(self, response: bytes | Reply) -> None:
        if isinstance(response, bytes):
            self.expect().pieces = (response,)
        else:
            self._replies.append(response)

    def _immediate(self, request: Request) -> bytes | Reply | None:
        """The response, if no application is needed for it."""
        if request.refused is not None:
            self._lingers_until = self._loop.time() + _LINGER_SECONDS
            return self._error(request, *request.refused)
        if request.origin is not None:
            if not may_use(request, self.http.config.allowed_origins):
                origin, request.origin = request.origin.decode(errors="replace"), None
                return self._error(
                    request, 403, f"pages of {origin} may not use this; see http.allowed.origins"
                )
            if request.method == b"OPTIONS" and request.header(b"access-control-request-method"):
                return whole(204, b"", self.http.stamp.date(), more_headers(request))
        try:
            response = self.http.fast(self, request)
        except Exception as error:
            self.failed(error)
            return b""
        if response is not None:
            self._throttle()
        return response

    def replied(self) -> None:
        """A reply that was to come is known."""
        if self.transport is None:
            return
        self.flush()
        if not self._reading:
            self.relax()
        elif self._whole:
            self._answer()
            self.flush()

    def _fail(self, status: int, reason: str) -> None:
        """Tell the client what was wrong, after all it is owed, and hear no more of it."""
        self._is_last = True
        self._began_at = None
        self._repay(self._request)
        self.door.refuse(self.host, reason)
        request = Request()
        request.keep_alive = False
        request.refused = (status, reason)
        self._whole.append(request)

    def _error(self, request: Request, status: int, message: str) -> bytes:
        body = json_bytes(self.http.error(status, message))
        return whole(status, body, self.http.stamp.date(), more_headers(request))

    def _end_here(self) -> None:
        self._is_last = True
        self._ending = True
        self._whole.clear()
        self._unparsed = bytearray()

    def _throttle(self) -> None:
        owed_ms = self.http.owed_ms(self.session)
        if owed_ms:
            self.mute(owed_ms / 1000)

    def _count_unsent(self) -> None:
        size = 0 if self.transport is None else self.transport.get_write_buffer_size()
        if size:
            size = max(size, self._last_bytes)  # what was sent of it is held until all of it is
        self.http.unsent_bytes += size - self._counted_bytes
        self._counted_bytes = size

    # Memory for large bodies

    def _borrow(self, size: int) -> None:
        if self.door.budget.borrow(size):
            self._request.borrowed = size
        else:
            self._wants_budget = size
            self.door.budget.wait(size, self._granted)

    def _granted(self) -> None:
        self._request.borrowed, self._wants_budget = self._wants_budget, 0
        self._began_at = self._loop.time()  # the wait was ours
        self.relax()

    def _repay(self, request: Request) -> None:
        borrowed, request.borrowed = request.borrowed, 0
        if borrowed:
            self.door.budget.repay(borrowed)


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def more_headers(request: Request) -> bytes:
    """Header lines that few responses need."""
    if request.keep_alive and request.origin is None:
        return b""
    return b"".join([line + b"\r\n" for line in extra_headers(request)])
