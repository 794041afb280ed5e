"""The admin API as an ASGI application."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from millstream.broker.session import Session
from millstream.errors import Refused
from millstream.gateways.http.admin import Admin, admin_wrong
from millstream.gateways.http.admin_door import error_body, error_code
from millstream.gateways.http.admin_spec import SPEC
from millstream.gateways.http.asgi import App
from millstream.gateways.http.docs_page import POLICY, docs_page
from millstream.gateways.http.json import json_bytes
from millstream.gateways.http.metrics import CONTENT_TYPE, prometheus_text
from millstream.gateways.http.wrong import Wrong


def make_app(admin: Admin) -> App:
    calls = Calls(admin)
    routes: list[BaseRoute] = []

    def route(path: str, **methods: Callable[[Request], Awaitable[Response]]) -> None:
        for method, call in methods.items():
            routes.append(Route(path, _answered(call), methods=[method.upper()]))

    route("/health", get=calls.health)
    route("/metrics", get=calls.metrics)
    route("/openapi.json", get=calls.spec)
    route("/docs", get=calls.docs)
    route("/api/v1/topics", get=calls.topics, post=calls.create_topic)
    route("/api/v1/topics/{topic}", get=calls.topic, patch=calls.change_topic, delete=calls.delete_topic)
    route("/api/v1/consumer-groups", get=calls.groups)
    route("/api/v1/consumer-groups/{group:path}/offsets", get=calls.offsets, put=calls.reset_offsets)
    route("/api/v1/queues/{topic}/consumers", get=calls.consumers, put=calls.register)
    route("/api/v1/queues/{topic}/consumers/{consumer:path}", delete=calls.release)
    route("/api/v1/cluster", get=calls.cluster)
    route("/api/v1/cluster/health", get=calls.cluster_health)
    route("/api/v1/metrics/brokers", get=calls.broker_metrics)
    route("/api/v1/metrics/topics/{topic}", get=calls.topic_metrics)
    return Starlette(routes=routes, exception_handlers={HTTPException: _not_found})


class Calls:
    """One method per call, from a request to a response."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def health(self, request: Request) -> Response:
        status, body = self._admin.health()
        return _json(body, status)

    async def metrics(self, request: Request) -> Response:
        text = await prometheus_text(self._admin.broker, self._admin.doors())
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def spec(self, request: Request) -> Response:
        return _json(SPEC)

    async def docs(self, request: Request) -> Response:
        return HTMLResponse(docs_page(SPEC), headers=POLICY)

    async def topics(self, request: Request) -> Response:
        return _json(self._admin.topics(internal=request.query_params.get("internal") == "true"))

    async def create_topic(self, request: Request) -> Response:
        return _json(await self._admin.create_topic(_session(request), await request.body()), 201)

    async def topic(self, request: Request) -> Response:
        return _json(self._admin.topic(_session(request), _name(request)))

    async def change_topic(self, request: Request) -> Response:
        body = await request.body()
        return _json(await self._admin.change_topic(_session(request), _name(request), body))

    async def delete_topic(self, request: Request) -> Response:
        return _json(await self._admin.delete_topic(_session(request), _name(request)))

    async def groups(self, request: Request) -> Response:
        return _json(self._admin.groups(_session(request)))

    async def offsets(self, request: Request) -> Response:
        return _json(await self._admin.offsets(_session(request), request.path_params["group"]))

    async def reset_offsets(self, request: Request) -> Response:
        group, body = request.path_params["group"], await request.body()
        return _json(await self._admin.reset_offsets(_session(request), group, body))

    async def consumers(self, request: Request) -> Response:
        return _json(self._admin.consumers(_session(request), _name(request)))

    async def register(self, request: Request) -> Response:
        body = await request.body()
        return _json(await self._admin.register(_session(request), _name(request), body))

    async def release(self, request: Request) -> Response:
        consumer = request.path_params["consumer"]
        return _json(await self._admin.release(_session(request), _name(request), consumer))

    async def cluster(self, request: Request) -> Response:
        return _json(self._admin.cluster())

    async def cluster_health(self, request: Request) -> Response:
        return _json(self._admin.cluster_health())

    async def broker_metrics(self, request: Request) -> Response:
        return _json(self._admin.broker_metrics())

    async def topic_metrics(self, request: Request) -> Response:
        return _json(await self._admin.topic_metrics(_session(request), _name(request)))


def _answered(call: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await call(request)
        except Wrong as error:
            return _error(error)
        except Refused as refusal:
            return _error(admin_wrong(refusal))

    return endpoint


def _session(request: Request) -> Session:
    known: Session | None = request.scope.get("state", {}).get("session")
    return known or Session("http", request.client.host if request.client else "")


def _name(request: Request) -> str:
    name: str = request.path_params["topic"]
    return name


def _json(body: Any, status: int = 200) -> Response:
    return Response(json_bytes(body), status, media_type="application/json")


def _error(error: Wrong) -> Response:
    return _json(error_body(error.code, error.message, error.details), error.status)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = json_bytes(error_body(error_code(error.status_code), error.detail))
    return Response(body, error.status_code, error.headers, media_type="application/json")
