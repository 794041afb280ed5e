"""The admin API's door."""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from millstream.broker.broker import Broker
from millstream.env.clock import Clock
from millstream.gateways.connection import Door
from millstream.gateways.http.admin import Admin
from millstream.gateways.http.asgi import App
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.door import AppDoor

_CODES: Final = {
    403: "AUTHORIZATION_FAILED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    500: "UNKNOWN_ERROR",
}


@final
class AdminDoor(AppDoor):
    def __init__(
        self,
        broker: Broker,
        clock: Clock,
        config: Callable[[], HttpConfig],
        kafka: Callable[[], tuple[str, int]] = lambda: ("127.0.0.1", 9092),
        doors: Callable[[], Sequence[Door]] = tuple,
    ) -> None:
        super().__init__(broker, clock, config)
        self.admin = Admin(broker, clock, kafka, doors)

    def error(self, status: int, message: str) -> Any:
        return error_body(_CODES.get(status, "INVALID_REQUEST"), message)

    def make_app(self) -> App:
        from millstream.gateways.http.admin_app import make_app

        return make_app(self.admin)


def error_body(code: str, message: str, details: object = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


def error_code(status: int) -> str:
    return _CODES.get(status, "INVALID_REQUEST")
