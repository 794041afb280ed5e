"""What a config request can be about: a topic, this broker, or a group."""

from typing import Final

from millstream.broker.broker import Broker
from millstream.errors import ErrorCode, Refused

TOPIC: Final = 2
BROKER: Final = 4
GROUP: Final = 32
_NAMES: Final = {0: "unknown", 8: "broker logger", 16: "client metrics"}


def check_resource(broker: Broker, type: int, name: str) -> None:
    """Refuse what has no configs here; an empty broker name stands for all brokers, which is this one."""
    if type == TOPIC:
        broker.topics.topic(name)
    elif type == BROKER:
        if name not in ("", str(broker.node_id)):
            raise Refused(ErrorCode.INVALID_REQUEST, f"this is broker {broker.node_id}, not {name!r}")
    elif type == GROUP:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "a group needs a name; there are no defaults for all")
    else:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"resources of type {_NAMES.get(type, type)} have no configs here"
        )
