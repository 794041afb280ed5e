"""The HTTP doors as a node opens them: what makes a connection of one that has come."""

from collections.abc import Callable, Sequence

from millstream.broker.broker import Broker
from millstream.env.clock import Clock
from millstream.gateways.connection import Connection, Door
from millstream.gateways.http.admin_door import AdminDoor
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.http.connection import HttpConnection
from millstream.gateways.http.queue_door import QueueDoor

Connections = Callable[[Door, Broker], Connection]


def queue_connections(broker: Broker, clock: Clock, config: Callable[[], HttpConfig]) -> Connections:
    http = QueueDoor(broker, clock, config)
    return lambda door, _: HttpConnection(door, http)


def admin_connections(
    broker: Broker,
    clock: Clock,
    config: Callable[[], HttpConfig],
    kafka: Callable[[], tuple[str, int]],
    doors: Callable[[], Sequence[Door]],
) -> Connections:
    http = AdminDoor(broker, clock, config, kafka, doors)
    return lambda door, _: HttpConnection(door, http)
