"""A broker in a program's own process: `with Broker() as broker:`."""

from millstream.embedded.broker import AsyncBroker, Broker, NotRunning
from millstream.embedded.faults import Faults

__all__ = ["AsyncBroker", "Broker", "Faults", "NotRunning"]
