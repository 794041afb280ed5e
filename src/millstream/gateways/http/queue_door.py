"""The HTTP queue's door: produce answered straight from the connection, all else by its application."""

from collections.abc import Callable
from typing import Any, Final, final
from urllib.parse import unquote_to_bytes

from millstream.broker.broker import Broker
from millstream.broker.waiting import Hosted
from millstream.env.clock import Clock
from millstream.errors import Refused
from millstream.gateways.connection import Reply
from millstream.gateways.http.asgi import App
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.connection import HttpConnection, more_headers
from millstream.gateways.http.door import AppDoor
from millstream.gateways.http.ingress import Answers, Ingress
from millstream.gateways.http.plain import Heads
from millstream.gateways.http.queue import Queue
from millstream.gateways.http.request import Request
from millstream.gateways.http.wrong import Wrong, wrong
from millstream.records.build import NewRecord

_CROWDED_BYTES: Final = 64 << 20
_INGRESS: Final = b"/ingress/"


@final
class QueueDoor(AppDoor):
    def __init__(self, broker: Broker, clock: Clock, config: Callable[[], HttpConfig]) -> None:
        super().__init__(broker, clock, config)
        self._answers = Answers(self.stamp)
        self._heads = Heads(self.config.request_max_bytes)
        self.queue = Queue(broker, clock, config, lambda: self.unsent_bytes > _CROWDED_BYTES)

    def error(self, status: int, message: str) -> Any:
        return {"success": False, "error": message, "errorCode": error_code(status)}

    def make_app(self) -> App:
        from millstream.gateways.http.queue_app import make_app

        return make_app(self.queue)

    def at_a_glance(self, connection: HttpConnection, data: bytes) -> bytes | Reply | None:
        found = self._heads.find(data)
        if found is None:
            return None
        topic, start = found
        try:
            return self._take(connection, topic, self.queue.scan(topic, data, start), b"")
        except Wrong as error:
            return self._answers.wrong(error)

    def fast(self, connection: HttpConnection, request: Request) -> bytes | Reply | None:
        path = request.path
        if not path.startswith(_INGRESS) or request.method != b"POST" or b"/" in path[len(_INGRESS) :]:
            return None
        name = path[len(_INGRESS) :]
        topic = (unquote_to_bytes(name) if b"%" in name else name).decode(errors="replace")
        more = more_headers(request)
        try:
            return self._take(connection, topic, self.queue.message(topic, request.body), more)
        except Wrong as error:
            return self._answers.wrong(error, more)

    def _take(
        self, connection: HttpConnection, topic: str, found: tuple[bytes, NewRecord, Hosted], more: bytes
    ) -> bytes | Reply:
        message_id, record, hosted = found
        message = Ingress(connection, self._answers, topic.encode(), message_id, record, more)
        try:
            self.broker.write_one(connection.session, hosted, message)
        except Refused as refusal:
            return self._answers.wrong(wrong(refusal), more)
        return message


def error_code(status: int) -> str:
    """The errorCode of what went wrong before anybody looked at the request."""
    return {
        403: "ORIGIN_NOT_ALLOWED",
        404: "NOT_FOUND",
        405: "METHOD_NOT_ALLOWED",
        413: "REQUEST_TOO_LARGE",
        500: "UNKNOWN_ERROR",
    }.get(status, "INVALID_REQUEST")
