"""The HTTP queue as an ASGI application: the contract's calls, and what we add to them."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.http.asgi import App
from millstream.gateways.http.docs_page import POLICY, docs_page
from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.push import Push
from millstream.gateways.http.queue import BATCH_RECORDS, Queue
from millstream.gateways.http.queue_door import error_code
from millstream.gateways.http.queue_spec import SPEC
from millstream.gateways.http.values import message_bytes
from millstream.gateways.http.wrong import Wrong, wrong
from millstream.gateways.iso import iso

_TRUE: Final = frozenset({"t", "true"})
_LONGEST_WAIT_MS: Final = 60_000


def make_app(queue: Queue) -> App:
    calls = Calls(queue)
    push = Push(queue)
    routes: list[BaseRoute] = [
        Route("/register/{topic}", answered(calls.register), methods=["POST"]),
        Route("/ingress/{topic}", answered(calls.ingress), methods=["POST"]),
        Route("/ingress/{topic}/batch", answered(calls.ingress_batch), methods=["POST"]),
        Route("/consume/{broker}/{topic}/{partition}", answered(calls.consume), methods=["GET"]),
        Route("/commit", answered(calls.commit), methods=["POST"]),
        Route("/stats", answered(calls.stats), methods=["GET"]),
        Route("/stream/{topic}", answered(push.events), methods=["GET"]),
        WebSocketRoute("/ws/{topic}", push.websocket),
        Route("/openapi.json", answered(_spec), methods=["GET"]),
        Route("/docs", answered(_docs), methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _not_found})


class Calls:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    async def register(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        return _success(await self._queue.register(session_of(request), topic, await request.body()))

    async def ingress(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        message_id, done = self._queue.ingress(session_of(request), topic, await request.body())
        (placed,) = await done
        return _success({"messageId": message_id, "topicId": topic, "timestamp": iso(placed.timestamp_ms)})

    async def ingress_batch(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        status, data = await self._queue.ingress_batch(session_of(request), topic, await request.body())
        return _success(data, status)

    async def consume(self, request: Request) -> Response:
        query = request.query_params
        is_batch = query.get("b") in _TRUE
        full = query.get("full") in _TRUE
        most = _number(query.get("max"), "max", 1, BATCH_RECORDS) or BATCH_RECORDS
        wait_ms = _number(query.get("wait"), "wait", 0, _LONGEST_WAIT_MS) or 0
        topic, partition = request.path_params["topic"], request.path_params["partition"]
        start, found = await self._queue.consume(
            session_of(request), topic, partition, most if is_batch else 1, wait_ms
        )
        messages = [message_bytes(topic, found.partition, record, full=full) for record in found.records]
        if is_batch:
            shown = b"[%b]" % b",".join(messages)
        else:
            shown = messages[0] if messages else b"null"
        body = b'{"success":true,"data":{"messages":%b,"count":%d,"startOffset":%d,"endOffset":%d}}' % (
            shown,
            len(messages),
            start if messages else 0,
            found.next_offset if messages else 0,
        )
        return Response(body, media_type="application/json")

    async def commit(self, request: Request) -> Response:
        return _success(await self._queue.commit(session_of(request), await request.body()))

    async def stats(self, request: Request) -> Response:
        return _success(await self._queue.stats(session_of(request)))


def answered(call: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """*call* with what is wrong answered as the API answers it."""

    async def endpoint(request: Request) -> Response:
        try:
            return await call(request)
        except Wrong as error:
            return _error(error)
        except Refused as refusal:
            return _error(wrong(refusal))

    return endpoint


def session_of(request: Any) -> Session:
    """Who asks, as the connection knows it; another server than ours does not say."""
    known: Session | None = request.scope.get("state", {}).get("session")
    return known or Session("http", request.client.host if request.client else "")


def _success(data: object, status: int = 200) -> Response:
    return Response(json_bytes({"success": True, "data": data}), status, media_type="application/json")


def _error(error: Wrong) -> Response:
    body = json_bytes({"success": False, "error": error.message, "errorCode": error.code})
    headers = {"retry-after": "1"} if error.status in (429, 503) else None
    return Response(body, error.status, headers, media_type="application/json")


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = {"success": False, "error": error.detail, "errorCode": error_code(error.status_code)}
    return Response(json_bytes(body), error.status_code, error.headers, media_type="application/json")


async def _spec(request: Request) -> Response:
    return Response(json_bytes(SPEC), media_type="application/json")


async def _docs(request: Request) -> Response:
    return HTMLResponse(docs_page(SPEC), headers=POLICY)


def _number(text: str | None, name: str, least: int, most: int) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
        raise Wrong(400, "INVALID_REQUEST", f"{name} is a number from {least} to {most}, not {text!r}")
    return int(text)
